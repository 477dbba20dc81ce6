// An agent that thinks between two calls gives no sign of life: its turn lives ten minutes from one to the next.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Deployment } from "../support/deployment.mjs";
import { McpAgent } from "../support/mcp-agent.mjs";
import { until } from "../support/until.mjs";

const LEASE_MS = 250;
const MCP_LEASE_MS = 600_000;
const SECONDS_MS = 1_000;

const agent = await Deployment.start({ vars: { A2A_LEASE_MS: String(LEASE_MS) } });
const alice = agent.as("alice");

async function currentTurn() {
  const { json } = await agent.call("GET", "/operator/v1/queues/default", { token: agent.tokens.operator });
  return json.turn;
}

test("a turn over MCP outlives the deployment's lease, and each call gives it ten minutes again", async () => {
  const mcp = await McpAgent.connect(agent);
  await alice.submit("think it over");
  const turn = await mcp.turn();
  const begun = await currentTurn();
  assert.equal(begun.turnId, turn.turnId);
  assert.ok(begun.leaseLeftMs <= MCP_LEASE_MS && begun.leaseLeftMs > MCP_LEASE_MS - 20 * SECONDS_MS);

  const later = await until("three leases have passed", async () => {
    const now = await currentTurn();
    return now.ageMs > 3 * LEASE_MS && now;
  });
  assert.equal(later.turnId, turn.turnId);
  assert.ok(later.leaseLeftMs < begun.leaseLeftMs, `${later.leaseLeftMs} after ${begun.leaseLeftMs}`);
  await turn.text();
  const renewed = await currentTurn();
  assert.ok(renewed.leaseLeftMs > later.leaseLeftMs, `${renewed.leaseLeftMs} after ${later.leaseLeftMs}`);
  assert.equal(await turn.complete("thought over"), "TASK_STATE_COMPLETED");
});

test("a turn over HTTP on the same queue keeps to the deployment's lease", async () => {
  const { id } = await alice.submit("forgotten");
  const turn = await agent.resident().turn();
  assert.equal(turn.grant.leaseMs, LEASE_MS);
  await agent.logged(/lease_expired/);
  await alice.cancel(id);
});
