// Streams byte for byte (spec §11.7), and the errors that come instead of one.

import assert from "node:assert/strict";
import { test } from "node:test";

import { assertError, assertTask, kindsOf, statesOf } from "../support/contract.mjs";
import { Deployment, message } from "../support/deployment.mjs";

const agent = await Deployment.start();
const alice = agent.as("alice");
const resident = agent.resident();

test("a stream is data lines and comments, each with a blank line, and may not be held back", async () => {
  const stream = await alice.sendStreaming("stream this");
  assert.match(stream.headers["content-type"], /^text\/event-stream/);
  assert.equal(stream.headers["cache-control"], "no-cache, no-transform");
  const { task } = await stream.next();
  assertTask(task, "TASK_STATE_SUBMITTED");

  const turn = await resident.turn();
  await turn.complete("line one\nline two\r\n\u2028data: fake\n\n");
  await turn.end();
  const frames = [{ task }, ...(await stream.rest())];
  assert.deepEqual(kindsOf(frames), ["task", "statusUpdate", "artifactUpdate", "statusUpdate"]);
  assert.deepEqual(statesOf(frames), ["TASK_STATE_SUBMITTED", "TASK_STATE_WORKING", "TASK_STATE_COMPLETED"]);
  assert.equal(frames[2].artifactUpdate.artifact.parts[0].text, "line one\nline two\r\n\u2028data: fake\n\n");

  const withoutComments = stream.raw.replaceAll(/^:[^\n]*\n\n/gm, "");
  assert.equal(withoutComments, frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join(""));
});

test("message:stream ends at a question; a subscription stays", async () => {
  const stream = await alice.sendStreaming("ask me");
  const { task } = await stream.next();
  const subscription = await alice.subscribe(task.id);
  assert.deepEqual(await subscription.next(), { task });

  const asking = await resident.turn();
  await asking.ask("What?");
  await asking.end();
  const asked = await stream.rest();
  assert.deepEqual(statesOf(asked), ["TASK_STATE_WORKING", "TASK_STATE_INPUT_REQUIRED"]);

  await alice.submit(message("this", { taskId: task.id }));
  const completing = await resident.turn();
  await completing.complete("so");
  await completing.end();
  const all = await subscription.rest();
  assert.deepEqual(all.slice(0, asked.length), asked);
  assert.deepEqual(statesOf(all.slice(asked.length)), [
    "TASK_STATE_SUBMITTED",
    "TASK_STATE_WORKING",
    "TASK_STATE_COMPLETED",
  ]);
});

test("a continuation by message:stream begins with the task and ends when it settles", async () => {
  const { id } = await alice.submit("ask me");
  const asking = await resident.turn();
  await asking.ask("What?");
  await asking.end();
  const stream = await alice.sendStreaming(message("this", { taskId: id }));
  const { task } = await stream.next();
  assertTask(task, "TASK_STATE_SUBMITTED");
  assert.equal(task.id, id);
  assert.equal(task.history.length, 3);
  await (await resident.turn()).complete("so");
  assert.deepEqual(statesOf(await stream.rest()), ["TASK_STATE_WORKING", "TASK_STATE_COMPLETED"]);
  await resident.take(0);
});

test("a duplicate of a settled message is streamed as its task, and the stream ends", async () => {
  const once = message("once");
  const { id } = await alice.submit(once);
  await alice.cancel(id);
  const frames = await (await alice.sendStreaming(once)).rest();
  assert.deepEqual(kindsOf(frames), ["task"]);
  assertTask(frames[0].task, "TASK_STATE_CANCELED");
});

test("a subscription ends when the task is canceled", async () => {
  const { id } = await alice.submit("cancel me");
  const subscription = await alice.subscribe(id);
  await alice.cancel(id);
  assert.deepEqual(statesOf(await subscription.rest()), ["TASK_STATE_SUBMITTED", "TASK_STATE_CANCELED"]);
});

test("a subscription by POST is the same, without a body, with {} and with {id}", async () => {
  const { id } = await alice.submit("subscribe by POST");
  for (const options of [{}, { body: {} }, { body: { id } }, { headers: { "content-type": "application/json" } }]) {
    const stream = await alice.stream("POST", `/tasks/${id}:subscribe`, options);
    assertTask((await stream.next()).task, "TASK_STATE_SUBMITTED");
    stream.abandon();
  }
  await alice.cancel(id);
});

test("what cannot be streamed is answered as JSON before any byte of a stream", async () => {
  const { id } = await alice.submit("over");
  await alice.cancel(id);
  assertError(await alice.call("GET", `/tasks/${id}:subscribe`), "UNSUPPORTED_OPERATION");
  assertError(await alice.call("POST", `/tasks/${id}:subscribe`), "UNSUPPORTED_OPERATION");
  assertError(await alice.call("GET", "/tasks/t-1:subscribe"), "TASK_NOT_FOUND");
  assertError(await agent.call("GET", `/tasks/${id}:subscribe`), "UNAUTHENTICATED");
  assertError(
    await alice.call("POST", "/message:stream", { body: { message: message("x", { role: "user" }) } }),
    "INVALID_REQUEST",
    "message.role",
  );
  const more = { body: { message: message("more", { taskId: id }) } };
  assertError(await alice.call("POST", "/message:stream", more), "UNSUPPORTED_OPERATION");
});

test("activated extensions are echoed on refusals", async () => {
  const uri = "https://github.com/ai-outfitter/channels/a2a-extensions/outfitter-task/v1";
  const headers = { "a2a-extensions": `${uri}, https://example.com/unknown` };
  for (const [method, path, options] of [
    ["GET", "/tasks/t-1", {}],
    ["GET", "/tasks/!", {}],
    ["GET", "/tasks?pageSize=0", {}],
    ["POST", "/tasks/t-1:cancel", {}],
    ["GET", "/tasks/t-1:subscribe", {}],
    ["POST", "/message:send", { body: {} }],
    ["POST", "/message:stream", { body: {} }],
    ["GET", "/extendedAgentCard", {}],
  ]) {
    const refused = await alice.call(method, path, { headers, ...options });
    assert.ok(refused.status >= 400, path);
    assert.equal(refused.headers["a2a-extensions"], uri, path);
  }
});

test("activated extensions are echoed on a stream", async () => {
  const uri = "https://github.com/ai-outfitter/channels/a2a-extensions/outfitter-task/v1";
  const stream = await alice.sendStreaming("with an extension", { headers: { "a2a-extensions": uri } });
  assert.equal(stream.headers["a2a-extensions"], uri);
  const { task } = await stream.next();
  assert.equal(task.metadata["outfitter-task/v1"].task.taskId, task.id);
  stream.abandon();
  await alice.cancel(task.id);
});
