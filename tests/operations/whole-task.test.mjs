// What a task costs from its message to its end, in calls to objects, transactions and rows: upper bounds that a change must
// not exceed unknowingly. docs/cost.md reckons with them.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Deployment } from "../support/deployment.mjs";
import { COUNTING } from "./counting-entry.mjs";

const MOST = { calls: 14, transactions: 15, statements: 76, read: 100, written: 48 };

test("a task that is sent, taken, read, completed and ended costs no more than it needs", async (t) => {
  const agent = await Deployment.start({ entry: COUNTING });
  const alice = agent.as("alice");
  const resident = agent.resident();
  const counts = async () => (await agent.call("GET", "/counts")).json;

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
  await counts();
  await wholeTask("counted");
  const counted = await counts();
  t.diagnostic(JSON.stringify(counted));
  for (const [what, most] of Object.entries(MOST)) {
    assert.ok(counted[what] > 0 && counted[what] <= most, `${what}: ${counted[what]}, at most ${most}`);
  }
});
