import assert from "node:assert/strict";
import { test } from "node:test";

import { UnsupportedOperationError } from "@a2a-js/sdk/errors";

import { Deployment } from "../support/deployment.mjs";
import { collect, discover, payloadsOf, sending, stateName } from "../support/official-client.mjs";

const agent = await Deployment.start();

test("a second connection gets a snapshot first, then the same frames as the first", async () => {
  const client = await discover(agent, agent.tokens.alice);
  const first = client.sendMessageStream(sending("watch me"));
  const opening = (await first.next()).value.payload.value;

  const turn = await agent.resident().turn();
  const working = (await first.next()).value;
  assert.equal(stateName(working.payload.value.status.state), "TASK_STATE_WORKING");

  const second = client.resubscribeTask({ id: opening.id });
  const snapshot = (await second.next()).value.payload;
  assert.equal(snapshot.$case, "task");
  assert.equal(stateName(snapshot.value.status.state), "TASK_STATE_WORKING");
  assert.deepEqual(snapshot.value.status, working.payload.value.status);

  await turn.complete("seen by both");
  await turn.end();
  const [ofFirst, ofSecond] = await Promise.all([collect(first), collect(second)]);
  assert.deepEqual(ofSecond, ofFirst);
  assert.deepEqual(
    payloadsOf(ofSecond).map(({ $case }) => $case),
    ["artifactUpdate", "statusUpdate"],
  );
});

test("a subscription goes on over a question and its answer, until the task is terminal", async () => {
  const client = await discover(agent, agent.tokens.alice);
  const resident = agent.resident();
  const accepted = await client.sendMessage(sending("ask me", { returnImmediately: true }));
  const subscription = client.resubscribeTask({ id: accepted.id });
  await subscription.next();

  const asking = await resident.turn();
  await asking.ask("Which one?");
  await asking.end();
  const answer = sending("that one", { returnImmediately: true });
  answer.message.taskId = accepted.id;
  await client.sendMessage(answer);
  const completing = await resident.turn();
  await completing.complete("done");
  await completing.end();

  const states = payloadsOf(await collect(subscription))
    .filter(({ $case }) => $case === "statusUpdate")
    .map(({ value }) => stateName(value.status.state));
  assert.deepEqual(states, [
    "TASK_STATE_WORKING",
    "TASK_STATE_INPUT_REQUIRED",
    "TASK_STATE_SUBMITTED",
    "TASK_STATE_WORKING",
    "TASK_STATE_COMPLETED",
  ]);
});

test("there is nothing to subscribe to on a terminal task", async () => {
  const client = await discover(agent, agent.tokens.alice);
  const accepted = await client.sendMessage(sending("short", { returnImmediately: true }));
  await client.cancelTask({ id: accepted.id });
  await assert.rejects(collect(client.resubscribeTask({ id: accepted.id })), UnsupportedOperationError);
});
