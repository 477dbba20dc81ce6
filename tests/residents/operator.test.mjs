// What operators see of a resident's queue, and who else does not.

import assert from "node:assert/strict";
import { test } from "node:test";

import { assertError } from "../support/contract.mjs";
import { Deployment } from "../support/deployment.mjs";

const LEASE_MS = 60_000;
const SECONDS_MS = 1_000;

const agent = await Deployment.start();
const alice = agent.as("alice");

const pathOf = (name) => `/operator/v1/queues/${name}`;
const look = (name = "default", options) =>
  agent.call("GET", pathOf(name), { token: agent.tokens.operator, ...options });

async function queue(name) {
  const answer = await look(name);
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.headers["content-type"], "application/json");
  assert.equal(answer.headers["cache-control"], "no-store");
  return answer.json;
}

test("a queue that was never used is empty, and has no turn", async () => {
  assert.deepEqual(await queue("default"), { depth: 0, delayed: 0 });
});

test("the depth is what waits behind the turn; the turn has its age and what is left of its lease", async () => {
  const resident = agent.resident();
  const { id } = await alice.submit("first");
  await alice.submit("second");
  await agent.as("bob").submit("third");
  assert.deepEqual(await queue(), { depth: 3, delayed: 0 });

  const turn = await resident.turn();
  const { depth, delayed, turn: shown } = await queue();
  assert.deepEqual([depth, delayed], [2, 0]);
  const { ageMs, leaseLeftMs, ...rest } = shown;
  assert.deepEqual(rest, { turnId: turn.turnId, principal: "alice", taskId: id, phase: "live", delivery: 1 });
  assert.ok(ageMs >= 0 && ageMs < 20 * SECONDS_MS, `${ageMs} ms`);
  assert.ok(leaseLeftMs <= LEASE_MS && leaseLeftMs > LEASE_MS - 20 * SECONDS_MS, `${leaseLeftMs} ms`);

  const later = (await queue()).turn;
  assert.ok(later.ageMs >= ageMs && later.leaseLeftMs <= leaseLeftMs, "looking is no sign of life");
  await turn.complete("done");
  await turn.end();
  assert.deepEqual(await queue(), { depth: 2, delayed: 0 });
});

test("what waits for a failed turn's pause to end is told apart", async () => {
  const resident = agent.resident();
  const turn = await resident.turn();
  assert.equal(await turn.fail("the tool broke"), "retrying");
  assert.deepEqual(await queue(), { depth: 2, delayed: 1 });
  for (const _ of ["the other one", "the one that failed"]) {
    const next = await resident.turn();
    await next.complete("done");
    await next.end();
  }
  assert.deepEqual(await queue(), { depth: 0, delayed: 0 });
});

test("each queue is looked at by its name", async () => {
  await agent.as("carol").submit("on the second queue");
  assert.deepEqual(await queue("second"), { depth: 1, delayed: 0 });
  assert.deepEqual(await queue("default"), { depth: 0, delayed: 0 });
});

test("a queue is the operator's to look at, and nobody else's", async () => {
  const { id } = await agent.as("bob").submit("for the turn's token");
  const turn = await agent.resident().turn();
  for (const token of [agent.tokens.alice, agent.tokens.resident, agent.tokens.second, turn.token]) {
    for (const name of ["default", "unknown"]) {
      assertError(await look(name, { token }), "PERMISSION_DENIED");
    }
  }
  assertError(await agent.call("GET", pathOf("default")), "UNAUTHENTICATED");
  await agent.as("bob").cancel(id);
});

test("the operator is no principal, no resident, and nobody's to wake", async () => {
  const operator = agent.as("operator");
  assertError(await operator.send("hello"), "PERMISSION_DENIED");
  assertError(await operator.call("GET", "/tasks"), "PERMISSION_DENIED");
  assertError(
    await operator.call("POST", "/resident/v1/wakes:take", { body: { session: "s-1" } }),
    "PERMISSION_DENIED",
  );
  const names = await agent.rows("WakeQueueObject", "SELECT DISTINCT principal FROM principals");
  assert.ok(names.length > 0);
  assert.ok(names.every(({ principal }) => principal !== "operator"));
});

test("a queue that no credential names is not there", async () => {
  for (const name of ["unknown", "default.", "Default"]) assertError(await look(name), "NOT_FOUND");
  assertError(await look("%zz"), "INVALID_REQUEST", "resident");
  assertError(await look("no%20identifier"), "INVALID_REQUEST", "resident");
  const before = await agent.storedObjects();
  await look("never-named");
  assert.deepEqual(await agent.storedObjects(), before);
});

test("a queue can be looked at and not touched", async () => {
  const answer = await agent.call("DELETE", pathOf("default"), { token: agent.tokens.operator });
  assertError(answer, "METHOD_NOT_ALLOWED");
  assert.equal(answer.headers.allow, "GET, HEAD, OPTIONS");
});
