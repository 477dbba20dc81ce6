// Reading, canceling and continuing tasks, as raw HTTP.

import assert from "node:assert/strict";
import { test } from "node:test";

import { assertError, assertTask } from "../support/contract.mjs";
import { Deployment, message } from "../support/deployment.mjs";

const agent = await Deployment.start();
const alice = agent.as("alice");

test("a task is answered in the media type of A2A and kept out of every cache", async () => {
  const { id } = await alice.submit("hello");
  const { headers, json } = await alice.call("GET", `/tasks/${id}`);
  assert.equal(headers["content-type"], "application/a2a+json");
  assert.equal(headers["cache-control"], "no-store");
  assertTask(json, "TASK_STATE_SUBMITTED");
});

test("both request media types are accepted, with parameters", async () => {
  for (const type of ["application/json", "application/a2a+json", "Application/JSON; charset=utf-8"]) {
    const answer = await alice.send("hello", { returnImmediately: true }, { headers: { "content-type": type } });
    assert.equal(answer.status, 200, type);
  }
});

test("a cancel needs no body and no Content-Type, and takes {} and {id}", async () => {
  for (const options of [
    () => ({}),
    () => ({ body: {} }),
    (id) => ({ body: { id } }),
    () => ({ body: "{}", headers: { "content-type": "application/json" } }),
    () => ({ body: "", headers: { "content-type": "application/json" } }),
  ]) {
    const { id } = await alice.submit("hello");
    const answer = await alice.cancel(id, options(id));
    assert.equal(answer.status, 200, answer.text);
    assertTask(answer.json, "TASK_STATE_CANCELED");
  }
});

test("an id that is none is an unknown task, not a fault", async () => {
  for (const id of ["a%2Fb", "%20", "a~b", "x".repeat(129), "%C3%A9", "%00", "%zz", "a%3Acancel"]) {
    for (const [method, path] of [
      ["GET", `/tasks/${id}`],
      ["POST", `/tasks/${id}:cancel`],
      ["GET", `/tasks/${id}:subscribe`],
    ]) {
      const answer = await alice.call(method, path);
      assert.ok([400, 404].includes(answer.status), `${answer.status} ${answer.text}`);
      assertError(answer, answer.status === 404 ? "TASK_NOT_FOUND" : "INVALID_REQUEST");
    }
  }
});

test("historyLength of a read must be a non-negative integer", async () => {
  const { id } = await alice.submit("hello");
  for (const value of ["-1", "1.5", "many", "99999999999"]) {
    assertError(await alice.call("GET", `/tasks/${id}?historyLength=${value}`), "INVALID_REQUEST", "historyLength");
  }
  assert.equal((await alice.call("GET", `/tasks/${id}?historyLength=0`)).json.history, undefined);
});

test("a contextId that is not the task's is refused by its field", async () => {
  const { id } = await alice.submit("hello");
  const other = await alice.submit("other");
  const answer = await alice.send(message("more", { taskId: id, contextId: other.contextId }));
  assertError(answer, "INVALID_REQUEST", "message.contextId");
});

test("a task that does not wait for its caller takes no message, and keeps none", async () => {
  const task = await alice.submit("hello");
  assertError(await alice.send(message("more", { taskId: task.id })), "UNSUPPORTED_OPERATION");
  assert.deepEqual(await alice.task(task.id), task);
});

test("a duplicate with another content is 409 and names the messageId", async () => {
  const first = message("one");
  await alice.submit(first);
  const answer = await alice.send({ ...first, parts: [{ text: "two" }] });
  const info = assertError(answer, "DUPLICATE_MESSAGE_ID");
  assert.equal(info.metadata.messageId, first.messageId);
});

test("activated extensions are echoed, unknown ones are ignored", async () => {
  const elicitation = "https://github.com/ai-outfitter/channels/a2a-extensions/elicitation/v1";
  const extensions = `https://example.com/unknown/v1, ${elicitation}`;
  const options = { headers: { "a2a-extensions": extensions } };
  const answer = await alice.send("hello", { returnImmediately: true }, options);
  assert.equal(answer.headers["a2a-extensions"], elicitation);
});
