// What the platform refuses an object, and what never should reach one: the caller gets an honest error, the log says what
// failed, and what was accepted is done all the same.

import assert from "node:assert/strict";
import { test } from "node:test";

import { assertError, assertTask } from "../support/contract.mjs";
import { message } from "../support/deployment.mjs";
import { startFaulty } from "../support/faults.mjs";
import { change } from "../support/storage.mjs";
import { until } from "../support/until.mjs";

const faulty = await startFaulty();
const agent = faulty.deployment;
const [alice, bob, carol] = ["alice", "bob", "carol"].map((name) => agent.as(name));
const resident = agent.resident();

/** Completes a task's one turn, which must come. */
async function completed(id, by = resident) {
  const turn = await by.turn(20_000);
  assert.equal(turn.taskId, id);
  await turn.complete("done");
  await turn.end();
  assert.equal(await by.take(0), undefined);
}

test("a statement that fails takes its command back, and the message is accepted once when it comes again", async () => {
  const content = message("a statement fails");
  const { contextId } = await alice.submit("there before");
  await completed((await alice.call("GET", "/tasks")).json.tasks[0].id);
  await faulty.refuse("PRINCIPAL", "alice", "statement", { matching: "INSERT INTO messages" });
  assertError(await alice.send({ ...content, contextId }, { returnImmediately: true }), "INTERNAL");
  await agent.logged(/"event":"storage_failed","reason":"[^"]*refused by a test/);
  await completed((await alice.submit({ ...content, contextId })).id);
});

test("an alarm whose work fails goes off again", async () => {
  await alice.submit("there before").then(({ id }) => completed(id));
  await faulty.arm("WAKE_QUEUE", "default", "Notify", "before", "throw");
  const { id } = await alice.submit("its wake is told at the second alarm");
  await agent.logged(/"event":"notify_failed"/);
  await faulty.refuse("PRINCIPAL", "alice", "statement", { matching: "FROM outbox WHERE due_ms" });
  await agent.logged(/"event":"alarm_failed"/);
  await completed(id);
});

test("an alarm that can't be set is an honest error, and the message that comes again is worked on", async () => {
  // An object that has no alarm yet needs one for its first task.
  await agent.kill();
  await agent.restart();
  await bob.call("GET", "/tasks");
  await faulty.refuse("PRINCIPAL", "bob", "alarm");
  const content = message("no alarm");
  assertError(await bob.send(content, { returnImmediately: true }), "INTERNAL");
  await agent.logged(/"event":"alarm_not_set"/);
  await completed((await bob.submit(content)).id);
});

test("a delivery that the platform does not keep the object for is made all the same", async () => {
  await faulty.refuse("PRINCIPAL", "alice", "waiting");
  const { id } = await alice.submit("not waited for");
  await agent.logged(/"event":"delivery_not_kept"/);
  await completed(id);
});

test("an object with too many callers says that it is too busy", async () => {
  await faulty.arm("PRINCIPAL", "alice", "GetTask", "before", "overload");
  const answer = await alice.call("GET", "/tasks/t-1");
  assertError(answer, "UNAVAILABLE");
  assert.equal(answer.headers["retry-after"], "1");
  await agent.logged(/"event":"object_overloaded"/);
});

test("what another version sends is named in the log, and nothing else", async () => {
  for (const [binding, name] of [
    ["PRINCIPAL", "alice"],
    ["WAKE_QUEUE", "default"],
  ]) {
    await faulty.garble(binding, name);
  }
  await until("both are named", () => agent.log.match(/"event":"command_not_read"/g)?.length === 2);
  await faulty.mislead("PRINCIPAL", "alice");
  await agent.logged(/"event":"watch_not_read"/);
  await faulty.arm("PRINCIPAL", "alice", "Watch", "before", "refuse");
  const { id } = await alice.submit("still there");
  assertError(await alice.call("GET", `/tasks/${id}:subscribe`), "INTERNAL");
  await agent.logged(/"event":"watch_refused","status":"404"/);
  await completed(id);
});

test("a request that fails outside of everything is an honest error all the same", async () => {
  assertError(await agent.call("GET", "/faults/nothing"), "INTERNAL");
  await agent.logged(/"event":"request_failed"/);
  assert.equal((await alice.call("GET", "/tasks")).status, 200);
});

test("an object of a newer version than the deployment's is left as it is, and the others go on", async () => {
  const { id } = await carol.submit("of a newer version");
  await agent.kill();
  const version = (number) => change(agent.folder, "PrincipalObject", `UPDATE schema_version SET version = ${number}`);
  const [{ version: current }] = await agent.rows("PrincipalObject", "SELECT version FROM schema_version");
  await version(99);
  await agent.restart();
  assertError(await carol.call("GET", `/tasks/${id}`), "INTERNAL");
  await agent.logged(/"event":"object_not_started","reason":"[^"]*schema version/);
  await agent.kill();
  await version(current);
  await agent.restart();
  assertTask(await carol.task(id), "TASK_STATE_SUBMITTED");
  await completed(id, agent.resident("second"));
});
