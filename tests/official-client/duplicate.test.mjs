import assert from "node:assert/strict";
import { test } from "node:test";

import { Deployment, message } from "../support/deployment.mjs";
import { discover, sending, stateName } from "../support/official-client.mjs";

const agent = await Deployment.start();

test("a message sent twice is one task, one history entry and one wake", async () => {
  const client = await discover(agent, agent.tokens.alice);
  const request = sending("only once", { returnImmediately: true });
  const first = await client.sendMessage(request);
  const second = await client.sendMessage(request);
  assert.deepEqual(second, first);

  const resident = agent.resident();
  const turn = await resident.turn();
  assert.equal(turn.taskId, first.id);
  await turn.complete("done once");
  await turn.end();
  const settled = await client.sendMessage(request);
  assert.equal(settled.id, first.id);
  assert.equal(stateName(settled.status.state), "TASK_STATE_COMPLETED");
  assert.equal(settled.history.length, 1);

  const other = await client.sendMessage(sending("another", { returnImmediately: true }));
  assert.equal((await resident.turn()).taskId, other.id);
  assert.equal((await agent.rows("PrincipalObject", "SELECT * FROM claims")).length, 2);
});

test("duplicates in flight at once have one outcome", async () => {
  const client = await discover(agent, agent.tokens.bob);
  const request = sending("all at once", { returnImmediately: true });
  const tasks = await Promise.all(Array.from({ length: 12 }, () => client.sendMessage(request)));
  assert.equal(new Set(tasks.map(({ id }) => id)).size, 1);
});

test("an answer sent twice continues its task once", async () => {
  const carol = agent.as("carol");
  const resident = agent.resident("second");
  const { id } = await carol.submit("ask me");
  const asking = await resident.turn();
  await asking.ask("Well?");
  await asking.end();

  const answer = message("well", { taskId: id });
  const first = await carol.submit(answer);
  const second = await carol.submit(answer);
  assert.deepEqual(second, first);
  assert.equal(first.history.length, 3);
  const turn = await resident.turn();
  await turn.complete("done");
  await turn.end();
  assert.equal((await carol.submit(answer)).status.state, "TASK_STATE_COMPLETED");
  assert.equal((await carol.task(id)).history.length, 3);
});

test("a known messageId with another content is refused and changes nothing", async () => {
  const client = await discover(agent, agent.tokens.alice);
  const request = sending(message("the first"), { returnImmediately: true });
  const first = await client.sendMessage(request);
  request.message.parts[0].content.value = "the second";
  await assert.rejects(client.sendMessage(request), (error) => {
    assert.equal(error.statusCode, 409);
    return true;
  });
  assert.deepEqual(await client.getTask({ id: first.id }), first);
});

test("two principals may use the same messageId", async () => {
  const shared = message("same id");
  const hers = await agent.as("alice").submit(shared);
  const his = await agent.as("bob").submit(shared);
  assert.notEqual(his.id, hers.id);
});
