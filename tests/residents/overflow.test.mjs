// A queue that is full: 128 wakes wait behind the turn, and what comes on top stays accepted.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Deployment } from "../support/deployment.mjs";
import { until } from "../support/until.mjs";

const MAX_PENDING = 128;

const agent = await Deployment.start();
const alice = agent.as("alice");

async function depth() {
  return (await agent.call("GET", "/operator/v1/queues/default", { token: agent.tokens.operator })).json.depth;
}

/** How often the log tells of a new session. */
const startups = () => agent.log.match(/"event":"resident_startup","resident":"default"/g)?.length ?? 0;

const evidenceOf = (id) =>
  agent.rows("PrincipalObject", "SELECT kind, detail FROM evidence WHERE task_id = ? ORDER BY evidence_id", id);

test("the 129th wake behind a turn is not kept, its activation is, and a new session is offered it", async () => {
  const resident = agent.resident();
  await resident.take(0);
  const first = await alice.submit("under the turn");
  const turn = await resident.turn();
  const waiting = [];
  for (let count = 0; count < MAX_PENDING; count += 1) waiting.push((await alice.submit(`waits ${count}`)).id);
  await until("the queue is full", async () => (await depth()) === MAX_PENDING);

  const onTop = await alice.submit("one too many");
  assert.equal(onTop.status.state, "TASK_STATE_SUBMITTED");
  await agent.logged(/"wake_queue_full".*"resident":"default"/);
  const failed = await until("the failure is on record", async () => {
    const evidence = await evidenceOf(onTop.id);
    return evidence.length > 1 && evidence;
  });
  assert.deepEqual(
    failed.map(({ kind, detail }) => [kind, detail]),
    [
      ["ACCEPTED", null],
      ["WAKE_FAILED", "queue full"],
    ],
  );
  await agent.logged(new RegExp(`"wake_overflow".*"resident":"default".*"task_id":"${onTop.id}"`));
  assert.equal(await depth(), MAX_PENDING);
  const others = await agent.rows("PrincipalObject", "SELECT task_id FROM evidence WHERE kind = 'WAKE_FAILED'");
  assert.deepEqual(
    others.map(({ task_id }) => task_id),
    [onTop.id],
  );

  await turn.complete("done");
  await turn.end();
  const taken = [first.id];
  for (let next = await resident.take(0); next; next = await resident.take(0)) {
    taken.push(next.taskId);
    await next.complete("done");
    await next.end();
  }
  assert.deepEqual(taken, [first.id, ...waiting]);
  assert.equal(await alice.state(onTop.id), "TASK_STATE_SUBMITTED");

  assert.equal(startups(), 1);
  const anew = await agent.resident().turn();
  await until("the startup is logged", () => startups() === 2);
  assert.equal(anew.taskId, onTop.id);
  assert.equal(anew.grant.delivery, 1);
  await anew.complete("done in the end");
  assert.equal(await anew.end(), "settled");
});
