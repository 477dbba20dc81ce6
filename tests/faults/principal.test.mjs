// An object that hangs, throws, panics or is reset gives one caller an honest error, and nobody else anything.

import assert from "node:assert/strict";
import { test } from "node:test";

import { assertError, assertTask } from "../support/contract.mjs";
import { message } from "../support/deployment.mjs";
import { startFaulty } from "../support/faults.mjs";
import { until } from "../support/until.mjs";

const OBJECT_TIMEOUT_MS = 400;
const faulty = await startFaulty({ vars: { A2A_OBJECT_TIMEOUT_MS: String(OBJECT_TIMEOUT_MS) } });
const agent = faulty.deployment;
const [alice, bob] = [agent.as("alice"), agent.as("bob")];

/** Each fault, and the reasons that its caller may be told. */
const FAULTS = {
  hang: ["DEADLINE_EXCEEDED"],
  forget: ["DEADLINE_EXCEEDED", "INTERNAL"],
  throw: ["INTERNAL"],
  panic: ["INTERNAL"],
  reset: ["INTERNAL", "UNAVAILABLE"],
};

/** Asserts that the answer is one of the honest errors of a fault. */
function assertFault(answer, fault) {
  const reason = answer.json?.error?.details?.[0]?.reason;
  assert.ok(FAULTS[fault].includes(reason), `${fault}: ${answer.status} ${answer.text}`);
  assertError(answer, reason);
}

const arm = (command, when, fault) => faulty.arm("PRINCIPAL", "alice", command, when, fault);

for (const fault of Object.keys(FAULTS)) {
  test(`${fault} before a send: an honest error, nobody else notices, and the retry is accepted once`, async () => {
    const content = message(`${fault} before`);
    await arm("Send", "before", fault);
    const [failed, other] = await Promise.all([
      alice.send(content, { returnImmediately: true }),
      bob.send("meanwhile", { returnImmediately: true }),
    ]);
    assertFault(failed, fault);
    assert.equal(other.status, 200);
    assertTask(await alice.submit(content), "TASK_STATE_SUBMITTED");
    assert.equal(await claimsOf(content), 1);
  });

  test(`${fault} after a send's commit: an honest error, and the retry finds the task`, async () => {
    const content = message(`${fault} after`);
    await arm("Send", "after", fault);
    assertFault(await alice.send(content, { returnImmediately: true }), fault);
    const task = await alice.submit(content);
    assertTask(task, "TASK_STATE_SUBMITTED");
    assert.equal(task.history.length, 1);
    assert.equal(await claimsOf(content), 1);
  });

  test(`${fault} during a read, a cancel and a stream's begin: an honest error each, and the next works`, async () => {
    const { id } = await alice.submit(`${fault} elsewhere`);
    await arm("GetTask", "before", fault);
    assertFault(await alice.call("GET", `/tasks/${id}`), fault);
    assert.equal(await alice.state(id), "TASK_STATE_SUBMITTED");

    await arm("Watch", "before", fault);
    assertFault(await alice.call("GET", `/tasks/${id}:subscribe`), fault);
    const stream = await alice.subscribe(id);
    assertTask((await stream.next()).task, "TASK_STATE_SUBMITTED");

    await arm("CancelTask", "before", fault);
    assertFault(await alice.cancel(id), fault);
    assert.equal(await alice.state(id), "TASK_STATE_SUBMITTED");
    assert.equal((await alice.cancel(id)).status, 200);
    stream.abandon();
  });

  test(`${fault} in one object leaves the streams of the others alone`, async () => {
    const { id } = await bob.submit("watched");
    const stream = await bob.subscribe(id);
    await stream.next();
    await arm("GetTask", "before", fault);
    assertFault(await alice.call("GET", "/tasks/t-1"), fault);
    await bob.cancel(id);
    assert.deepEqual(
      (await stream.rest()).map(({ statusUpdate }) => statusUpdate.status.state),
      ["TASK_STATE_CANCELED"],
    );
  });
}

test("a panic in the middle of a command takes all of it back, and the object goes on", async () => {
  const { contextId } = await alice.submit("there before");
  const stored = () => agent.rows("PrincipalObject", "SELECT * FROM contexts ORDER BY context_id");
  const before = await stored();
  const panics = () => agent.log.split("panicked at").length;
  const panicked = panics();
  const content = message("in a known context", { contextId });
  await arm("Send", "during", "panic");
  assertFault(await alice.send(content, { returnImmediately: true }), "panic");
  assert.deepEqual(await stored(), before);
  assert.equal(await claimsOf(content), 0);
  assert.equal((await alice.submit(content)).contextId, contextId);
  await until("the panic is logged", () => panics() === panicked + 1);
});

test("a trap is an honest error for its caller, and the next request meets a new instance", async () => {
  const { id } = await alice.submit("there before");
  const content = message("trapped");
  await arm("Send", "before", "trap");
  assertFault(await alice.send(content, { returnImmediately: true }), "throw");
  assertTask(await alice.submit(content), "TASK_STATE_SUBMITTED");
  assert.equal(await claimsOf(content), 1);
  assert.equal(await alice.state(id), "TASK_STATE_SUBMITTED");
  assertTask(await bob.submit("another object"), "TASK_STATE_SUBMITTED");
  await agent.logged(/instance_replaced/);
});

test("whoever waits while another's trap ends the instance is told so, or answered", async () => {
  const { id } = await bob.submit("watched over a trap");
  const stream = await bob.subscribe(id);
  await stream.next();
  const waiting = bob.send("waits over a trap");
  await until("it waits", async () => (await faulty.watchers("PRINCIPAL", "bob")) === 2);
  await arm("GetTask", "before", "trap");
  assertFault(await alice.call("GET", "/tasks/t-1"), "throw");
  const answer = await waiting;
  if (answer.status !== 200) assertError(answer, "INTERNAL");
  await bob.cancel(id);
  assert.ok((await stream.rest()).length <= 1);
  const again = await bob.submit("and on");
  assert.equal((await bob.cancel(again.id)).status, 200);
});

test("a hung object is given up after its deadline, not later", async () => {
  await arm("GetTask", "before", "hang");
  const begun = Date.now();
  assertError(await alice.call("GET", "/tasks/t-1"), "DEADLINE_EXCEEDED");
  const took = Date.now() - begun;
  assert.ok(took >= OBJECT_TIMEOUT_MS - 50 && took < OBJECT_TIMEOUT_MS + 3_000, `${took} ms`);
});

test("a reset object's streams end, and a new subscription goes on from a snapshot", async () => {
  const { id } = await alice.submit("watched over a reset");
  const stream = await alice.subscribe(id);
  await stream.next();
  await arm("GetTask", "before", "reset");
  await alice.call("GET", "/tasks/t-1");
  await until("the stream has ended", () => stream.ended);
  const again = await alice.subscribe(id);
  assertTask((await again.next()).task, "TASK_STATE_SUBMITTED");
  await alice.cancel(id);
  assert.equal((await again.rest()).length, 1);
});

test("a blocking send outlives a reset of its object", async () => {
  const answer = alice.send("answer me all the same");
  const watching = () => faulty.watchers("PRINCIPAL", "alice");
  await until("the send waits", async () => (await watching()) > 0);
  await arm("GetTask", "before", "reset");
  await alice.call("GET", "/tasks/t-1");
  const { id } = (await latestTasks(1))[0];
  await until("it waits again", async () => (await watching()) > 0);
  await alice.cancel(id);
  assertTask((await answer).json.task, "TASK_STATE_CANCELED");
});

test("what went wrong is in the log, and no content is", async () => {
  await agent.logged(/object_deadline_exceeded/);
  await agent.logged(/object_failed/);
  await agent.logged(/a panic that a test asked for/);
  assert.doesNotMatch(agent.log, /answer me all the same/);
});

async function claimsOf({ messageId }) {
  const found = await agent.rows("PrincipalObject", "SELECT * FROM claims WHERE dedupe_key = ?", messageId);
  return found.length;
}

function latestTasks(count) {
  const query = "SELECT task_id AS id FROM tasks WHERE state IN (1, 2) ORDER BY created_ms DESC, task_id DESC LIMIT ?";
  return agent.rows("PrincipalObject", query, count);
}
