import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";

import { TaskNotCancelableError } from "@a2a-js/sdk/errors";

import { Deployment } from "../support/deployment.mjs";
import { discover, sending, stateName } from "../support/official-client.mjs";
import { Runner } from "../support/runner.mjs";
import { until } from "../support/until.mjs";

const agent = await Deployment.start();

test("canceling a submitted task settles it, and no turn is ever given for it", async () => {
  const client = await discover(agent, agent.tokens.carol);
  const accepted = await client.sendMessage(sending("never mind", { returnImmediately: true }));
  const canceled = await client.cancelTask({ id: accepted.id });
  assert.equal(stateName(canceled.status.state), "TASK_STATE_CANCELED");
  const next = await client.sendMessage(sending("but this", { returnImmediately: true }));
  const turn = await agent.resident("second").turn();
  assert.equal(turn.taskId, next.id);
});

test("canceling a task under a turn ends the turn: the runner's command gets SIGTERM", async () => {
  const runner = Runner.start(
    agent,
    `trap 'echo TERM >"$A2A_TASK_ID.ended"; exit 0' TERM
     echo started >"$A2A_TASK_ID.started"
     while :; do sleep 0.05; done`,
  );
  const client = await discover(agent, agent.tokens.alice);
  const accepted = await client.sendMessage(sending("a long one", { returnImmediately: true }));
  const file = (ending) => join(agent.folder, `${accepted.id}.${ending}`);
  await until("the command runs", () => existsSync(file("started")));

  const canceled = await client.cancelTask({ id: accepted.id });
  assert.equal(stateName(canceled.status.state), "TASK_STATE_CANCELED");
  await until("the command was told to end", () => existsSync(file("ended")));
  assert.equal((await until("it said so", () => readFile(file("ended"), "utf8"))).trim(), "TERM");
  await runner.logged(/outcome=canceled/);
  assert.equal(stateName((await client.getTask({ id: accepted.id })).status.state), "TASK_STATE_CANCELED");
});

test("a task can be canceled once", async () => {
  const client = await discover(agent, agent.tokens.carol);
  const accepted = await client.sendMessage(sending("twice", { returnImmediately: true }));
  await client.cancelTask({ id: accepted.id });
  await assert.rejects(client.cancelTask({ id: accepted.id }), TaskNotCancelableError);
});
