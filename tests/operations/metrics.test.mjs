// The optional binding METRICS: a data point of each request. workerd has no Analytics Engine, so the front gives one that
// prints what it is given.

import assert from "node:assert/strict";
import { test } from "node:test";

import { frontOf } from "../http/front.mjs";
import { Deployment } from "../support/deployment.mjs";

const PRINTING = `{
  METRICS: { writeDataPoint(point) { console.log("point " + JSON.stringify(point)); } },
}`;

/** Points are printed in the order of the answers. */
async function pointOf(agent, operation) {
  const [, point] = await agent.logged(new RegExp(`point (\\{"indexes":\\["${operation}"\\].*\\})`));
  return JSON.parse(point);
}

test("each request leaves a data point: operation, outcome, milliseconds, rows and status", async () => {
  const agent = await Deployment.start({ entry: frontOf({ bindings: PRINTING }) });
  const alice = agent.as("alice");
  const { id } = await alice.submit("measure me");
  const sent = await pointOf(agent, "SendMessage");
  assert.deepEqual(sent.blobs, ["SendMessage", "OK"]);
  const [ms, rowsRead, rowsWritten, status] = sent.doubles;
  assert.ok(ms >= 0 && rowsRead > 0 && rowsWritten > 0, String(sent.doubles));
  assert.equal(status, 200);

  await alice.call("GET", "/tasks/unknown");
  const refused = await pointOf(agent, "GetTask");
  assert.deepEqual(refused.blobs, ["GetTask", "TASK_NOT_FOUND"]);
  assert.equal(refused.doubles[3], 404);

  await agent.call("GET", "/nowhere");
  assert.deepEqual((await pointOf(agent, "none")).blobs, ["none", "NOT_FOUND"]);
  assert.doesNotMatch(agent.log.match(/point .*/g).join(""), new RegExp(`alice|${id}`));
});

test("a dataset that fails fails no request", async () => {
  const bindings = `{ METRICS: { writeDataPoint() { throw new Error("too many points"); } } }`;
  const agent = await Deployment.start({ entry: frontOf({ bindings }) });
  await agent.as("alice").submit("go on");
  await agent.logged(/"event":"metric_not_written"/);
});
