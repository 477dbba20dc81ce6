// What a task, a resident's poll and a stream cost, in calls to objects, transactions, rows and alarms: upper bounds that a
// change must not exceed unknowingly. docs/cost.md reckons with them.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Deployment } from "../support/deployment.mjs";
import { until } from "../support/until.mjs";
import { COUNTING } from "./counting-entry.mjs";

/** Setting an alarm is billed as a row that is written. */
const TASK = { calls: 14, transactions: 14, statements: 75, read: 96, written: 47, alarmsSet: 5 };
/** Only what an alarm that a task has left can't add to. */
const POLL = { calls: 2, written: 0 };
const STREAM = { calls: 1, written: 1 };

const agent = await Deployment.start({ entry: COUNTING });
const alice = agent.as("alice");
const resident = agent.resident();

/** What was counted since the last time. */
async function counts() {
  return (await agent.call("GET", "/counts")).json;
}

function assertWithin(counted, most) {
  assert.ok(counted.calls > 0, "it is counted");
  for (const [what, limit] of Object.entries(most)) {
    assert.ok(counted[what] <= limit, `${what}: ${counted[what]}, at most ${limit}`);
  }
}

/** A blocking send to a resident that waits. */
async function wholeTask(text) {
  const waiting = resident.turn();
  const answer = alice.send(text);
  const turn = await waiting;
  await turn.text();
  await turn.complete("done");
  await turn.end();
  assert.equal((await answer).json.task.status.state, "TASK_STATE_COMPLETED");
}

// What is made at the first use is there.
await wholeTask("first");

test("a task that is sent, taken, read, completed and ended costs no more than it needs", async (t) => {
  await counts();
  await wholeTask("counted");
  const counted = await counts();
  t.diagnostic(JSON.stringify(counted));
  assertWithin(counted, TASK);
});

test("a poll in which no wake comes writes nothing", async (t) => {
  await counts();
  assert.equal(await resident.take(1_000), undefined);
  const counted = await counts();
  t.diagnostic(JSON.stringify(counted));
  assertWithin(counted, POLL);
});

test("a stream costs one call, however long it is open", async (t) => {
  const task = await alice.submit("watched");
  await until("the queue was told", async () => {
    return (await agent.rows("PrincipalObject", "SELECT 1 FROM outbox")).length === 0;
  });
  await counts();
  const stream = await alice.subscribe(task.id);
  await stream.next();
  const counted = await counts();
  t.diagnostic(JSON.stringify(counted));
  assertWithin(counted, STREAM);
  stream.abandon();
});
