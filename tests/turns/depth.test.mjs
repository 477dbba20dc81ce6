// The log follows how much waits in a queue, whatever changes it.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Deployment } from "../support/deployment.mjs";
import { until } from "../support/until.mjs";

const agent = await Deployment.start();
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
