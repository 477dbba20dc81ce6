// Faults between a queue and a principal: no turn is lost, none is given twice.

import assert from "node:assert/strict";
import { test } from "node:test";

import { assertError, assertTask } from "../support/contract.mjs";
import { startFaulty } from "../support/faults.mjs";
import { until } from "../support/until.mjs";

const faulty = await startFaulty({ vars: { A2A_OBJECT_TIMEOUT_MS: "400" } });
const agent = faulty.deployment;
const alice = agent.as("alice");
let resident = agent.resident();

const principal = (command, when, fault) => faulty.arm("PRINCIPAL", "alice", command, when, fault);
const queue = (command, when, fault) => faulty.arm("WAKE_QUEUE", "default", command, when, fault);

/** Completes a task's one turn, and asserts that there is no second. */
async function completeOnce(id, turn) {
  assert.equal(turn.taskId, id);
  await turn.complete("done");
  await turn.end();
  assertTask(await alice.task(id), "TASK_STATE_COMPLETED");
  assert.equal(await resident.take(0), undefined);
}

// What is repeated by an alarm takes seconds, so of the faults that look alike only one is shown there.
for (const fault of ["hang", "reset"]) {
  test(`${fault} when the queue is told of a wake: the outbox tells it again`, async () => {
    await queue("Notify", "before", fault);
    const { id } = await alice.submit("told again");
    await agent.logged(/"notify_failed"/);
    await completeOnce(id, await resident.turn(20_000));
  });

  test(`${fault} after the queue has taken a wake: it is one wake all the same`, async () => {
    await queue("Notify", "after", fault);
    const { id } = await alice.submit("taken once");
    await completeOnce(id, await resident.turn(20_000));
  });

  for (const when of ["before", "after"]) {
    test(`${fault} ${when} the principal's grant of a turn: it is granted later`, async () => {
      await principal("Grant", when, fault);
      const { id } = await alice.submit("granted later");
      await completeOnce(id, await resident.turn(20_000));
      await agent.logged(/"grant_failed"/);
    });
  }

  test(`${fault} when an end is reported: the alarm reports it, and the turn is not left hanging`, async () => {
    const { id } = await alice.submit("reported later");
    const turn = await resident.turn();
    await turn.complete("done");
    await principal("EndTurn", "before", fault);
    assertHonest(await turn.tryEnd());
    await agent.logged(/"end_turn_failed"/);
    const next = await alice.submit("the next");
    assertTask(await alice.task(id), "TASK_STATE_COMPLETED");
    await completeOnce(next.id, await resident.turn(20_000));
  });
}

test("throw when a principal is asked what it has open at a startup: it is asked again", async () => {
  const { id } = await alice.submit("asked for again");
  assert.equal((await resident.turn()).taskId, id);
  await principal("Replay", "before", "throw");
  const anew = agent.resident();
  assert.equal(await anew.take(0), undefined);
  await agent.logged(/"replay_failed"/);
  const turn = await anew.turn(20_000);
  assert.equal(turn.taskId, id);
  await turn.complete("done");
  await turn.end();
  resident = agent.resident();
  await resident.take(0);
});

for (const fault of ["hang", "throw", "panic", "reset"]) {
  test(`${fault} during a tool call: an honest error, and the turn goes on`, async () => {
    const { id } = await alice.submit("a tool fails");
    const turn = await resident.turn();
    await principal("UseTool", "before", fault);
    assertHonest(await turn.tool("a2a_complete_task", { response: "lost" }));
    await agent.logged(/"tool_failed"/);
    assert.equal(await alice.state(id), "TASK_STATE_WORKING");
    await completeOnce(id, turn);
  });

  test(`${fault} after a tool's commit: an honest error, and repeating the tool changes nothing`, async () => {
    const { id } = await alice.submit("a tool's answer is lost");
    const turn = await resident.turn();
    await principal("UseTool", "after", fault);
    assertHonest(await turn.tool("a2a_complete_task", { response: "done" }));
    // A reset may take back what was not yet durable; then the repetition is the first.
    const again = await turn.tool("a2a_complete_task", { response: "done again" });
    if (again.status !== 200) assertError(again, "TURN_NOT_LIVE");
    const task = await alice.task(id);
    assertTask(task, "TASK_STATE_COMPLETED");
    assert.equal(task.artifacts.length, 1);
    await turn.end();
  });

  test(`${fault} in the queue while a resident takes: an honest error, and the next take works`, async () => {
    await queue("Take", "before", fault);
    assertHonest(await resident.call("wakes:take", { session: resident.session, waitMs: 0 }));
    assert.equal(await resident.take(0), undefined);
  });

  test(`${fault} after the queue has granted: the answer is lost, and a next take gets the turn`, async () => {
    const { id } = await alice.submit("the answer is lost");
    await until(
      "the wake is there",
      async () => (await agent.rows("WakeQueueObject", "SELECT * FROM wakes")).length > 0,
    );
    await queue("Take", "after", fault);
    assertHonest(await resident.call("wakes:take", { session: resident.session, waitMs: 0 }));
    await completeOnce(id, await resident.turn());
  });
}

function assertHonest(answer) {
  const reason = answer.json?.error?.details?.[0]?.reason;
  assert.ok(["DEADLINE_EXCEEDED", "INTERNAL", "UNAVAILABLE"].includes(reason), `${answer.status} ${answer.text}`);
  assertError(answer, reason);
}
