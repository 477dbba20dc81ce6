// kill −9: what was acknowledged is there, what was not leaves no trace or is completed by its retry (invariant 1).

import assert from "node:assert/strict";
import { test } from "node:test";

import { assertTask } from "../support/contract.mjs";
import { Deployment, message } from "../support/deployment.mjs";
import { Runner } from "../support/runner.mjs";
import { until } from "../support/until.mjs";

test("an acknowledged send survives a crash: task, wake and dedupe", async () => {
  const agent = await Deployment.start();
  const alice = agent.as("alice");
  const content = message("remember me");
  const accepted = await alice.submit(content);
  await agent.kill();
  await agent.restart();

  assert.deepEqual(await alice.task(accepted.id), accepted);
  assert.deepEqual(await alice.submit(content), accepted);
  const resident = agent.resident();
  const turn = await resident.turn();
  assert.equal(turn.taskId, accepted.id);
  await turn.complete("remembered");
  await turn.end();
  assert.equal(await resident.take(0), undefined);
  assert.equal((await alice.submit(content)).status.state, "TASK_STATE_COMPLETED");
});

test("a turn survives a crash: its token, its task, and the session that holds it", async () => {
  const agent = await Deployment.start();
  const alice = agent.as("alice");
  const { id } = await alice.submit("under way");
  const resident = agent.resident();
  const turn = await resident.turn();
  await agent.kill();
  await agent.restart();

  assert.equal((await turn.heartbeat()).json.live, true);
  assert.equal((await resident.turn()).turnId, turn.turnId);
  const current = await resident.turn();
  await current.complete("done");
  assert.equal(await current.end(), "settled");
  assertTask(await alice.task(id), "TASK_STATE_COMPLETED");
});

test("a question survives a crash, and its answer continues the task", async () => {
  const agent = await Deployment.start();
  const alice = agent.as("alice");
  const resident = agent.resident();
  const { id } = await alice.submit("ask me");
  const asking = await resident.turn();
  await asking.ask("Which?");
  await agent.kill();
  await agent.restart();
  assert.equal(await alice.state(id), "TASK_STATE_INPUT_REQUIRED");
  await alice.submit(message("This.", { taskId: id }));
  const turn = await agent.resident().turn();
  assert.equal(turn.taskId, id);
  await turn.complete("so be it");
  await turn.end();
  assertTask(await alice.task(id), "TASK_STATE_COMPLETED");
});

test("the real runner waits a crash out and loses nothing", async () => {
  const agent = await Deployment.start();
  const alice = agent.as("alice");
  const runner = Runner.start(agent, `resident complete "done: $(resident read --text)"`);
  await runner.logged(/waiting for wakes/);
  await alice.send("before");
  await agent.kill();
  await agent.restart();
  const { json } = await alice.send("after");
  assertTask(json.task, "TASK_STATE_COMPLETED");
  assert.equal(json.task.artifacts[0].parts[0].text, "done: after");
});

test("crashes under load lose no acknowledged message and repeat none", async () => {
  const agent = await Deployment.start();
  const callers = [agent.as("alice"), agent.as("bob")];
  const acknowledged = new Map();
  let sending = true;

  /** Sends message after message; each is retried, as it is, until it is acknowledged. */
  const client = async (number) => {
    const caller = callers[number % callers.length];
    for (let count = 0; sending; count += 1) {
      const content = message(`${number}.${count}`);
      const task = await until("it is acknowledged", () => caller.submit(content), 30_000);
      acknowledged.set(content.messageId, { caller, content, id: task.id });
    }
  };
  const clients = Array.from({ length: 6 }, (_, number) => client(number));
  try {
    for (let crash = 1; crash <= 4; crash += 1) {
      await until("messages are accepted", () => acknowledged.size >= crash * 25, 30_000);
      await agent.kill();
      await agent.restart();
    }
  } finally {
    sending = false;
    await Promise.all(clients);
  }

  for (const { caller, content, id } of acknowledged.values()) {
    const task = await caller.task(id);
    assert.deepEqual(
      task.history.map(({ messageId }) => messageId),
      [content.messageId],
    );
  }
  const claims = await agent.rows("PrincipalObject", "SELECT dedupe_key FROM claims");
  assert.equal(claims.length, acknowledged.size);
  assert.equal((await agent.rows("PrincipalObject", "SELECT task_id FROM tasks")).length, acknowledged.size);
});
