// What waits for long is not taken for what nobody will ever end.

import assert from "node:assert/strict";
import { test } from "node:test";

import { assertTask } from "../support/contract.mjs";
import { startFaulty } from "../support/faults.mjs";

const faulty = await startFaulty({ vars: { A2A_TICK_MS: "50", A2A_BLOCKING_TIMEOUT_MS: "86400000" } });
const agent = faulty.deployment;
const alice = agent.as("alice");

test("a blocking send waits for longer than any single wait may take", async () => {
  const stream = await alice.sendStreaming("watched");
  const { task } = await stream.next();
  const answer = alice.send("take your time");
  for (let hour = 0; hour < 4; hour += 1) {
    // The send has waited some ticks more, and others come after it.
    await stream.comment(stream.comments + 5);
    await faulty.advanceClock(3_600_000);
    await Promise.all([alice.task(task.id), alice.call("GET", "/tasks")]);
  }
  stream.abandon();
  await alice.cancel(task.id);
  const turn = await agent.resident().turn();
  await turn.complete("done");
  const { status, json } = await answer;
  assert.equal(status, 200);
  assertTask(json.task, "TASK_STATE_COMPLETED");
});
