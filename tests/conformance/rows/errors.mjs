// Section 3.3: idempotency, errors and capabilities.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";

import { assertError } from "../../support/contract.mjs";
import { message } from "../../support/deployment.mjs";
import { BECAUSE, applies, excluded } from "../table.mjs";
import { CARD } from "../world.mjs";

/** Requests that break the contract, each with the field at fault. */
const INVALID = [
  ["message", (alice) => alice.call("POST", "/message:send", { body: {} })],
  ["message.role", (alice) => alice.send(message("hello", { role: "user" }))],
  ["message.parts", (alice) => alice.send(message("hello", { parts: [] }))],
  ["historyLength", (alice) => alice.call("GET", `/tasks/${randomUUID()}?historyLength=-1`)],
  ["pageSize", (alice) => alice.call("GET", "/tasks?pageSize=101")],
  ["status", (alice) => alice.call("GET", "/tasks?status=working")],
  ["statusTimestampAfter", (alice) => alice.call("GET", "/tasks?statusTimestampAfter=yesterday")],
  ["pageToken", (alice) => alice.call("GET", "/tasks?pageToken=forged")],
  ["id", (alice) => alice.cancel(randomUUID(), { body: { id: "another" } })],
];

/** A task of Alice's, asked for by Bob, and one that nobody has. */
async function assertAlike(world, operations) {
  const { id: foreign } = await world.completed();
  const unknown = randomUUID();
  const [toForeign, toUnknown] = [operations(foreign), operations(unknown)];
  for (const name of Object.keys(toForeign)) {
    const [one, other] = [await toForeign[name](), await toUnknown[name]()];
    assert.equal(one.status, other.status, name);
    assert.equal(one.text.replaceAll(foreign, "ID"), other.text.replaceAll(unknown, "ID"), name);
  }
}

const CATEGORIES = [
  applies("3.3.1", "defines", "a task that is canceled again stays as it was", async (world) => {
    const { id } = await world.carol.submit("hello");
    const { json: canceled } = await world.carol.cancel(id);
    assertError(await world.carol.cancel(id), "TASK_NOT_CANCELABLE");
    assert.deepEqual(await world.carol.task(id), canceled);
  }),
  applies("3.3.2", "MUST", "what is refused is refused with an error that fits", async ({ alice }) => {
    assertError(await alice.call("GET", "/nothing-here"), "NOT_FOUND");
    assertError(await alice.call("PUT", "/tasks"), "METHOD_NOT_ALLOWED");
    const once = message("one");
    await alice.submit(once);
    assertError(await alice.send({ ...once, parts: [{ text: "two" }] }), "DUPLICATE_MESSAGE_ID");
  }),
  applies("3.3.2", "SHOULD", "an error says what can be done about it", async ({ alice }) => {
    const { headers, json } = await alice.call("PUT", "/tasks");
    assert.match(headers.allow, /\bGET\b/);
    assert.match(json.error.message, /GET/);
    const wrongVersion = await alice.call("GET", "/tasks", { headers: { "a2a-version": "0.3" } });
    assert.equal(assertError(wrongVersion, "VERSION_NOT_SUPPORTED").metadata.supportedVersions, "1.0");
  }),
  applies("3.3.2", "MUST", "credentials that are missing or not known are refused", async ({ agent }) => {
    for (const options of [{}, { token: "nobody-has-this-token" }, { headers: { authorization: "Basic YTpi" } }]) {
      assertError(await agent.call("GET", "/tasks", options), "UNAUTHENTICATED");
    }
  }),
  applies("3.3.2", "SHOULD", "that refusal carries a challenge", async ({ agent }) => {
    const { headers } = await agent.call("GET", "/tasks", { token: "nobody-has-this-token" });
    assert.match(headers["www-authenticate"], /^Bearer realm="[^"]+", error="invalid_token"$/);
  }),
  applies("3.3.2", "SHOULD", "that refusal says which scheme to use", async ({ agent }) => {
    const { headers, json } = await agent.call("GET", "/tasks");
    assert.match(headers["www-authenticate"], /^Bearer\b/);
    assert.match(json.error.message, /Bearer/);
  }),
  applies("3.3.2", "MUST", "a credential that may not do this is refused as such", async ({ agent }) => {
    assertError(await agent.call("GET", "/tasks", { token: agent.tokens.resident }), "PERMISSION_DENIED");
    assertError(await agent.as("alice").call("POST", "/resident/v1/wakes:take", { body: {} }), "PERMISSION_DENIED");
  }),
  applies("3.3.2", "SHOULD", "that refusal says what is missing", async ({ agent }) => {
    const { json } = await agent.call("GET", "/tasks", { token: agent.tokens.resident });
    assert.match(json.error.message, /role/);
  }),
  applies("3.3.2", "MUST NOT", "an answer shows that something exists that is not the caller's", (world) =>
    assertAlike(world, (id) => world.operationsOn(world.bob, id)),
  ),
  applies("3.3.2", "MUST", "every parameter is validated before anything is done", async ({ alice }) => {
    const before = (await alice.call("GET", "/tasks?pageSize=1")).json.totalSize;
    for (const [, ask] of INVALID) assert.equal((await ask(alice)).status, 400);
    assert.equal((await alice.call("GET", "/tasks?pageSize=1")).json.totalSize, before);
  }),
  applies("3.3.2", "SHOULD", "a refusal names the parameters at fault", async ({ alice }) => {
    for (const [field, ask] of INVALID) assertError(await ask(alice), "INVALID_REQUEST", field);
    const answer = await alice.send({ role: "user", parts: [{ text: 1 }] });
    assertError(answer, "INVALID_REQUEST", ["message.messageId", "message.role", "message.parts[0].text"]);
  }),
  applies("3.3.2", "SHOULD", "a refusal says what would be right", async ({ alice }) => {
    for (const [, ask] of INVALID) {
      const [{ description }] = (await ask(alice)).json.error.details[1].fieldViolations;
      assert.match(description, /^(must|is required)/);
    }
  }),
  applies("3.3.2", "MUST", "what does not exist, or not for this caller, is not found", async (world) => {
    for (const id of [randomUUID(), (await world.completed()).id]) {
      for (const ask of Object.values(world.operationsOn(world.bob, id))) assertError(await ask(), "TASK_NOT_FOUND");
    }
  }),
  applies("3.3.2", "SHOULD NOT", "an answer tells what does not exist from what is forbidden", (world) =>
    assertAlike(world, (id) => ({
      "List Tasks by its filter": () => world.bob.call("GET", `/tasks?contextId=${id}`),
      ...world.pushOperations((...request) => world.bob.call(...request), id),
    })),
  ),
  applies("3.3.2", "SHOULD", "a failure that may pass has another code than one that stays", async (world) => {
    const answer = await world.unconfigured.call("GET", "/tasks");
    assertError(answer, "CREDENTIALS_NOT_CONFIGURED");
    assert.equal((await world.alice.call("GET", "/nothing-here")).status, 404);
  }),
  applies("3.3.2", "SHOULD", "a system error is logged", async (world) => {
    const agent = world.unconfigured;
    await agent.call("GET", "/tasks");
    assert.match(agent.log, /credentials_not_configured/);
  }),
];

const PAYLOAD = [
  applies("3.3.2", "MUST", "an error has a code and a message", async ({ alice }) => {
    const { error } = (await alice.call("GET", `/tasks/${randomUUID()}`)).json;
    assert.deepEqual([error.code, error.status, typeof error.message], [404, "NOT_FOUND", "string"]);
  }),
  applies("3.3.2", "MUST", "each detail of an error has its type", async ({ alice }) => {
    const { details } = (await alice.call("POST", "/message:send", { body: {} })).json.error;
    assert.equal(details.length, 2);
    for (const detail of details) assert.match(detail["@type"], /^type\.googleapis\.com\/google\.rpc\.\w+$/);
  }),
  applies("3.3.2", "SHOULD", "details are of Google's well-known types", async ({ alice }) => {
    assertError(await alice.call("POST", "/message:send", { body: {} }), "INVALID_REQUEST", "message");
  }),
  applies("3.3.2", "MUST", "the binding maps code, message and details to its own errors", async ({ alice }) => {
    const answer = await alice.call("GET", `/tasks/${randomUUID()}`);
    assert.equal(answer.json.error.code, answer.status);
    assertError(answer, "TASK_NOT_FOUND");
  }),
];

const CAPABILITIES = [
  applies("3.3.4", "MUST", "operations on push notifications say that those are not supported", async (world) => {
    const { json: card } = await world.agent.call("GET", CARD);
    assert.equal(card.capabilities.pushNotifications, false);
    const { id } = await world.completed();
    const operations = world.pushOperations((...request) => world.alice.call(...request), id);
    for (const ask of Object.values(operations)) assertError(await ask(), "PUSH_NOTIFICATION_NOT_SUPPORTED");
    const configuration = { taskPushNotificationConfig: { url: "https://example.com/hook" } };
    assertError(await world.alice.send("hello", configuration), "PUSH_NOTIFICATION_NOT_SUPPORTED");
  }),
  excluded(
    "3.3.4",
    "MUST",
    "without streaming, its operations are unsupported",
    "Streaming is on, and the card says so.",
    async ({ agent }) => {
      assert.equal((await agent.call("GET", CARD)).json.capabilities.streaming, true);
    },
  ),
  applies("3.3.4", "MUST", "without an extended card, asking for it is an unsupported operation", async (world) => {
    assert.ok(!(await world.agent.call("GET", CARD)).json.capabilities.extendedAgentCard);
    assertError(await world.alice.call("GET", "/extendedAgentCard"), "UNSUPPORTED_OPERATION");
  }),
  excluded(
    "3.3.4",
    "MUST",
    "an extended card that is declared but missing has an error of its own",
    BECAUSE.extendedCard,
  ),
  excluded(
    "3.3.4",
    "MUST",
    "a client that does not support a required extension is told so",
    BECAUSE.notRequired,
    async ({ agent }) => {
      const { extensions } = (await agent.call("GET", CARD)).json.capabilities;
      assert.ok(extensions.every(({ required }) => !required));
    },
  ),
  excluded("3.3.4", "SHOULD", "clients look at the card's capabilities before they use one", BECAUSE.client),
];

export const ERRORS = [...CATEGORIES, ...PAYLOAD, ...CAPABILITIES];
