import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";

import { TaskNotFoundError } from "@a2a-js/sdk/errors";

import { assertError } from "../support/contract.mjs";
import { Deployment, message } from "../support/deployment.mjs";
import { collect, discover, sending } from "../support/official-client.mjs";

const agent = await Deployment.start();

test("a wrong token is refused with the scheme to use", async () => {
  const client = await discover(agent, "not-a-token-of-this-deployment");
  await assert.rejects(client.sendMessage(sending("hello")), (error) => {
    assert.equal(error.statusCode, 401);
    assert.match(error.headers["www-authenticate"], /^Bearer\b/);
    return true;
  });
});

test("another principal's task cannot be read, canceled, followed or continued by the official client", async () => {
  const alice = await discover(agent, agent.tokens.alice);
  const bob = await discover(agent, agent.tokens.bob);
  const hers = await alice.sendMessage(sending("private", { returnImmediately: true }));
  await assert.rejects(bob.getTask({ id: hers.id }), TaskNotFoundError);
  await assert.rejects(bob.cancelTask({ id: hers.id }), TaskNotFoundError);
  await assert.rejects(collect(bob.resubscribeTask({ id: hers.id })), TaskNotFoundError);
  const intrusion = sending("let me in", { returnImmediately: true });
  intrusion.message.taskId = hers.id;
  await assert.rejects(bob.sendMessage(intrusion), TaskNotFoundError);
  assert.deepEqual(await alice.getTask({ id: hers.id }), hers);
});

test("a foreign id and an unknown one get the same bytes, but for the id", async () => {
  const [alice, bob] = [agent.as("alice"), agent.as("bob")];
  const foreign = (await alice.submit("hers")).id;
  const unknown = randomUUID();
  const requests = {
    read: (id) => bob.call("GET", `/tasks/${id}`),
    cancel: (id) => bob.call("POST", `/tasks/${id}:cancel`),
    subscribe: (id) => bob.call("GET", `/tasks/${id}:subscribe`),
    "subscribe by POST": (id) => bob.call("POST", `/tasks/${id}:subscribe`),
    continue: (id) => bob.send(message("me too", { taskId: id })),
    "continue in its context": (id) => bob.send(message("me too", { taskId: id, contextId: "c-1" })),
  };
  for (const [name, request] of Object.entries(requests)) {
    const [toForeign, toUnknown] = [await request(foreign), await request(unknown)];
    assertError(toForeign, "TASK_NOT_FOUND");
    assert.equal(toForeign.text.replaceAll(foreign, "ID"), toUnknown.text.replaceAll(unknown, "ID"), name);
    assert.deepEqual(headersOf(toForeign), headersOf(toUnknown), name);
  }
});

test("a turn of another principal's task cannot be found by a client's token", async () => {
  const carol = agent.as("carol");
  await carol.submit("under a turn");
  const turn = await agent.resident("second").turn();
  const answer = await turn.tool("a2a_read_task", {}, agent.tokens.bob);
  assertError(answer, "PERMISSION_DENIED");
});

function headersOf({ headers }) {
  const { date, "x-request-id": requestId, ...others } = headers;
  return others;
}
