// Two deployments of this project call each other, and one is killed and restarted in the middle.

import assert from "node:assert/strict";
import { test } from "node:test";

import { credentialsOf, Deployment } from "../support/deployment.mjs";
import { delegate, remoteVars } from "./delegating.mjs";

const far = await Deployment.start();
const near = await Deployment.start({
  vars: remoteVars({ FAR: far.url }, ["far"], {
    A2A_REMOTE_FAR_BEARER: "${FAR_TOKEN}",
    FAR_TOKEN: far.tokens.alice,
    A2A_CONNECT_TIMEOUT: "3000",
  }),
});
await far.redeploy(
  remoteVars({ NEAR: near.url }, ["near"], {
    A2A_CREDENTIALS: credentialsOf(far.tokens),
    A2A_REMOTE_NEAR_BEARER: "${NEAR_TOKEN}",
    NEAR_TOKEN: near.tokens.bob,
  }),
);
const alice = near.as("alice");

/** Alice's task at the one deployment, delegated to the other. */
async function delegated() {
  const task = await alice.submit("delegate");
  const turn = await near.resident().turn();
  const sent = await delegate(turn, "a2a://far", "do it there");
  assert.equal(sent.settled, false);
  assert.equal(await turn.end(), "awaiting_agents");
  return { task, sent };
}

/** The other deployment's agent does its work, and the first one's reads it. */
async function finished({ task, sent }) {
  const there = await far.resident().turn(15_000);
  await there.complete("done there");
  await there.end();
  const turn = await near.resident().turn(15_000);
  assert.equal(turn.taskId, task.id);
  const read = await turn.tool("a2a_read_agent", { address: `${sent.address}/artifacts/response`, format: "json" });
  assert.equal(read.json.resource.parts[0].text, "done there");
  await turn.complete("done here");
  assert.equal(await turn.end(), "settled");
  assert.equal(await near.resident().take(300), undefined);
}

test("one deployment's task is another's work", async () => {
  await finished(await delegated());
});

test("they call each other both ways round at once", async () => {
  const outward = await delegated();
  const there = await far.resident().turn(15_000);
  const back = await delegate(there, "a2a://near", "help with it");
  assert.equal(await there.end(), "awaiting_agents");
  const helper = await near.resident().turn();
  await helper.complete("helped");
  await helper.end();
  const again = await far.resident().turn(15_000);
  const help = await again.tool("a2a_read_agent", { address: back.address });
  assert.match(help.json.text, /TASK_STATE_COMPLETED/);
  await again.complete("done there");
  await again.end();
  const turn = await near.resident().turn(15_000);
  assert.equal(turn.taskId, outward.task.id);
  await turn.complete("done");
  await turn.end();
});

test("the caller is killed and restarted in the middle, and is woken all the same", async () => {
  const work = await delegated();
  await near.kill();
  await near.restart();
  await finished(work);
});

test("the agent that is called is killed and restarted in the middle", async () => {
  const work = await delegated();
  await far.kill();
  await far.restart();
  await finished(work);
});
