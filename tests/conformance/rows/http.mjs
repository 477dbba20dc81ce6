// Section 11: the HTTP+JSON binding.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";

import { assertError, assertTask, kindsOf, statesOf } from "../../support/contract.mjs";
import { message } from "../../support/deployment.mjs";
import { applies, diverges } from "../table.mjs";
import { EXTENSIONS } from "../world.mjs";

const A2A_JSON = "application/a2a+json";

const TRANSPORT = [
  applies("11.1", "SHOULD", "answers are application/a2a+json", async (world) => {
    const { id } = await world.completed();
    for (const answer of [
      await world.alice.send("hello", { returnImmediately: true }),
      await world.alice.call("GET", `/tasks/${id}`),
      await world.alice.call("GET", "/tasks"),
      await world.alice.cancel(id),
      await world.agent.call("GET", "/tasks"),
    ]) {
      assert.equal(answer.headers["content-type"], A2A_JSON);
    }
  }),
  applies("11.1", "SHOULD", "requests may be application/a2a+json", async ({ alice }) => {
    const body = JSON.stringify({ message: message("hello"), configuration: { returnImmediately: true } });
    const answer = await alice.call("POST", "/message:send", { body, headers: { "content-type": A2A_JSON } });
    assert.equal(answer.status, 200);
  }),
  applies("11.2", "MUST", "service parameters are headers", async ({ alice }) => {
    assertError(await alice.call("GET", "/tasks", { headers: { "a2a-version": "9.9" } }), "VERSION_NOT_SUPPORTED");
  }),
  applies("11.2", "MUST", "a service parameter's name is its header's", async ({ alice }) => {
    const uri = `${EXTENSIONS}outfitter-task/v1`;
    const { headers, json } = await alice.send(
      "hello",
      { returnImmediately: true },
      { headers: { "A2A-Extensions": uri } },
    );
    assert.equal(headers["a2a-extensions"], uri);
    assert.equal(json.task.metadata["outfitter-task/v1"].task.taskId, json.task.id);
  }),
  applies("11.2", "SHOULD", "several values of a parameter are separated by commas", async ({ alice }) => {
    const uris = ["outfitter-task/v1", "elicitation/v1"].map((name) => EXTENSIONS + name);
    for (const value of [uris.join(","), uris.join(" , ")]) {
      const { headers } = await alice.call("GET", "/tasks?pageSize=1", { headers: { "a2a-extensions": value } });
      assert.deepEqual(headers["a2a-extensions"].split(/, */), uris);
    }
  }),
];

const URLS = [
  applies("11.3.1", "defines", "messages are sent to /message:send and /message:stream", async ({ alice }) => {
    assert.equal((await alice.send("hello")).status, 200);
    assert.equal(statesOf(await (await alice.sendStreaming("hello")).rest()).at(-1), "TASK_STATE_COMPLETED");
  }),
  applies("11.3.2", "defines", "a task is read, listed, canceled and subscribed to by its path", async ({ carol }) => {
    const { id } = await carol.submit("hello");
    assert.equal((await carol.task(id)).id, id);
    assert.ok((await carol.call("GET", "/tasks")).json.tasks.some((task) => task.id === id));
    for (const method of ["GET", "POST"]) {
      const subscription = await carol.stream(method, `/tasks/${id}:subscribe`);
      assert.equal((await subscription.next()).task.id, id);
      subscription.abandon();
    }
    assertTask((await carol.cancel(id)).json, "TASK_STATE_CANCELED");
  }),
  applies("11.3.3", "defines", "configurations of push notifications have their paths", async (world) => {
    const operations = world.pushOperations((...request) => world.alice.call(...request));
    for (const ask of Object.values(operations)) assertError(await ask(), "PUSH_NOTIFICATION_NOT_SUPPORTED");
  }),
  applies("11.3.4", "defines", "the extended card has its path", async ({ alice }) => {
    assertError(await alice.call("GET", "/extendedAgentCard"), "UNSUPPORTED_OPERATION");
  }),
  applies("11.4", "defines", "bodies are JSON objects of the protocol's shape", async ({ alice }) => {
    const { json } = await alice.send("hello");
    assert.deepEqual(Object.keys(json), ["task"]);
    assertTask(json.task, "TASK_STATE_COMPLETED");
    for (const body of ["[]", '"text"', "null", "{"]) {
      const headers = { "content-type": A2A_JSON };
      assertError(await alice.call("POST", "/message:send", { body, headers }), "INVALID_REQUEST");
    }
  }),
];

const QUERIES = [
  applies("11.5", "MUST", "what a GET is given stands in its path and query", async (world) => {
    const { id, contextId } = await world.completed();
    assert.equal((await world.alice.call("GET", `/tasks/${id}?historyLength=0`)).json.history, undefined);
    const { json } = await world.alice.call("GET", `/tasks?contextId=${contextId}&pageSize=1`);
    assert.deepEqual([json.pageSize, json.tasks[0].contextId], [1, contextId]);
  }),
  applies("11.5", "MUST", "query parameters are named in camelCase", async ({ alice }) => {
    for (const name of ["contextId", "pageToken", "statusTimestampAfter", "includeArtifacts", "historyLength"]) {
      assertError(await alice.call("GET", `/tasks?${name}=%21`), "INVALID_REQUEST", name);
    }
  }),
  applies("11.5", "defines", "booleans, numbers, enums and times have one spelling in a query", async (world) => {
    const { id, contextId } = await world.completed();
    const list = (query) => world.alice.call("GET", `/tasks?contextId=${contextId}&${query}`);
    const { tasks } = (await list("includeArtifacts=true")).json;
    assert.equal(tasks.find((task) => task.id === id).artifacts.length, 2);
    assertError(await list("includeArtifacts=TRUE"), "INVALID_REQUEST", "includeArtifacts");
    assertError(await list("pageSize=0x10"), "INVALID_REQUEST", "pageSize");
    assert.ok((await list("status=TASK_STATE_COMPLETED")).json.totalSize >= 1);
    assert.equal((await list("status=TASK_STATE_WORKING")).json.totalSize, 0);
    assert.ok((await list("statusTimestampAfter=2025-11-09T10:30:00Z")).json.totalSize >= 1);
  }),
  applies("11.5", "MUST", "what takes nested objects is a POST with a body", async ({ alice }) => {
    for (const path of ["/message:send", "/message:stream"]) {
      assertError(await alice.call("GET", `${path}?message=hello`), "METHOD_NOT_ALLOWED");
    }
  }),
  applies("11.5", "MUST", "values of a query are URL-encoded", async (world) => {
    const { contextId, status } = await world.completed();
    const encoded = [...contextId].map((c) => `%${c.charCodeAt(0).toString(16)}`).join("");
    const time = encodeURIComponent(status.timestamp);
    const { json } = await world.alice.call("GET", `/tasks?contextId=${encoded}&statusTimestampAfter=${time}`);
    assert.ok(json.totalSize >= 1);
    assertError(await world.alice.call("GET", "/tasks?contextId=%zz"), "INVALID_REQUEST", "contextId");
  }),
];

const ERRORS = [
  applies("11.6", "defines", "an error is a google.rpc.Status under `error`", async ({ alice }) => {
    const answer = await alice.call("GET", `/tasks/${randomUUID()}`);
    assert.deepEqual(Object.keys(answer.json), ["error"]);
    assert.deepEqual(Object.keys(answer.json.error).sort(), ["code", "details", "message", "status"]);
    assert.equal(answer.json.error.code, answer.status);
  }),
  applies("11.6", "MUST", "every detail names its type", async ({ alice }) => {
    const { details } = (await alice.call("GET", "/tasks?pageSize=0")).json.error;
    assert.deepEqual(
      details.map((detail) => detail["@type"]),
      ["type.googleapis.com/google.rpc.ErrorInfo", "type.googleapis.com/google.rpc.BadRequest"],
    );
  }),
  applies("11.6", "SHOULD", "a validation error carries a BadRequest", async ({ alice }) => {
    const [, { fieldViolations }] = (await alice.call("GET", "/tasks?pageSize=0&status=x")).json.error.details;
    assert.deepEqual(fieldViolations.map(({ field }) => field).sort(), ["pageSize", "status"]);
  }),
  applies("11.6", "MUST", "an error of A2A's has an ErrorInfo with its reason and A2A's domain", async (world) => {
    const { id } = await world.completed();
    for (const [answer, reason] of [
      [await world.bob.call("GET", `/tasks/${id}`), "TASK_NOT_FOUND"],
      [await world.alice.cancel(id), "TASK_NOT_CANCELABLE"],
      [await world.alice.call("GET", "/extendedAgentCard"), "UNSUPPORTED_OPERATION"],
    ]) {
      const info = assertError(answer, reason);
      assert.equal(info.domain, "a2a-protocol.org");
    }
  }),
];

const STREAMS = [
  applies("11.7", "defines", "a frame is one StreamResponse in the data field", async ({ alice }) => {
    const stream = await alice.sendStreaming("report this");
    const frames = await stream.rest();
    for (const kinds of kindsOf(frames)) assert.match(kinds, /^(task|statusUpdate|artifactUpdate)$/);
    for (const line of stream.raw.split("\n")) assert.match(line, /^(data: \{.*\}|:.*|)$/);
  }),
  applies("11.7", "defines", "message:stream ends at a terminal or an interrupted state", async ({ alice }) => {
    for (const [text, state] of [
      ["hello", "TASK_STATE_COMPLETED"],
      ["ask me", "TASK_STATE_INPUT_REQUIRED"],
    ]) {
      const frames = await (await alice.sendStreaming(text)).rest();
      assert.equal(statesOf(frames).at(-1), state);
    }
  }),
  diverges(
    "11.7",
    "defines",
    "a subscription ends at an interrupted state, too",
    {
      does: "A subscription goes on until the task is terminal.",
      because: "Section 3.1.6 lets clients subscribe to an interrupted task, and ends that stream at a terminal state.",
    },
    async (world) => {
      const { id } = await world.asked();
      const subscription = await world.alice.subscribe(id);
      await subscription.next();
      await world.settled(message("ask me again", { taskId: id }));
      await world.settled(message("this one", { taskId: id }));
      const states = statesOf(await subscription.rest());
      assert.ok(states.includes("TASK_STATE_INPUT_REQUIRED"));
      assert.equal(states.at(-1), "TASK_STATE_COMPLETED");
    },
  ),
  applies("11.7", "SHOULD", "events are not put in another order", async ({ alice }) => {
    const frames = await (await alice.sendStreaming("report this")).rest();
    assert.deepEqual(kindsOf(frames), ["task", "statusUpdate", "artifactUpdate", "artifactUpdate", "statusUpdate"]);
  }),
];

export const HTTP = [...TRANSPORT, ...URLS, ...QUERIES, ...ERRORS, ...STREAMS];
