// What happens to a remote task that is followed: its agent wants credentials, breaks its stream off, sends elsewhere, never
// ends, lies, or is taken away from who follows it.

import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { test } from "node:test";

import { Deployment } from "../support/deployment.mjs";
import { delegate, remoteVars } from "./delegating.mjs";
import { HostileAgent } from "./hostile-agent.mjs";
import { JsAgent } from "./js-agent.mjs";

const LIFE_MS = 6_000;

const remote = await HostileAgent.start();
const start = (more) =>
  Deployment.start({
    vars: remoteVars({}, HostileAgent.ways, { ...remote.vars(), HOSTILE_TOKEN: "secret", ...more }),
  });
const plane = await start();
const brief = await start({ A2A_REQUEST_TIMEOUT: String(LIFE_MS) });

/** Gives work to the agent of this way, and ends the turn. */
async function delegated(way, at = plane) {
  await at.as("alice").submit(way);
  const turn = await at.resident().turn();
  const sent = await delegate(turn, `a2a://${way}`, "x");
  assert.equal(sent.settled, false);
  assert.equal(await turn.end(), "awaiting_agents");
  return sent;
}

/** The turn that the delegated task is woken for, and what it reads first. */
async function woken(at = plane, waitMs = 15_000) {
  const turn = await at.resident().take(waitMs);
  assert.ok(turn, "the task is not woken");
  return { turn, text: await turn.text() };
}

async function finish(turn) {
  await turn.complete("done");
  await turn.end();
}

for (const [way, said, what] of [
  ["gated", "a TASK_STATE_AUTH_REQUIRED", "an agent that wants credentials is noticed"],
  ["cut", "c TASK_STATE_COMPLETED", "a stream cut in the middle of an event says nothing of it, and looks go on"],
  ["detour", "d TASK_STATE_COMPLETED", "a stream that leads elsewhere is not followed there, and looks go on"],
  ["shouting", "s TASK_STATE_COMPLETED", "a stream's media type counts in any case"],
]) {
  test(what, async () => {
    await delegated(way);
    const { turn, text } = await woken();
    assert.ok(text.includes(`a2a://${way}/tasks/${said}`), text);
    await finish(turn);
    assert.equal(await plane.resident().take(300), undefined);
    assert.ok(!remote.requests.some(({ path }) => path === "/elsewhere"));
  });
}

test("a card that leads elsewhere is not followed there", async () => {
  await plane.as("alice").submit("moved");
  const turn = await plane.resident().turn();
  const sent = await turn.tool("a2a_send_agent", { address: "a2a://moved", text: "x" });
  assert.equal(sent.json.error.details[0].metadata.problem, "card-unreachable", sent.text);
  assert.ok(!remote.requests.some(({ path }) => path === "/elsewhere"));
  await finish(turn);
});

test("a stream that chatters and says without end that its task is done is looked at about once a second", async () => {
  await delegated("liar");
  await sleep(4_000);
  const looks = remote.count("liar", "/tasks/l");
  assert.ok(looks >= 2 && looks <= 8, `${looks} looks`);
  const [{ state }] = await plane.rows(
    "PrincipalObject",
    "SELECT phase AS state FROM remote_calls WHERE alias = 'liar'",
  );
  assert.equal(Number(state), 1);
});

test("a task that does not settle before its deadline wakes once, also when it is read after that", async () => {
  const began = performance.now();
  const sent = await delegated("endless", brief);
  const { turn, text } = await woken(brief);
  assert.ok(performance.now() - began >= LIFE_MS - 1_000);
  assert.match(text, /TASK_STATE_WORKING \(given up: it did not settle before its deadline\)/);
  const read = await turn.tool("a2a_read_agent", { address: sent.address });
  assert.equal(read.status, 200, read.text);
  assert.notEqual(await turn.end(), "awaiting_agents");
  const next = await brief.resident().take(5_000);
  if (next) await finish(next);
  const claims = await brief.rows("PrincipalObject", "SELECT dedupe_key FROM claims WHERE source = 'agents'");
  assert.equal(claims.length, 1);
});

for (const [how, withdraw] of [
  ["disabled", (who, alias) => who.call("POST", `/agents/v1/agents/${alias}:disable`)],
  ["removed", (who, alias) => who.call("DELETE", `/agents/v1/agents/${alias}`)],
]) {
  test(`an agent that is ${how} while its task is followed is asked nothing more, and its task told`, async () => {
    const alice = plane.as("alice");
    const alias = `own-${how}`;
    const definition = { name: alias, url: remote.url, cardPath: "/endless/card.json" };
    await alice.call("POST", "/agents/v1/agents", { body: { alias, definition } });
    await alice.call("POST", `/agents/v1/agents/${alias}:enable`);
    await delegated(alias);
    assert.equal((await withdraw(alice, alias)).status, 200);
    const before = remote.count("endless", "/tasks/w");
    const { turn, text } = await woken();
    assert.match(text, new RegExp(`a2a://${alias}/tasks/w TASK_STATE_WORKING \\(given up: `), text);
    assert.ok(remote.count("endless", "/tasks/w") <= before + 1);
    await finish(turn);
  });
}

test("one alias is two agents for two principals, at the same time", async () => {
  const agents = { alice: await JsAgent.start({ streaming: false }), bob: await JsAgent.start({ streaming: false }) };
  for (const [name, agent] of Object.entries(agents)) {
    const who = plane.as(name);
    await who.call("POST", "/agents/v1/agents", {
      body: { alias: "twin", definition: { name: "twin", url: agent.url } },
    });
    await who.call("POST", "/agents/v1/agents/twin:enable");
    await who.submit(`twin of ${name}`);
  }
  const turns = [];
  for (let left = 2; left > 0; left -= 1) {
    const turn = await plane.resident().turn();
    const name = (await turn.text()).includes("twin of alice") ? "alice" : "bob";
    const sent = await delegate(turn, "a2a://twin", `wait ${name}`);
    turns.push({ name, taskId: turn.taskId, sent });
    assert.equal(await turn.end(), "awaiting_agents");
  }
  assert.notEqual(turns[0].name, turns[1].name);
  for (const { name, taskId, sent } of turns) {
    assert.ok(agents[name].release(name), name);
    const { turn } = await woken();
    assert.equal(turn.taskId, taskId);
    const read = await turn.tool("a2a_read_agent", { address: `${sent.address}/artifacts/result` });
    assert.match(read.text, new RegExp(`waited for ${name}`));
    const other = turns.find((one) => one.name !== name);
    assert.equal((await turn.tool("a2a_read_agent", { address: other.sent.address })).status, 404);
    await finish(turn);
  }
});
