// Remote agents that never answer, answer garbage, end their streams early, let tasks go back, redirect, or answer without
// end: each is handled and bounded, and none sees a secret that is not its own.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Deployment } from "../support/deployment.mjs";
import { until } from "../support/until.mjs";
import { delegate, remoteVars } from "./delegating.mjs";
import { HostileAgent } from "./hostile-agent.mjs";

const SECRET = "secret-of-the-hostile-agent";

const remote = await HostileAgent.start();
const plane = await Deployment.start({
  vars: remoteVars({}, HostileAgent.ways, {
    ...remote.vars(),
    HOSTILE_TOKEN: SECRET,
    A2A_CONNECT_TIMEOUT: "1000",
    A2A_REQUEST_TIMEOUT: "60000",
  }),
});
const alice = plane.as("alice");
const resident = plane.resident();

/** Sends a message to the agent of this way, and gives the turn that reads what came of it. */
async function settled(way) {
  await alice.submit(way);
  const turn = await resident.turn();
  const sent = await turn.tool("a2a_send_agent", { address: `a2a://${way}`, text: "x" });
  if (sent.json.settled === false && (await turn.end()) === "awaiting_agents") {
    return { sent, turn: await until("the task is woken", () => resident.take(10_000), 60_000) };
  }
  return { sent, turn };
}

async function finish(turn) {
  await turn.complete("done");
  await turn.end();
}

test("an agent that never answers is given up", async () => {
  const { sent, turn } = await settled("silent");
  assert.equal(sent.json.settled, false);
  assert.match(await turn.text(), /given up: it did not/);
  await plane.logged(/"remote_agent_unanswered"/);
  await finish(turn);
});

test("an agent that answers garbage is given up", async () => {
  const { turn } = await settled("garbage");
  assert.match(await turn.text(), /a2a:\/\/garbage\/tasks\/g TASK_STATE_WORKING \(given up: its answer is not JSON\)/);
  await finish(turn);
});

test("a stream that ends early is followed by looks", async () => {
  const { turn } = await settled("early");
  assert.match(await turn.text(), /a2a:\/\/early\/tasks\/e TASK_STATE_COMPLETED/);
  await plane.logged(/"alias":"early","event":"remote_task_settled","state":"TASK_STATE_COMPLETED"/);
  await finish(turn);
});

test("a task that goes back is given up in the state it had", async () => {
  const { turn } = await settled("backwards");
  assert.match(await turn.text(), /a2a:\/\/backwards\/tasks\/b TASK_STATE_WORKING \(given up: its task went back/);
  await finish(turn);
});

test("a redirect is not followed", async () => {
  const { sent, turn } = await settled("redirect");
  assert.equal(sent.status, 502);
  assert.equal(sent.json.error.details[0].metadata.problem, "remote-failed");
  assert.ok(!remote.requests.some(({ path }) => path === "/elsewhere"));
  await finish(turn);
});

test("an answer without end is cut off", async () => {
  const { sent, turn } = await settled("huge");
  assert.equal(sent.status, 502);
  await finish(turn);
});

test("the token went with every request, and nowhere else", async () => {
  assert.ok(remote.requests.every(({ authorization }) => authorization === `Bearer ${SECRET}`));
  assert.ok(!plane.log.includes(SECRET));
  const stored = await plane.rows("PrincipalObject", "SELECT group_concat(definition) AS text FROM agents");
  assert.ok(!JSON.stringify(stored).includes(SECRET));
  assert.match(JSON.stringify(stored), /\$\{HOSTILE_TOKEN\}/);
});

test("a turn is shown neither the token nor where the agent is", async () => {
  await alice.submit("look");
  const turn = await resident.turn();
  const shown = [await turn.text()];
  shown.push((await turn.tool("a2a_agents")).text);
  shown.push((await turn.tool("a2a_read_agent", { address: "a2a://garbage", format: "json" })).text);
  shown.push(JSON.stringify(await delegate(turn, "a2a://garbage", "x")));
  for (const text of shown) {
    assert.doesNotMatch(text, /127\.0\.0\.1/);
    assert.ok(!text.includes(SECRET) && !text.includes(remote.url));
  }
  await finish(turn);
});
