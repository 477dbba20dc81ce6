// Accepting a native event: once, whole, and durable when it is answered.

import assert from "node:assert/strict";
import { test } from "node:test";

import { assertError, assertTask } from "../support/contract.mjs";
import { ask, canonical, digestOf, drain, event, evidenceOf, start } from "./intake.mjs";

const { agent, source, platform } = await start();
const alice = agent.as("alice");
const resident = agent.resident();

test("an event becomes a task that its principal and its source can read", async () => {
  const sent = event("hello", {
    principal: "alice",
    conversationKey: "room-1",
    nativeLocator: { channel: "C 1/ä", thread: "17.5" },
    receivedAt: "2025-10-28T12:30:00.5+02:00",
    displayUrl: "https://chat.example/m/1?x=1#y",
    evidenceLocator: "s3://bucket/1",
  });
  const { activationId, taskId, contextId, disposition, ...others } = await source.accept(sent);
  assert.deepEqual(others, {});
  assert.equal(disposition, "created");
  assert.match(activationId, /^[1-9]\d*$/);

  const task = assertTask(await alice.task(taskId), "TASK_STATE_SUBMITTED");
  assert.equal(task.contextId, contextId);
  assert.deepEqual(task.history, [
    { messageId: sent.providerEventId, contextId, taskId, parts: [{ text: "hello" }], role: "ROLE_USER" },
  ]);
  assert.deepEqual(await source.read(taskId), {
    task,
    terminal: false,
    source: "chat",
    origin: {
      source: "chat",
      providerEventId: sent.providerEventId,
      conversationKey: "room-1",
      nativeLocator: { channel: "C 1/ä", thread: "17.5" },
      receivedAt: "2025-10-28T10:30:00.500Z",
      contentDigest: sent.contentDigest,
      displayUrl: sent.displayUrl,
      evidenceLocator: sent.evidenceLocator,
    },
  });
  await drain(resident);
  assert.equal((await source.read(taskId)).terminal, true);
});

test("a fresh conversation is a fresh context, and so is an event without one", async () => {
  const contexts = [];
  for (const fields of [{ conversationKey: "one" }, { conversationKey: "two" }, {}, {}]) {
    contexts.push((await source.accept("hello", fields)).contextId);
  }
  assert.equal(new Set(contexts).size, contexts.length);
  const sameKeyElsewhere = await source.accept("hello", { source: "mail", conversationKey: "one" });
  assert.ok(!contexts.includes(sameKeyElsewhere.contextId), "a key is its source's own");
  await drain(resident);
});

test("what was accepted is there after a crash, and a redelivery says so", async () => {
  const sent = event("before the crash", { conversationKey: "crash" });
  const accepted = await source.accept(sent);
  await agent.kill();
  await agent.restart();
  assert.deepEqual(await source.accept(sent), { ...accepted, disposition: "duplicate" });
  assert.equal(await source.state(accepted.taskId), "TASK_STATE_SUBMITTED");
  const next = await source.accept("after the crash", { conversationKey: "crash" });
  assert.equal(next.contextId, accepted.contextId);
  await drain(resident);
});

test("the same key with anything else but another time is a conflict that names the key", async () => {
  const sent = event("hello", { conversationKey: "conflicts" });
  const accepted = await source.accept(sent);
  const parts = [{ text: "hello!" }];
  for (const other of [
    { parts, contentDigest: digestOf(parts) },
    { providerEventId: "another" },
    { conversationKey: "another" },
    { conversationKey: undefined },
    { nativeLocator: { channel: "C-2" } },
    { displayUrl: "https://chat.example/" },
    { evidenceLocator: "elsewhere" },
    { replyTo: "response-0" },
  ]) {
    const { metadata } = assertError(
      await source.tryAccept({ ...sent, ...other }),
      "DUPLICATE_MESSAGE_ID",
      "dedupeKey",
    );
    assert.equal(metadata.contentDigest, sent.contentDigest, "what was accepted, not what is sent");
  }
  const { history } = await alice.task(accepted.taskId);
  assert.equal(history.length, 1);
  assert.equal((await source.accept({ ...sent, receivedAt: "2025-01-01T00:00:00Z" })).disposition, "duplicate");
  const sameKeyElsewhere = await source.accept({ ...sent, source: "mail" });
  assert.equal(sameKeyElsewhere.disposition, "created");
  await drain(resident);
});

test("a redelivery of an event whose task was settled returns the task as it is", async () => {
  const sent = event("settle me");
  const accepted = await source.accept(sent);
  await drain(resident);
  assert.deepEqual(await source.accept(sent), { ...accepted, disposition: "duplicate" });
  assert.equal(await source.state(accepted.taskId), "TASK_STATE_COMPLETED");
  assert.equal(await resident.take(0), undefined, "no second wake");
});

test("the digest is that of the canonical JSON, whatever the order, escapes and numbers of what is sent", async () => {
  const parts = [
    { data: { "\u20ac": 1e21, "\ufb33": [1.0, -0, 5e-324, 0.000001, 333333333.33333329], "\ud83d\ude00": "\u000f\n" } },
    { text: 'a\u2028b "quoted" \\', mediaType: "text/plain", future: { b: 1, a: [] } },
  ];
  const reordered = JSON.stringify(parts)
    .replace('"text":', '"te\\u0078t" : ')
    .replace("1e+21", "1000000000000000000000")
    .replace("[1,", "[1.0e0,");
  assert.notEqual(reordered, canonical(parts));
  const body = JSON.stringify(event("", { parts })).replace(JSON.stringify(parts), reordered);
  const headers = { "content-type": "application/json" };
  const answer = await source.call("POST", "activations", body, { headers });
  assert.equal(answer.status, 200, answer.text);
  await drain(resident);
});

test("an event is evidence, by its task and its activation", async () => {
  const { taskId, activationId } = await source.accept("hello");
  const evidence = await evidenceOf(agent, "alice", `&taskId=${taskId}`);
  assert.equal(evidence.length, 1);
  const [{ kind, ...accepted }] = evidence;
  assert.equal(kind, "ACCEPTED");
  assert.equal(accepted.activationId, activationId);
  assert.equal(accepted.taskId, taskId);
  await drain(resident);
});

test("a source whose tasks can't be continued can't be asked: the task is settled instead", async () => {
  await source.declare([], "forge");
  for (const name of ["forge", "undeclared"]) {
    const { taskId } = await source.accept("a question", { source: name });
    const turn = await resident.turn();
    assertError(await turn.tool("a2a_require_input", { question: "which?" }), "NO_CONTINUATION");
    assert.equal(await turn.reject("nobody could answer"), "TASK_STATE_REJECTED");
    await turn.end();
    assert.equal(await source.state(taskId), "TASK_STATE_REJECTED");
  }
});

test("an explicit taskId goes with its own context alone", async () => {
  await source.declare(["TASK_ID"]);
  const asked = await source.accept("do it", { conversationKey: "explicit" });
  await ask(resident, asked.taskId);
  const elsewhere = await platform.tryAccept(event("a", { taskId: asked.taskId, contextId: "another" }));
  assertError(elsewhere, "INVALID_REQUEST");
  const answer = event("b", { taskId: asked.taskId, contextId: asked.contextId });
  assert.equal((await platform.accept(answer)).disposition, "continued");
  const again = await platform.accept(answer);
  assert.equal(again.disposition, "duplicate");
  assert.equal(again.taskId, asked.taskId);
  const late = await platform.tryAccept(event("c", { taskId: asked.taskId }));
  assertError(late, "UNSUPPORTED_OPERATION");
  assertError(await platform.tryAccept(event("d", { taskId: "unknown" })), "TASK_NOT_FOUND");
  assertError(await platform.tryAccept(event("e", { contextId: "unknown" })), "CONTEXT_NOT_FOUND", "contextId");
  await drain(resident);
});

test("a platform continues a task of the A2A binding, which a source can't even see", async () => {
  const { id } = await alice.submit("from a client");
  await ask(resident, id);
  assertError(await source.call("GET", `tasks/${id}`), "TASK_NOT_FOUND");
  const seen = await platform.read(id);
  assert.equal(seen.source, "a2a");
  assert.equal(seen.origin, undefined);
  const answered = await platform.accept("an answer", { taskId: id });
  assert.equal(answered.disposition, "continued");
  await drain(resident);
  assert.equal(await alice.state(id), "TASK_STATE_COMPLETED");
});

test("open tasks are bounded, and a refused event leaves nothing", async () => {
  const small = await start({ vars: { A2A_MAX_OPEN_TASKS: "2" } });
  await small.source.accept("one");
  await small.source.accept("two");
  const third = event("three");
  assertError(await small.source.tryAccept(third), "RESOURCE_EXHAUSTED");
  const evidence = await evidenceOf(small.agent, "alice");
  assert.equal(evidence.filter(({ kind }) => kind === "ACCEPTED").length, 2);
  const turn = await small.agent.resident().turn();
  await turn.complete("done");
  await turn.end();
  assert.equal((await small.source.accept(third)).disposition, "created");
});
