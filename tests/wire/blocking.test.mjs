// How long a blocking send waits, and for what.

import assert from "node:assert/strict";
import { test } from "node:test";

import { assertTask } from "../support/contract.mjs";
import { Deployment, message } from "../support/deployment.mjs";

const BLOCKING_TIMEOUT_MS = 700;
const agent = await Deployment.start({ vars: { A2A_BLOCKING_TIMEOUT_MS: String(BLOCKING_TIMEOUT_MS) } });
const alice = agent.as("alice");

test("a blocking send that waits too long gives the task as it is", async () => {
  const begun = Date.now();
  const { status, json } = await alice.send("nobody is there");
  assert.ok(Date.now() - begun >= BLOCKING_TIMEOUT_MS - 50);
  assert.equal(status, 200);
  assertTask(json.task, "TASK_STATE_SUBMITTED");
  await alice.cancel(json.task.id);
});

test("a blocking send that waits too long shows the work that began meanwhile", async () => {
  const resident = agent.resident();
  const [{ json }, turn] = await Promise.all([alice.send("begin, but do not end"), resident.turn()]);
  assertTask(json.task, "TASK_STATE_WORKING");
  await turn.complete("late");
  await turn.end();
});

test("a blocking send is answered by a completion, a rejection, a question, and a cancel", async () => {
  const resident = agent.resident();
  const settling = {
    TASK_STATE_COMPLETED: (turn) => turn.complete("done"),
    TASK_STATE_REJECTED: (turn) => turn.reject("no"),
    TASK_STATE_INPUT_REQUIRED: (turn) => turn.ask("which?"),
    TASK_STATE_AUTH_REQUIRED: (turn) => turn.ask("who?", { auth: true }),
    TASK_STATE_CANCELED: (turn) => alice.cancel(turn.taskId),
  };
  for (const [state, settle] of Object.entries(settling)) {
    const answer = alice.send(`settle as ${state}`);
    const turn = await resident.turn();
    await settle(turn);
    assertTask((await answer).json.task, state);
    if (state !== "TASK_STATE_CANCELED") await turn.end();
  }
});

test("a blocking duplicate of a task under way waits for the same settlement", async () => {
  const once = message("once");
  const { id } = await alice.submit(once);
  const [first, second] = [alice.send(once), alice.send(once)];
  const turn = await agent.resident().turn();
  await turn.complete("for both");
  await turn.end();
  for (const answer of [await first, await second]) {
    assert.equal(answer.json.task.id, id);
    assertTask(answer.json.task, "TASK_STATE_COMPLETED");
  }
});

test("the answer shows as much history as was asked for", async () => {
  const resident = agent.resident();
  for (const [historyLength, shown] of [
    [undefined, 1],
    [0, undefined],
    [1, 1],
  ]) {
    const answer = alice.send("a short history", { historyLength });
    const turn = await resident.turn();
    await turn.complete("done");
    await turn.end();
    assert.equal((await answer).json.task.history?.length, shown);
  }
});
