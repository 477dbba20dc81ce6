// How often a task is offered: five deliveries that leave it unsettled are the last, and three failed turns wait for a
// resident that starts anew.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Deployment } from "../support/deployment.mjs";
import { until } from "../support/until.mjs";

const evidenceOf = async (agent, id) =>
  (
    await agent.rows("PrincipalObject", "SELECT kind, detail FROM evidence WHERE task_id = ? ORDER BY evidence_id", id)
  ).map(({ kind, detail }) => (kind === "WAKE_FAILED" || kind.startsWith("TURN_FAILED") ? `${kind}: ${detail}` : kind));

test("a resident that vanishes five times leaves a task with its failure on record, and the queue goes on", async () => {
  const agent = await Deployment.start({ vars: { A2A_LEASE_MS: "250" } });
  const alice = agent.as("alice");
  const resident = agent.resident();
  const { id } = await alice.submit("nobody comes back");
  for (let delivery = 1; delivery <= 5; delivery += 1) {
    const turn = await resident.turn();
    assert.equal(turn.taskId, id);
    assert.equal(turn.grant.delivery, delivery);
    await until("the lease is over", () => agent.log.match(/"lease_expired"/g)?.length === delivery);
  }
  await agent.logged(/"wake_failed"/);
  const each = ["WOKEN", "TURN_EXPIRED"];
  assert.deepEqual(await evidenceOf(agent, id), [
    "ACCEPTED",
    ...Array.from({ length: 5 }, () => each).flat(),
    "UNHEALTHY",
    "WAKE_FAILED: five deliveries left it unsettled",
  ]);
  assert.equal(await resident.take(0), undefined);
  assert.equal(await agent.resident().take(0), undefined);

  const { id: next } = await alice.submit("the next one");
  assert.equal((await agent.resident().turn()).taskId, next);
});

test("three failed turns park a task, and a new session is offered it with its attempts anew", async () => {
  const agent = await Deployment.start();
  const alice = agent.as("alice");
  const resident = agent.resident();
  const { id } = await alice.submit("fails and fails");
  const dispositions = [];
  for (let attempt = 1; attempt <= 3; attempt += 1) {
    const turn = await until("the task is offered", () => resident.take(5_000));
    assert.equal(turn.taskId, id);
    dispositions.push(await turn.fail(`failure ${attempt}`));
  }
  assert.deepEqual(dispositions, ["retrying", "retrying", "parked"]);
  assert.deepEqual(await evidenceOf(agent, id), [
    "ACCEPTED",
    "WOKEN",
    "TURN_FAILED: failure 1",
    "WOKEN",
    "TURN_FAILED: failure 2",
    "WOKEN",
    "TURN_FAILED: failure 3",
    "UNHEALTHY",
  ]);
  await agent.logged(/"turn_unhealthy"/);
  assert.equal(await resident.take(0), undefined);

  const anew = agent.resident();
  const again = await anew.turn();
  assert.equal(again.taskId, id);
  assert.equal(await again.fail("once more"), "retrying");
  const last = await anew.turn();
  assert.equal(last.taskId, id);
  await last.complete("done in the end");
  assert.equal(await last.end(), "settled");
});
