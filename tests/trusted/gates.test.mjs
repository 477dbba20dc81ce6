// The task plane's verification gates that native intake has to pass, by the names they have there.

import assert from "node:assert/strict";
import { test } from "node:test";

import { assertError, assertTask } from "../support/contract.mjs";
import { ask, drain, event, start, turnOf } from "./intake.mjs";

const { agent, source, platform, bobsSource, bobsPlatform } = await start();
const resident = agent.resident();
await source.declare(["REPLY_ANCHOR", "TASK_ID"]);
await bobsSource.declare(["REPLY_ANCHOR", "TASK_ID"]);

test("two messages in one provider thread create two Tasks in one context", async () => {
  const thread = { conversationKey: "thread-1" };
  const first = await source.accept("first", thread);
  const second = await source.accept("second", thread);
  assert.equal(first.disposition, "created");
  assert.equal(second.disposition, "created");
  assert.notEqual(second.taskId, first.taskId);
  assert.equal(second.contextId, first.contextId);
  const elsewhere = await source.accept("third", { conversationKey: "thread-2" });
  assert.notEqual(elsewhere.contextId, first.contextId);
  const { tasks } = (await agent.as("alice").call("GET", `/tasks?contextId=${first.contextId}`)).json;
  assert.deepEqual(tasks.map(({ id }) => id).sort(), [first.taskId, second.taskId].sort());
  await drain(resident);
});

test("concurrent first messages resolve one contextId through the atomic upsert: 100 tasks in one context", async () => {
  const events = Array.from({ length: 100 }, (_, index) => event(`first ${index}`, { conversationKey: "busy" }));
  const accepted = await Promise.all(events.map((each) => source.accept(each)));
  assert.equal(new Set(accepted.map(({ contextId }) => contextId)).size, 1);
  assert.equal(new Set(accepted.map(({ taskId }) => taskId)).size, 100);
  assert.ok(accepted.every(({ disposition }) => disposition === "created"));
  const list = await agent.as("alice").call("GET", `/tasks?contextId=${accepted[0].contextId}&pageSize=100`);
  assert.equal(list.json.totalSize, 100);
  for (const { taskId } of accepted) await agent.as("alice").cancel(taskId);
  await drain(resident);
});

test("the trusted interface creates a new Task in an existing context", async () => {
  const first = await source.accept("first", { conversationKey: "existing" });
  for (const intake of [platform, source]) {
    const created = await intake.accept("in the same context", { contextId: first.contextId });
    assert.equal(created.disposition, "created");
    assert.notEqual(created.taskId, first.taskId);
    assert.equal(created.contextId, first.contextId);
  }
  await drain(resident);
});

for (const [state, fields] of [
  ["INPUT_REQUIRED", {}],
  ["AUTH_REQUIRED", { auth: true }],
]) {
  test(`a verified direct reply continues one waiting Task, including from the AUTH_REQUIRED state: ${state}`, async () => {
    const asked = await source.accept("do it", { conversationKey: `replies-${state}` });
    await ask(resident, asked.taskId, fields);
    assert.equal(await source.state(asked.taskId), `TASK_STATE_${state}`);
    await source.anchor(asked.taskId, `response-${state}`);
    const reply = await source.accept("the second one", {
      conversationKey: `replies-${state}`,
      replyTo: `response-${state}`,
    });
    assert.equal(reply.disposition, "continued");
    assert.equal(reply.taskId, asked.taskId);
    assert.equal(reply.contextId, asked.contextId);
    const turn = await turnOf(resident, asked.taskId);
    const { history } = await turn.task();
    assert.deepEqual(history.at(-1).parts, [{ text: "the second one" }]);
    await turn.complete("done");
    await turn.end();
    const { task, terminal } = await source.read(asked.taskId);
    assertTask(task, "TASK_STATE_COMPLETED");
    assert.equal(terminal, true);
  });
}

test("a redelivered duplicate provider event returns the prior Task: 100 concurrent redeliveries, one Task", async () => {
  const redelivered = event("once", { conversationKey: "redelivered" });
  const accepted = await Promise.all(Array.from({ length: 100 }, () => source.accept(redelivered)));
  const created = accepted.filter(({ disposition }) => disposition === "created");
  assert.equal(created.length, 1);
  for (const each of accepted) {
    assert.deepEqual({ ...each, disposition: "created" }, created[0]);
  }
  const turn = await turnOf(resident, created[0].taskId);
  assert.equal((await turn.task()).history.length, 1);
  await turn.complete("done");
  await turn.end();
  assert.equal(await resident.take(0), undefined, "one wake");
  const again = await source.accept({ ...redelivered, receivedAt: new Date().toISOString() });
  assert.deepEqual(again, { ...created[0], disposition: "duplicate" });
});

test("a reply anchor from a principal that cannot access the Task creates a new Task instead", async () => {
  const asked = await source.accept("do it");
  await ask(resident, asked.taskId);
  await source.anchor(asked.taskId, "response-of-alice");
  const reply = await bobsSource.accept("mine", { conversationKey: "bobs", replyTo: "response-of-alice" });
  assert.equal(reply.disposition, "created");
  assert.notEqual(reply.taskId, asked.taskId);
  assert.notEqual(reply.contextId, asked.contextId);
  assert.equal(await source.state(asked.taskId), "TASK_STATE_INPUT_REQUIRED");
  await agent.as("alice").cancel(asked.taskId);
  await drain(resident);
});

test("a later thread message creates a new Task", async () => {
  const asked = await source.accept("do it", { conversationKey: "later" });
  await ask(resident, asked.taskId);
  await source.anchor(asked.taskId, "response-later");
  const later = await source.accept("by the way", { conversationKey: "later" });
  assert.equal(later.disposition, "created");
  assert.notEqual(later.taskId, asked.taskId);
  assert.equal(later.contextId, asked.contextId);
  assert.equal(await source.state(asked.taskId), "TASK_STATE_INPUT_REQUIRED");
  await agent.as("alice").cancel(asked.taskId);
  await drain(resident);
});

test("an unauthorized explicit taskId fails", async () => {
  const asked = await source.accept("do it");
  await ask(resident, asked.taskId);
  const claims = () => agent.rows("PrincipalObject", "SELECT count(*) AS claims FROM claims");
  const before = await claims();
  const refused = await source.tryAccept(event("an answer", { taskId: asked.taskId }));
  assertError(refused, "PERMISSION_DENIED", "taskId");
  assertError(await bobsPlatform.tryAccept(event("an answer", { taskId: asked.taskId })), "TASK_NOT_FOUND");
  assert.deepEqual(await claims(), before);
  assert.equal(await source.state(asked.taskId), "TASK_STATE_INPUT_REQUIRED");
  const answered = await platform.accept("an answer", { taskId: asked.taskId });
  assert.equal(answered.disposition, "continued");
  assert.equal(answered.taskId, asked.taskId);
  await drain(resident);
});

test("a taskId embedded in a provider message body neither selects nor continues a Task", async () => {
  const asked = await source.accept("do it", { conversationKey: "embedded" });
  await ask(resident, asked.taskId);
  const parts = [{ text: `taskId: ${asked.taskId}` }, { data: { taskId: asked.taskId, replyTo: "x" } }];
  const embedding = await source.accept("", { conversationKey: "embedded", parts });
  assert.equal(embedding.disposition, "created");
  assert.notEqual(embedding.taskId, asked.taskId);
  assert.equal(await source.state(asked.taskId), "TASK_STATE_INPUT_REQUIRED");
  await agent.as("alice").cancel(asked.taskId);
  await drain(resident);
});
