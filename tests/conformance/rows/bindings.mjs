// Section 5: what every binding must keep to.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";

import { TIMESTAMP, assertError } from "../../support/contract.mjs";
import { message } from "../../support/deployment.mjs";
import { BECAUSE, applies, diverges, excluded } from "../table.mjs";
import { CARD } from "../world.mjs";

/** Every value of this field, wherever it is. */
function valuesOf(value, field) {
  if (value === null || typeof value !== "object") return [];
  return Object.entries(value).flatMap(([name, inner]) => [
    ...(name === field ? [inner] : []),
    ...valuesOf(inner, field),
  ]);
}

/** The names of all fields of the data model; what clients and outputs hold is their own. */
function namesOf(value) {
  if (Array.isArray(value)) return value.flatMap(namesOf);
  if (value === null || typeof value !== "object") return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    ["metadata", "data"].includes(name) ? [name] : [name, ...namesOf(inner)],
  );
}

/** One answer of each kind that holds data. */
const answers = (world) =>
  world.once("answers", async () => {
    const { id, contextId } = await world.completed();
    const stream = await world.alice.sendStreaming("report this");
    return [
      (await world.agent.call("GET", CARD)).json,
      (await world.alice.send("report this")).json,
      await world.alice.task(id),
      (await world.alice.call("GET", `/tasks?contextId=${contextId}&includeArtifacts=true`)).json,
      await world.asked(),
      ...(await stream.rest()),
    ];
  });

const send = (world, fields) => world.alice.send({ ...message("hello"), ...fields }, { returnImmediately: true });

const PROTOCOLS = [
  ...[
    ["5.1", "all protocols of an agent have the same functions"],
    ["5.1", "all protocols of an agent behave alike"],
    ["5.1", "all protocols of an agent map errors alike"],
    ["5.1", "all protocols of an agent have the same authentication"],
  ].map(([section, statement]) => excluded(section, "MUST", statement, BECAUSE.oneBinding)),
  applies("5.2", "MUST", "the card declares every protocol that is served", async ({ agent }) => {
    assert.deepEqual((await agent.call("GET", CARD)).json.supportedInterfaces, [
      { url: agent.url, protocolBinding: "HTTP+JSON", protocolVersion: "1.0" },
    ]);
  }),
  excluded("5.2", "SHOULD", "clients fall back to another protocol", BECAUSE.client),
  applies("5.3", "defines", "every operation has its method and path", async (world) => {
    const { id } = await world.carol.submit("hello");
    const body = { message: message("hello"), configuration: { returnImmediately: true } };
    for (const [method, path, options, status] of [
      ["POST", "/message:send", { body }, 200],
      ["GET", `/tasks/${id}`, {}, 200],
      ["GET", "/tasks", {}, 200],
      ["POST", `/tasks/${id}:cancel`, {}, 200],
      ["POST", `/tasks/${id}:subscribe`, {}, 400],
      ["GET", "/extendedAgentCard", {}, 400],
    ]) {
      assert.equal((await world.carol.call(method, path, options)).status, status, `${method} ${path}`);
    }
    const stream = await world.alice.sendStreaming("hello");
    assert.equal((await stream.rest()).length, 4);
    const operations = world.pushOperations((...request) => world.carol.call(...request), id);
    for (const ask of Object.values(operations)) assert.equal((await ask()).status, 501);
  }),
];

const ERROR_CODES = [
  applies("5.4", "MUST", "a task that is not found is 404", async ({ alice }) => {
    assertError(await alice.call("GET", `/tasks/${randomUUID()}`), "TASK_NOT_FOUND");
  }),
  applies("5.4", "MUST", "a task that is not cancelable is 400", async (world) => {
    assertError(await world.alice.cancel((await world.completed()).id), "TASK_NOT_CANCELABLE");
  }),
  diverges(
    "5.4",
    "MUST",
    "push notifications that are not supported are 400",
    {
      does: "They are 501, with the same reason.",
      because: "The method is not implemented, as distinct from a request that is wrong; clients go by the reason.",
    },
    async (world) => {
      const answer = await world.alice.call("GET", `/tasks/${(await world.completed()).id}/pushNotificationConfigs`);
      assertError(answer, "PUSH_NOTIFICATION_NOT_SUPPORTED");
      assert.equal(answer.status, 501);
    },
  ),
  applies("5.4", "MUST", "an unsupported operation is 400", async ({ alice }) => {
    assertError(await alice.call("GET", "/extendedAgentCard"), "UNSUPPORTED_OPERATION");
  }),
  applies("5.4", "MUST", "a content type that is not supported is 400", async ({ alice }) => {
    const answer = await alice.call("POST", "/message:send", { headers: { "content-type": "text/xml" }, body: "<a/>" });
    assertError(answer, "CONTENT_TYPE_NOT_SUPPORTED");
  }),
  applies("5.4", "MUST", "an answer of the agent's that is not valid is 500", async ({ limited }) => {
    const { status, json } = await limited.as("bob").send("garbage please");
    assert.equal(status, 500);
    assert.equal(json.error.details[0].reason, "INVALID_AGENT_RESPONSE");
    assert.equal(json.error.status, "INTERNAL");
  }),
  excluded("5.4", "MUST", "an extended card that is not configured is 400", BECAUSE.extendedCard),
  excluded("5.4", "MUST", "a required extension that is not supported is 400", BECAUSE.notRequired),
  applies("5.4", "MUST", "a version that is not supported is 400", async ({ alice }) => {
    const answer = await alice.call("GET", "/tasks", { headers: { "a2a-version": "0.3" } });
    assertError(answer, "VERSION_NOT_SUPPORTED");
  }),
  excluded("5.4", "MUST", "a custom binding defines equivalent errors", BECAUSE.customBinding),
  excluded("5.4", "SHOULD", "a custom binding has a table of them", BECAUSE.customBinding),
];

const DATA = [
  applies("5.5", "MUST", "fields are named in camelCase", async (world) => {
    for (const answer of await answers(world)) {
      for (const name of namesOf(answer)) assert.match(name, /^[a-z][A-Za-z0-9]*$/);
    }
  }),
  applies("5.5", "MUST", "an enum's value is its name in the protocol's definition", async (world) => {
    const all = await answers(world);
    for (const state of valuesOf(all, "state")) assert.match(state, /^TASK_STATE_[A-Z_]+$/);
    for (const role of valuesOf(all, "role")) assert.match(role, /^ROLE_(USER|AGENT)$/);
    assertError(await send(world, { role: "user" }), "INVALID_REQUEST", "message.role");
    assertError(await world.alice.call("GET", "/tasks?status=completed"), "INVALID_REQUEST", "status");
  }),
  applies("5.6.1", "MUST", "timestamps are ISO 8601 in UTC", async (world) => {
    const times = valuesOf(await answers(world), "timestamp");
    assert.ok(times.length > 0);
    for (const time of times) assert.equal(new Date(time).toISOString(), time);
  }),
  applies("5.6.1", "SHOULD", "timestamps have milliseconds", async (world) => {
    for (const time of valuesOf(await answers(world), "timestamp")) assert.match(time, TIMESTAMP);
  }),
  applies("5.6.1", "MUST", "timestamps are read, with and without a fraction", async (world) => {
    const { contextId, status } = await world.completed();
    const since = async (time) =>
      (await world.alice.call("GET", `/tasks?contextId=${contextId}&statusTimestampAfter=${encodeURIComponent(time)}`))
        .json.totalSize;
    assert.ok((await since(status.timestamp)) >= 1);
    assert.ok((await since(status.timestamp.replace(/\.\d+Z$/, "Z"))) >= 1);
    assert.equal(await since("2100-01-01T00:00:00Z"), 0);
  }),
  applies("5.6.1", "MUST NOT", "timestamps have another offset than Z", async (world) => {
    for (const time of valuesOf(await answers(world), "timestamp")) assert.ok(time.endsWith("Z"));
  }),
  applies("5.7", "MUST", "a required field is there and set", async (world) => {
    const card = (await world.agent.call("GET", CARD)).json;
    for (const field of ["name", "description", "version", "capabilities", "supportedInterfaces", "skills"]) {
      assert.ok(card[field], field);
    }
    for (const field of ["id", "name", "description", "tags"]) assert.ok(card.skills[0][field], field);
    const task = await world.completed();
    assert.ok(task.id && task.status.state);
    for (const { messageId, role, parts } of task.history) assert.ok(messageId && role && parts.length);
    for (const { artifactId, parts } of task.artifacts) assert.ok(artifactId && parts.length);
    const list = (await world.bob.call("GET", `/tasks?contextId=${randomUUID()}`)).json;
    assert.deepEqual(Object.keys(list).sort(), ["nextPageToken", "pageSize", "tasks", "totalSize"]);
  }),
  applies("5.7", "SHOULD", "a message without a required field is refused", async (world) => {
    for (const field of ["messageId", "role", "parts"]) {
      assertError(await send(world, { [field]: undefined }), "INVALID_REQUEST", `message.${field}`);
    }
  }),
  applies("5.7", "MUST", "a required array has an element", async (world) => {
    assertError(await send(world, { parts: [] }), "INVALID_REQUEST", "message.parts");
    const card = (await world.agent.call("GET", CARD)).json;
    for (const list of [card.skills, card.skills[0].tags, card.defaultInputModes, card.defaultOutputModes]) {
      assert.ok(list.length > 0);
    }
  }),
  diverges(
    "5.7",
    "MUST",
    "a required array of an answer has an element, too",
    {
      does: "A list that finds nothing answers `tasks: []`.",
      because: "No element would be true, and clients need the field.",
    },
    async ({ bob }) => {
      assert.deepEqual((await bob.call("GET", `/tasks?contextId=${randomUUID()}`)).json.tasks, []);
    },
  ),
  applies("5.7", "SHOULD", "fields that are not known are ignored", async (world) => {
    const body = {
      message: { ...message("hello"), fromTheFuture: { a: 1 } },
      configuration: { returnImmediately: true, alsoNew: [] },
      andThis: true,
    };
    const answer = await world.alice.call("POST", "/message:send?unknown=1", { body });
    assert.equal(answer.status, 200, answer.text);
  }),
  excluded("5.8", "SHOULD", "a custom binding is named by a URI", BECAUSE.customBinding),
  excluded("5.8", "SHOULD", "the card names a custom binding by its URI", BECAUSE.customBinding),
  excluded("5.8", "MUST", "a custom binding that breaks its clients has a new URI", BECAUSE.customBinding),
];

export const BINDINGS = [...PROTOCOLS, ...ERROR_CODES, ...DATA];
