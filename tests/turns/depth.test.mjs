// The log follows how much waits in a queue, whatever changes it.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Deployment } from "../support/deployment.mjs";
import { until } from "../support/until.mjs";

const agent = await Deployment.start();
const quiet = await Deployment.start({ vars: { A2A_REQUEST_LOG: "off" } });
const alice = agent.as("alice");

/** The depths that the log tells, oldest first. */
function depths() {
  return agent.log
    .split("\n")
    .filter((line) => line.startsWith("{") && line.includes('"wake_queue_depth"'))
    .map((line) => Number(JSON.parse(line).pending));
}

const last = (depth) => until(`the last depth is ${depth}`, () => depths().at(-1) === depth);

test("a wake that comes, is withdrawn, is taken, and is offered again changes the depth in the log", async () => {
  await alice.submit("one");
  await last(1);
  const { id } = await alice.submit("two");
  await last(2);
  await alice.cancel(id);
  await last(1);
  const turn = await agent.resident().turn();
  await last(0);
  assert.equal(await turn.end(), "reoffered");
  await last(1);
});

test("where requests leave no line, the depth leaves none", async () => {
  await quiet.as("alice").submit("unheard");
  const turn = await quiet.resident().turn();
  await turn.complete("done");
  await turn.end();
  // What is logged once the turn is over comes after whatever the depth would have been.
  assert.equal((await quiet.call("POST", `/resident/v1/turns/${turn.turnId}:end`)).status, 401);
  assert.ok(!quiet.log.includes("wake_queue_depth"), quiet.log);
  assert.ok(!quiet.log.includes('"request"'), quiet.log);
});
