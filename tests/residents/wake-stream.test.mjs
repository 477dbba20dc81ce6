// Wakes as a stream of notices: each says that there may be work and nothing of it, which a take then hands out.

import assert from "node:assert/strict";
import { test } from "node:test";

import { assertError } from "../support/contract.mjs";
import { EventStream } from "../support/event-stream.mjs";
import { startFaulty } from "../support/faults.mjs";
import { until } from "../support/until.mjs";

const PATH = "/resident/v1/wakes";
const NOTICE = { wake: {} };

const faulty = await startFaulty({ vars: { A2A_TICK_MS: "150" } });
const agent = faulty.deployment;
const alice = agent.as("alice");
const resident = agent.resident();

const watch = (name = "resident") => EventStream.open(agent.url + PATH, "GET", { token: agent.tokens[name] });
const doorbells = () => faulty.watchers("WAKE_QUEUE", "default");

async function work(turn) {
  await turn.complete("done");
  return turn.end();
}

test("a notice comes when work comes, and holds nothing of it", async () => {
  await resident.take(0);
  const stream = await watch();
  assert.equal(stream.headers["cache-control"], "no-cache, no-transform");
  await stream.comment(2);
  assert.deepEqual(stream.frames, []);
  const { id } = await alice.submit("a secret of the caller");
  assert.deepEqual(await stream.next(), NOTICE);
  assert.doesNotMatch(stream.raw, /secret|alice/);
  assert.ok(!stream.raw.includes(id));
  const turn = await resident.turn(0);
  assert.equal(turn.taskId, id);
  assert.equal(await work(turn), "settled");
  stream.abandon();
});

test("work that was there before is noticed at once", async () => {
  const { id } = await alice.submit("already there");
  const stream = await watch();
  assert.deepEqual(await stream.next(), NOTICE);
  const turn = await resident.turn();
  assert.equal(turn.taskId, id);
  await work(turn);
  stream.abandon();
});

test("what waits behind a turn is noticed when the turn ends", async () => {
  await alice.submit("first");
  const behind = await alice.submit("second");
  const first = await resident.turn();
  const stream = await watch();
  await stream.comment(2);
  assert.deepEqual(stream.frames, []);
  await work(first);
  assert.deepEqual(await stream.next(), NOTICE);
  const second = await resident.turn(0);
  assert.equal(second.taskId, behind.id);
  await work(second);
  stream.abandon();
});

test("a task that is tried again after a pause is noticed when the pause is over", async () => {
  const { id } = await alice.submit("fails once");
  await (await resident.turn()).fail("the tool broke");
  const stream = await watch();
  assert.deepEqual(await stream.next(), NOTICE);
  const again = await until("the task is offered again", () => resident.take(0));
  assert.equal(again.taskId, id);
  await work(again);
  stream.abandon();
});

test("a resident may live by the stream alone: watch, take until nothing is left, watch on", async () => {
  const stream = await watch();
  const accepted = [];
  for (let count = 0; count < 5; count += 1) accepted.push((await alice.submit(`task ${count}`)).id);
  const done = [];
  while (done.length < accepted.length) {
    await stream.next();
    for (let turn = await resident.take(0); turn; turn = await resident.take(0)) {
      done.push(turn.taskId);
      await work(turn);
    }
  }
  assert.deepEqual(done, accepted);
  stream.abandon();
});

test("each queue has its own stream", async () => {
  const stream = await watch("second");
  await alice.submit("not Carol's");
  await work(await resident.turn());
  await stream.comment(2);
  assert.deepEqual(stream.frames, []);
  await agent.as("carol").submit("Carol's");
  assert.deepEqual(await stream.next(), NOTICE);
  await work(await agent.resident("second").turn());
  stream.abandon();
});

test("streams that were left without a word are found by the next comments", async () => {
  await until("no doorbell is left", async () => (await doorbells()) === 0);
  const [staying, ...leaving] = await Promise.all(Array.from({ length: 12 }, () => watch()));
  assert.equal(await doorbells(), 12);
  for (const stream of leaving) stream.abandon();
  await until("one doorbell is left", async () => (await doorbells()) === 1);
  await alice.submit("for who stayed");
  assert.deepEqual(await staying.next(), NOTICE);
  await work(await resident.turn());
  staying.abandon();
  await until("no doorbell is left", async () => (await doorbells()) === 0);
});

test("the stream is the resident's alone, and HEAD tells what it would be", async () => {
  await alice.submit("for the turn's token");
  const turn = await resident.turn();
  for (const token of [agent.tokens.alice, agent.tokens.operator, turn.token]) {
    assertError(await agent.call("GET", PATH, { token }), "PERMISSION_DENIED");
  }
  assertError(await agent.call("GET", PATH), "UNAUTHENTICATED");
  assertError(await agent.call("POST", PATH, { token: agent.tokens.resident }), "METHOD_NOT_ALLOWED");
  const head = await agent.call("HEAD", PATH, { token: agent.tokens.resident });
  assert.equal(head.status, 200);
  assert.match(head.headers["content-type"], /^text\/event-stream/);
  assert.equal(head.text, "");
  await work(turn);
});
