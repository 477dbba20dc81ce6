// A source that is a Worker itself calls the trusted surface over a service binding, with no network in between.

import assert from "node:assert/strict";
import { test } from "node:test";

import { assertError } from "../support/contract.mjs";
import { parsed } from "../support/http.mjs";
import { drain, event, start } from "./intake.mjs";

/** Passes on what it is told to ask, and gives the answer. */
const NEIGHBOR = `
export default {
  async fetch(request, env) {
    const { method, path, token, body } = await request.json();
    const answer = await env.TASK_PLANE.fetch("https://a2a" + path, {
      method,
      headers: { ...(token && { authorization: "Bearer " + token }), "content-type": "application/json" },
      body: body && JSON.stringify(body),
    });
    return Response.json({ status: answer.status, headers: Object.fromEntries(answer.headers), text: await answer.text() });
  },
};
`;

/** In front of the built Worker: hands the path /neighbor to the other Worker. */
const FRONT = `
import worker from "./worker.mjs";
export * from "./worker.mjs";
export default {
  fetch: (request, env, context) =>
    new URL(request.url).pathname === "/neighbor" ? env.NEIGHBOR.fetch(request) : worker.fetch(request, env, context),
};
`;

const { agent, source } = await start({
  entry: FRONT,
  workers: { neighbor: { module: { source: NEIGHBOR }, services: { TASK_PLANE: "main" } } },
  services: { NEIGHBOR: "neighbor" },
});

/** The answer that the other Worker gets at its binding. */
async function overTheBinding(method, path, body, token = source.token) {
  const { json } = await agent.call("POST", "/neighbor", { body: { method, path, token, body } });
  return { ...json, json: parsed(json.text) };
}

test("another Worker hands over an event, reads its task and its source over a service binding", async () => {
  const sent = event("from a neighbor", { conversationKey: "binding" });
  const accepted = await overTheBinding("POST", "/trusted/v1/activations", sent);
  assert.equal(accepted.status, 200, accepted.text);
  assert.equal(accepted.json.disposition, "created");
  const { taskId } = accepted.json;
  const read = await overTheBinding("GET", `/trusted/v1/tasks/${taskId}`);
  assert.deepEqual(read.json, await source.read(taskId));
  const again = await source.accept(sent);
  assert.equal(again.disposition, "duplicate", "the same surface, however it is reached");
  const declared = await overTheBinding("PUT", "/trusted/v1/sources/chat", { continuation: ["TASK_ID"] });
  assert.equal(declared.status, 200, declared.text);
  await drain(agent.resident());
  assert.equal((await overTheBinding("GET", `/trusted/v1/tasks/${taskId}`)).json.terminal, true);
});

test("a binding grants nothing: the token decides, as it does for everybody", async () => {
  const path = "/trusted/v1/activations";
  assertError(await overTheBinding("POST", path, event("x"), ""), "UNAUTHENTICATED");
  assertError(await overTheBinding("POST", path, event("x"), "a-token-that-nobody-has"), "UNAUTHENTICATED");
  assertError(await overTheBinding("POST", path, event("x"), agent.tokens.alice), "PERMISSION_DENIED");
  assertError(await overTheBinding("POST", path, event("x", { taskId: "t-1" })), "PERMISSION_DENIED", "taskId");
});
