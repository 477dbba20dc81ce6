// A resident that dies in the middle of a turn: its task is offered again, and completed once.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";

import { assertTask } from "../support/contract.mjs";
import { Deployment } from "../support/deployment.mjs";
import { Runner } from "../support/runner.mjs";
import { until } from "../support/until.mjs";

const LEASE_MS = 1_200;
const agent = await Deployment.start({ vars: { A2A_LEASE_MS: String(LEASE_MS) } });
const alice = agent.as("alice");

const wokenTimes = async (id) =>
  (await agent.rows("PrincipalObject", "SELECT * FROM evidence WHERE task_id = ? AND kind = 'WOKEN'", id)).length;

test("a turn without a sign of life is over after its lease, and the same session gets the task again", async () => {
  const resident = agent.resident();
  const { id } = await alice.submit("forgotten");
  const turn = await resident.turn();
  assert.equal(turn.grant.leaseMs, LEASE_MS);
  await agent.logged(/lease_expired/);
  assert.deepEqual((await turn.heartbeat({}, resident.token)).json, { live: false, reason: "expired" });
  const again = await resident.turn();
  assert.equal(again.taskId, id);
  assert.equal(again.grant.delivery, 2);
  await again.complete("remembered");
  assert.equal(await again.end(), "settled");
  assertTask(await alice.task(id), "TASK_STATE_COMPLETED");
});

test("heartbeats keep a turn alive far beyond its lease", async () => {
  const resident = agent.resident();
  const { id } = await alice.submit("slow");
  const turn = await resident.turn();
  const begun = Date.now();
  while (Date.now() - begun < 3 * LEASE_MS) {
    const { json } = await turn.heartbeat({ waitMs: Math.floor(LEASE_MS / 3) });
    assert.deepEqual(json, { live: true, leaseMs: LEASE_MS });
  }
  await turn.complete("done in the end");
  await turn.end();
  assert.equal(await wokenTimes(id), 1);
});

test("a runner that is killed leaves its task to the next one, which completes it once", async () => {
  const { id } = await alice.submit("survive me");
  const first = Runner.start(agent, `echo $$ >process; exec sleep 60`);
  const command = await until("the first runs its command", () => readFile(join(agent.folder, "process"), "utf8"));
  await first.kill();
  process.kill(Number(command), "SIGKILL");
  Runner.start(agent, `resident complete "second try"`);
  await until("the task is completed", async () => (await alice.state(id)) === "TASK_STATE_COMPLETED");
  const task = await alice.task(id);
  assert.equal(task.artifacts.length, 1);
  assert.equal(task.artifacts[0].parts[0].text, "second try");
  assert.equal(await wokenTimes(id), 2);
});

test("a command that fails is tried again by the runner, and then succeeds", async () => {
  const { id } = await alice.submit("fail once");
  const runner = Runner.start(agent, `[ -e failed ] || { touch failed; exit 3; }; resident complete "second"`);
  await until("the task is completed", async () => (await alice.state(id)) === "TASK_STATE_COMPLETED");
  await runner.logged(/exit status 3/);
});
