// A principal whose credentials name another resident than before: its open tasks go there, and the old one loses them.

import assert from "node:assert/strict";
import { test } from "node:test";

import { assertError } from "../support/contract.mjs";
import { credentialsOf, Deployment, message } from "../support/deployment.mjs";

const MOVED = { alice: "default", bob: "default", carol: "default" };

async function finish(turn) {
  await turn.complete("done");
  return turn.end();
}

test("a new session of the new resident is offered what is open, also what the old one had a turn on", async () => {
  const agent = await Deployment.start();
  const carol = agent.as("carol");
  const old = agent.resident("second");
  const held = await carol.submit("under the old one's turn");
  const waiting = await carol.submit("waits at the old one");
  const asked = await carol.submit("waits for its caller");
  const turn = await old.turn();
  assert.equal(turn.taskId, held.id);

  await agent.redeploy({ A2A_CREDENTIALS: credentialsOf(agent.tokens, MOVED) });
  const resident = agent.resident();
  const taken = await resident.turn();
  assert.equal(taken.taskId, held.id);
  assert.equal(taken.grant.delivery, 2);

  // The old one's turn is worth nothing any more, whatever its queue believes.
  assertError(await turn.tool("a2a_complete_task", { response: "late" }), "TURN_NOT_LIVE");
  await turn.tryEnd();
  assert.equal(await old.take(0), undefined);
  assert.equal(await agent.resident("second").take(0), undefined);
  assert.equal(await finish(taken), "settled");

  const next = await resident.turn();
  assert.equal(next.taskId, waiting.id);
  await finish(next);

  // A question that stands moves with the answer.
  const asking = await resident.turn();
  assert.equal(asking.taskId, asked.id);
  await asking.ask("Which?");
  await asking.end();
  await agent.redeploy({ A2A_CREDENTIALS: credentialsOf(agent.tokens) });
  const back = agent.resident("second");
  assert.equal(await back.take(0), undefined);
  await carol.submit(message("This.", { taskId: asked.id }));
  const answered = await back.turn();
  assert.equal(answered.taskId, asked.id);
  assert.equal(await finish(answered), "settled");
  assert.equal(await resident.take(0), undefined);
});

test("without a new session the principal's next task brings the open ones along", async () => {
  const agent = await Deployment.start();
  const carol = agent.as("carol");
  const resident = agent.resident();
  await resident.take(0);
  const before = await carol.submit("accepted before the move");
  await agent.redeploy({ A2A_CREDENTIALS: credentialsOf(agent.tokens, MOVED) });
  const after = await carol.submit("accepted after the move");
  for (const { id } of [before, after]) {
    const turn = await resident.turn();
    assert.equal(turn.taskId, id);
    await finish(turn);
  }
  assert.equal(await agent.resident("second").take(0), undefined);
});
