import assert from "node:assert/strict";
import { test } from "node:test";

import { Deployment } from "../support/deployment.mjs";
import { discover, sending, stateName, textsOf } from "../support/official-client.mjs";
import { Runner } from "../support/runner.mjs";

const agent = await Deployment.start();
Runner.start(agent, `resident complete "You said: $(resident read --text)"`);

test("a blocking send gives the task that the real runner completed", async () => {
  const client = await discover(agent, agent.tokens.alice);
  const task = await client.sendMessage(sending("Good morning"));
  assert.equal(stateName(task.status.state), "TASK_STATE_COMPLETED");
  assert.deepEqual(textsOf(task), ["You said: Good morning"]);
  assert.equal(task.history.length, 1);
  assert.equal(task.history[0].taskId, task.id);
  assert.equal(task.history[0].contextId, task.contextId);
});

test("what a caller writes reaches the command as text and is never run", async () => {
  const client = await discover(agent, agent.tokens.alice);
  const text = `$(touch owned) \`touch owned\` "; touch owned; ' é 😀 $PATH`;
  const task = await client.sendMessage(sending(text));
  assert.deepEqual(textsOf(task), [`You said: ${text}`]);
});

test("a second message in the same context is a second task of it", async () => {
  const client = await discover(agent, agent.tokens.alice);
  const first = await client.sendMessage(sending("one"));
  const request = sending("two");
  request.message.contextId = first.contextId;
  const second = await client.sendMessage(request);
  assert.notEqual(second.id, first.id);
  assert.equal(second.contextId, first.contextId);
});

test("a context of another principal becomes a fresh one", async () => {
  const [alice, bob] = await Promise.all([discover(agent, agent.tokens.alice), discover(agent, agent.tokens.bob)]);
  const hers = await alice.sendMessage(sending("hers"));
  const request = sending("his");
  request.message.contextId = hers.contextId;
  const his = await bob.sendMessage(request);
  assert.notEqual(his.contextId, hers.contextId);
});
