import assert from "node:assert/strict";
import { test } from "node:test";

import { Deployment } from "../support/deployment.mjs";
import { discover, sending, stateName, textsOf } from "../support/official-client.mjs";
import { Runner } from "../support/runner.mjs";
import { until } from "../support/until.mjs";

const agent = await Deployment.start();

test("a send that returns immediately gives the submitted task, and polling sees it completed", async () => {
  const client = await discover(agent, agent.tokens.alice);
  const accepted = await client.sendMessage(sending("later", { returnImmediately: true }));
  assert.equal(stateName(accepted.status.state), "TASK_STATE_SUBMITTED");
  const unchanged = await client.getTask({ id: accepted.id });
  assert.deepEqual(unchanged, accepted);

  Runner.start(agent, `resident complete "here it is"`);
  const done = await until("the task is completed", async () => {
    const task = await client.getTask({ id: accepted.id });
    return stateName(task.status.state) === "TASK_STATE_COMPLETED" && task;
  });
  assert.deepEqual(textsOf(done), ["here it is"]);
  assert.equal(done.contextId, accepted.contextId);
});

test("historyLength shows all, none, or the last messages", async () => {
  const client = await discover(agent, agent.tokens.alice);
  const task = await client.sendMessage(sending("one message", { returnImmediately: true }));
  assert.equal((await client.getTask({ id: task.id })).history.length, 1);
  assert.equal((await client.getTask({ id: task.id, historyLength: 0 })).history.length, 0);
  assert.equal((await client.getTask({ id: task.id, historyLength: 5 })).history.length, 1);
});
