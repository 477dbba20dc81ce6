// One turn at a time, in the order of acceptance, each wake once.

import assert from "node:assert/strict";
import { test } from "node:test";

import { assertError } from "../support/contract.mjs";
import { Deployment, message } from "../support/deployment.mjs";

const agent = await Deployment.start();
const alice = agent.as("alice");

test("a turn names its work and holds none of it", async () => {
  const { id, contextId } = await alice.submit("a secret of the caller");
  const turn = await agent.resident().turn();
  const { token, ...grant } = turn.grant;
  const { turnId, delivery, leaseMs, principalHash, ...rest } = grant;
  assert.deepEqual(rest, { taskId: id, contextId });
  assert.equal(delivery, 1);
  assert.equal(leaseMs, 60_000);
  assert.match(token, new RegExp(`^turn~default~${turnId}~[A-Za-z0-9_-]{43}$`));
  assert.doesNotMatch(JSON.stringify(turn.grant), /secret of the caller|alice/);
  await turn.complete("done");
  await turn.end();
});

test("without a wake a take waits its time, and answers 204 without a body", async () => {
  const resident = agent.resident();
  const begun = Date.now();
  const answer = await resident.call("wakes:take", { session: resident.session, waitMs: 300 });
  assert.equal(answer.status, 204);
  assert.equal(answer.text, "");
  assert.ok(Date.now() - begun >= 250);
});

test("a take that waits is answered as soon as there is work", async () => {
  const resident = agent.resident();
  await resident.take(0);
  const waiting = resident.turn(20_000);
  const { id } = await alice.submit("now");
  const begun = Date.now();
  const turn = await waiting;
  assert.ok(Date.now() - begun < 5_000);
  assert.equal(turn.taskId, id);
  await turn.complete("done");
  await turn.end();
});

test("tasks of several principals are turns one after another, in the order of acceptance", async () => {
  const resident = agent.resident();
  const accepted = [];
  for (const name of ["alice", "bob", "alice", "bob"]) accepted.push((await agent.as(name).submit("in order")).id);
  const taken = [];
  for (const _ of accepted) {
    const turn = await resident.turn();
    taken.push(turn.taskId);
    // While it lives the same session gets the same turn, under a fresh token.
    const again = await resident.turn(0);
    assert.equal(again.turnId, turn.turnId);
    assert.notEqual(again.token, turn.token);
    await again.complete("done");
    await again.end();
  }
  assert.deepEqual(taken, accepted);
  assert.equal(await resident.take(0), undefined);
});

test("two takes at once are given one turn", async () => {
  const resident = agent.resident();
  const [first, second] = [resident.take(2_000), resident.take(2_000)];
  await alice.submit("for one of them");
  const turns = (await Promise.all([first, second])).filter(Boolean);
  assert.equal(new Set(turns.map(({ turnId }) => turnId)).size, 1);
  await (await resident.turn(0)).complete("done");
  await (await resident.turn(0)).end();
});

test("two residents work at once, each on its own principals' tasks", async () => {
  const hers = await alice.submit("for the default one");
  const carols = await agent.as("carol").submit("for the second one");
  const [first, second] = [await agent.resident().turn(), await agent.resident("second").turn()];
  assert.equal(first.taskId, hers.id);
  assert.equal(second.taskId, carols.id);
  for (const turn of [first, second]) {
    await turn.complete("done");
    await turn.end();
  }
});

test("a newer session takes over: the older is told so, and its turn is over", async () => {
  const older = agent.resident();
  const { id } = await alice.submit("handed over");
  const turn = await older.turn();
  assert.equal((await turn.heartbeat()).json.live, true);
  const newer = agent.resident();
  const handed = await newer.turn();
  assert.equal(handed.taskId, id);
  assert.notEqual(handed.turnId, turn.turnId);
  assert.equal(handed.grant.delivery, 2);
  assertError(await older.call("wakes:take", { session: older.session, waitMs: 0 }), "SESSION_SUPERSEDED");
  assertError(await turn.tool("a2a_complete_task", { response: "late" }), "TURN_NOT_LIVE");
  assert.deepEqual((await turn.heartbeat({}, older.token)).json, { live: false, reason: "superseded" });
  await agent.logged(new RegExp(`"event":"turn_superseded".*"turn_id":"${turn.turnId}"`));
  await handed.complete("done");
  await handed.end();
});

test("a turn in which no resident was heard is no delivery, however many sessions begin", async () => {
  const { id } = await alice.submit("never arrives");
  for (let session = 0; session < 7; session += 1) {
    const turn = await agent.resident().turn();
    assert.equal(turn.taskId, id);
    assert.equal(turn.grant.delivery, 1);
  }
  const turn = await agent.resident().turn();
  await turn.complete("done");
  assert.equal(await turn.end(), "settled");
});

test("a turn that leaves its task unsettled is offered again, five times, and then no more", async () => {
  const resident = agent.resident();
  const { id } = await alice.submit("left alone");
  for (let delivery = 1; delivery <= 5; delivery += 1) {
    const turn = await resident.turn();
    assert.equal(turn.taskId, id);
    assert.equal(turn.grant.delivery, delivery);
    assert.equal(await turn.end(), delivery < 5 ? "reoffered" : "exhausted");
  }
  assert.equal(await resident.take(0), undefined);
  assert.equal(await agent.resident().take(0), undefined);
  const kinds = await agent.rows(
    "PrincipalObject",
    "SELECT kind FROM evidence WHERE task_id = ? ORDER BY evidence_id",
    id,
  );
  assert.equal(kinds.at(-1).kind, "WAKE_FAILED");
  await alice.cancel(id);
});

test("a turn that fails is tried again after a pause", async () => {
  const resident = agent.resident();
  const { id } = await alice.submit("fails once");
  const failing = await resident.turn();
  assert.equal(await failing.fail("the tool broke"), "retrying");
  assert.equal(await resident.take(0), undefined);
  const again = await resident.turn();
  assert.equal(again.taskId, id);
  await again.complete("done");
  assert.equal(await again.end(), "settled");
});

test("a question ends the turn's work; the answer is a new wake of the same task", async () => {
  const resident = agent.resident();
  const { id, contextId } = await alice.submit("ask me");
  const asking = await resident.turn();
  assert.equal(await asking.ask("Which?"), "TASK_STATE_INPUT_REQUIRED");
  assert.equal(await asking.end(), "interrupted");
  assert.equal(await resident.take(0), undefined);
  assert.equal(await agent.resident().take(0), undefined);

  const newest = agent.resident();
  await alice.submit(message("This.", { taskId: id, contextId }));
  const answered = await newest.turn();
  assert.equal(answered.taskId, id);
  const { history } = await answered.task();
  assert.deepEqual(
    history.map(({ role, parts }) => [role, parts[0].text]),
    [
      ["ROLE_USER", "ask me"],
      ["ROLE_AGENT", "Which?"],
      ["ROLE_USER", "This."],
    ],
  );
  await answered.complete("done");
  assert.equal(await answered.end(), "settled");
});
