// A turn is authority over exactly one task, for as long as it lives (invariant 4).

import assert from "node:assert/strict";
import { test } from "node:test";

import { assertError } from "../support/contract.mjs";
import { Deployment } from "../support/deployment.mjs";

const agent = await Deployment.start({
  vars: {
    A2A_WORKFLOW_MANIFEST: JSON.stringify({
      workflows: [{ id: "review", outputs: [{ name: "report", type: "document" }] }],
    }),
  },
});
const alice = agent.as("alice");
const resident = agent.resident();

/** Every tool that changes a task, with what it needs. */
const CHANGES = {
  a2a_complete_task: { response: "done" },
  a2a_record_output: { output: "report", value: { pages: 1 } },
  a2a_require_input: { question: "which?" },
};

/** Asserts that no tool works with these fields and token, and that the task stays as it is. */
async function assertNoAuthority(turn, taskId, fields, token) {
  const before = await alice.task(taskId);
  for (const [tool, needed] of Object.entries({ a2a_read_task: {}, ...CHANGES })) {
    assertError(await turn.tool(tool, { ...needed, ...fields }, token), "TURN_NOT_LIVE");
  }
  const rejection = { outcome: "rejected", reason: "no", ...fields };
  assertError(await turn.tool("a2a_complete_task", rejection, token), "TURN_NOT_LIVE");
  assert.deepEqual(await alice.task(taskId), before);
}

test("a turn's tools work on its own task and on no other", async () => {
  const other = await alice.submit("the other");
  const turn = await resident.turn();
  const own = await alice.submit("comes second");
  assert.equal(turn.taskId, other.id);
  await assertNoAuthority(turn, own.id, { taskId: own.id });
  await assertNoAuthority(turn, own.id, { taskId: own.id }, resident.token);
  await turn.complete("done");
  await turn.end();
  const next = await resident.turn();
  assert.equal(next.taskId, own.id);
  await next.complete("done");
  await next.end();
});

test("an earlier turn's token opens nothing of a later turn", async () => {
  await alice.submit("first");
  const first = await resident.turn();
  await first.complete("done");
  await first.end();
  const second = await alice.submit("second");
  const turn = await resident.turn();
  await assertNoAuthority(turn, second.id, {}, first.token);
  await assertNoAuthority(first, second.id, { taskId: second.id });
  await turn.complete("done");
  await turn.end();
});

test("a turn's token that was changed anywhere opens nothing", async () => {
  const { id } = await alice.submit("guarded");
  const turn = await resident.turn();
  const [prefix, queue, turnId, secret] = turn.token.split("~");
  const flipped = (secret.startsWith("A") ? "B" : "A") + secret.slice(1);
  for (const token of [
    [prefix, queue, turnId, flipped],
    [prefix, "second", turnId, secret],
    [prefix, queue, "another", secret],
    [prefix, queue, turnId, "A".repeat(secret.length)],
  ].map((fields) => fields.join("~"))) {
    await assertNoAuthority(turn, id, {}, token);
    const answer = await turn.heartbeat({}, token);
    assertError(answer, "TURN_NOT_LIVE");
  }
  const ofNobody = [prefix, "nobody", turnId, secret].join("~");
  assertError(await turn.tool("a2a_complete_task", { response: "x" }, ofNobody), "UNAUTHENTICATED");
  assert.equal(await turn.complete("done"), "TASK_STATE_COMPLETED");
  await turn.end();
});

test("after its end a turn opens nothing, and can't be ended again", async () => {
  const { id } = await alice.submit("ended");
  const turn = await resident.turn();
  await turn.complete("done");
  assert.equal(await turn.end(), "settled");
  await assertNoAuthority(turn, id);
  await assertNoAuthority(turn, id, {}, resident.token);
  assertError(await turn.tryEnd(), "TURN_NOT_LIVE");
  assert.deepEqual((await turn.heartbeat({}, resident.token)).json, { live: false, reason: "ended" });
});

test("after a cancel a turn opens nothing, and hears of it", async () => {
  const { id } = await alice.submit("to be canceled");
  const turn = await resident.turn();
  const waiting = turn.heartbeat({ waitMs: 20_000 }, resident.token);
  const begun = Date.now();
  assert.equal((await alice.cancel(id)).json.status.state, "TASK_STATE_CANCELED");
  assert.deepEqual((await waiting).json, { live: false, reason: "canceled" });
  assert.ok(Date.now() - begun < 10_000);
  await assertNoAuthority(turn, id);
  assertError(await turn.tryEnd(), "TURN_NOT_LIVE");
  assert.equal(await alice.state(id), "TASK_STATE_CANCELED");
  await agent.logged(new RegExp(`"event":"turn_canceled".*"turn_id":"${turn.turnId}"`));
});

test("a turn that has settled its task changes nothing more", async () => {
  const { id } = await alice.submit("once");
  const turn = await resident.turn();
  await turn.complete("done");
  const settled = await alice.task(id);
  for (const [tool, needed] of Object.entries(CHANGES)) assertError(await turn.tool(tool, needed), "TURN_NOT_LIVE");
  assert.deepEqual(await alice.task(id), settled);
  await turn.end();
});

test("a turn's token takes no wakes, ends no turn and is no client's", async () => {
  const { id } = await alice.submit("bounded");
  const turn = await resident.turn();
  const take = await resident.call("wakes:take", { session: resident.session }, turn.token);
  assertError(take, "PERMISSION_DENIED");
  assertError(await turn.tryEnd({ outcome: "ended" }, turn.token), "PERMISSION_DENIED");
  const read = await agent.call("GET", `/tasks/${id}`, { token: turn.token });
  assert.ok([401, 403].includes(read.status), read.text);
  await turn.complete("done");
  await turn.end();
});

test("a client's token opens nothing of the resident surface", async () => {
  const { id } = await alice.submit("not yours to do");
  const turn = await resident.turn();
  const client = agent.tokens.alice;
  assertError(await resident.call("wakes:take", { session: "s-1" }, client), "PERMISSION_DENIED");
  assertError(await turn.heartbeat({}, client), "PERMISSION_DENIED");
  assertError(await turn.tryEnd({ outcome: "ended" }, client), "PERMISSION_DENIED");
  assertError(await turn.tool("a2a_complete_task", { response: "x" }, client), "PERMISSION_DENIED");
  assert.equal(await alice.state(id), "TASK_STATE_WORKING");
  await turn.complete("done");
  await turn.end();
});

test("another resident's token opens nothing of this resident's turn", async () => {
  const { id } = await alice.submit("not the second's");
  const turn = await resident.turn();
  await assertNoAuthority(turn, id, {}, agent.tokens.second);
  const end = await turn.tryEnd({ outcome: "ended" }, agent.tokens.second);
  assertError(end, "TURN_NOT_LIVE");
  await turn.complete("done");
  await turn.end();
});
