// Every watcher of a task sees the same frames in the same order, beginning with a snapshot (invariant 6), and none
// outlives its client.

import assert from "node:assert/strict";
import { test } from "node:test";

import { statesOf } from "../support/contract.mjs";
import { startFaulty } from "../support/faults.mjs";
import { until } from "../support/until.mjs";

const TICK_MS = 150;
const WATCHERS = 200;
const faulty = await startFaulty({ vars: { A2A_TICK_MS: String(TICK_MS) } });
const agent = faulty.deployment;
const alice = agent.as("alice");
const resident = agent.resident();

const watchersOf = (name) => faulty.watchers("PRINCIPAL", name);

test(`${WATCHERS} streams on one task all get the same frames in the same order`, async () => {
  const { id } = await alice.submit("watched by many");
  const streams = await Promise.all(Array.from({ length: WATCHERS }, () => alice.subscribe(id)));
  await Promise.all(streams.map((stream) => stream.next()));
  assert.equal(await watchersOf("alice"), WATCHERS);

  const turn = await resident.turn();
  await turn.ask("Go on?");
  await turn.end();
  const { messageId, ...answer } = { messageId: "answer-1", role: "ROLE_USER", parts: [{ text: "yes" }], taskId: id };
  await alice.submit({ messageId, ...answer });
  const again = await resident.turn();
  await again.complete("done");
  await again.end();

  const [first, ...others] = await Promise.all(streams.map((stream) => stream.rest()));
  assert.deepEqual(statesOf(first), [
    "TASK_STATE_WORKING",
    "TASK_STATE_INPUT_REQUIRED",
    "TASK_STATE_SUBMITTED",
    "TASK_STATE_WORKING",
    "TASK_STATE_COMPLETED",
  ]);
  for (const frames of others) assert.deepEqual(frames, first);
  await until("no watcher is left", async () => (await watchersOf("alice")) === 0);
});

test("watchers that join while frames go out miss none and see none twice", async () => {
  const { id } = await alice.submit("joined meanwhile");
  const turn = await resident.turn();
  const joining = [];
  const join = () => joining.push(alice.subscribe(id));
  for (let round = 0; round < 10; round += 1) {
    for (let count = 0; count < 3; count += 1) join();
    await turn.text();
  }
  await Promise.all(joining);
  await turn.complete("done");
  await turn.end();
  for (const stream of await Promise.all(joining)) {
    const [{ task }, ...updates] = await stream.rest();
    assert.equal(task.status.state, "TASK_STATE_WORKING");
    assert.equal(updates.length, 2);
  }
});

test("an idle stream carries comments, and nothing else", async () => {
  const { id } = await alice.submit("idle");
  const stream = await alice.subscribe(id);
  await stream.next();
  await stream.comment(3);
  assert.equal(stream.frames.length, 1);
  await alice.cancel(id);
  assert.deepEqual(statesOf(await stream.rest()), ["TASK_STATE_CANCELED"]);
});

test("clients that leave without a word are found by the next comments", async () => {
  const { id } = await agent.as("bob").submit("abandoned");
  const streams = await Promise.all(Array.from({ length: 30 }, () => agent.as("bob").subscribe(id)));
  await Promise.all(streams.map((stream) => stream.next()));
  const [staying, ...leaving] = streams;
  for (const stream of leaving) stream.abandon();
  await until("one watcher is left", async () => (await watchersOf("bob")) === 1);
  await agent.as("bob").cancel(id);
  assert.deepEqual(statesOf(await staying.rest()), ["TASK_STATE_CANCELED"]);
});

test("a blocking send and a waiting take leave no watcher behind", async () => {
  const carol = agent.as("carol");
  const second = agent.resident("second");
  const waiting = second.turn();
  const answer = carol.send("come and go");
  const turn = await waiting;
  await turn.complete("done");
  await turn.end();
  assert.equal((await answer).status, 200);
  await until("no watcher is left", async () => (await watchersOf("carol")) === 0);
  await until("no doorbell is left", async () => (await faulty.watchers("WAKE_QUEUE", "second")) === 0);
});
