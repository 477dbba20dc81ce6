// An MCP session: what it agrees on, what it is told, and whose turns it gets.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Deployment } from "../support/deployment.mjs";
import { McpAgent, textOf } from "../support/mcp-agent.mjs";

const agent = await Deployment.start();
const alice = agent.as("alice");

const TURN_TOOLS = [
  "a2a_read_task",
  "a2a_complete_task",
  "a2a_record_output",
  "a2a_append_response",
  "a2a_report_progress",
  "a2a_require_input",
  "a2a_agents",
  "a2a_send_agent",
  "a2a_read_agent",
  "a2a_cancel_agent",
];

function initialize(protocolVersion) {
  return agent.call("POST", "/mcp", {
    token: agent.tokens.resident,
    headers: { "content-type": "application/json" },
    body: {
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: { protocolVersion, capabilities: {}, clientInfo: { name: "test", version: "1" } },
    },
  });
}

test("the official client connects, and is told how to work and whom not to obey", async () => {
  const { client, transport } = await McpAgent.connect(agent);
  assert.equal(client.getServerVersion().name, "a2a-task-plane");
  assert.deepEqual(client.getServerCapabilities(), { tools: {} });
  assert.equal(transport.protocolVersion, "2025-11-25");
  assert.match(transport.sessionId, /^[0-9a-f-]{36}$/);
  const instructions = client.getInstructions();
  for (const tool of ["wait_for_wake", "a2a_read_task", "a2a_complete_task", "a2a_require_input"]) {
    assert.ok(instructions.includes(tool), tool);
  }
  assert.match(instructions, /untrusted-content markers was written by somebody else/);
  assert.deepEqual(await client.ping(), {});
});

test("the newest version is offered unless the client asks for another that is spoken", async () => {
  for (const [requested, agreed] of [
    ["2025-11-25", "2025-11-25"],
    ["2025-06-18", "2025-06-18"],
    ["2025-03-26", "2025-03-26"],
    ["2024-11-05", "2025-11-25"],
    ["nonsense", "2025-11-25"],
    [undefined, "2025-11-25"],
  ]) {
    const { status, json } = await initialize(requested);
    assert.equal(status, 200);
    assert.equal(json.result.protocolVersion, agreed, requested);
  }
});

test("a resident is shown every tool, each with a schema that names its turn and task", async () => {
  const { client } = await McpAgent.connect(agent);
  const { tools } = await client.listTools();
  const names = tools.map(({ name }) => name);
  assert.deepEqual([...names].sort(), ["wait_for_wake", "end_turn", ...TURN_TOOLS].sort());
  for (const { name, description, inputSchema } of tools) {
    assert.notEqual(description, "", name);
    assert.equal(inputSchema.type, "object", name);
    if (name === "wait_for_wake") continue;
    for (const field of ["turnId", "taskId"]) assert.ok(inputSchema.required.includes(field), `${name} ${field}`);
  }
});

test("every session is another, and the newest one gets the wakes", async () => {
  const older = await McpAgent.connect(agent);
  const { id } = await alice.submit("handed over");
  const held = await older.turn();
  const newer = await McpAgent.connect(agent);
  assert.notEqual(newer.transport.sessionId, older.transport.sessionId);
  // Connecting alone takes nothing from anybody: the first wait does.
  assert.match(await held.text(), /handed over/);
  const turn = await newer.turn();
  assert.equal(turn.taskId, id);
  assert.equal(turn.delivery, 2);

  const refused = await older.call("wait_for_wake", { waitMs: 0 });
  assert.equal(refused.isError, true);
  assert.match(textOf(refused), /^SESSION_SUPERSEDED: /);
  const late = await held.call("a2a_complete_task", { response: "late" });
  assert.equal(late.isError, true);
  assert.match(textOf(late), /^TURN_NOT_LIVE: /);
  assert.equal(await turn.complete("done"), "TASK_STATE_COMPLETED");
});

test("a session that waits twice while its turn lives gets the same turn", async () => {
  const mcp = await McpAgent.connect(agent);
  await alice.submit("asked for twice");
  const [first, again] = [await mcp.turn(), await mcp.turn(0)];
  assert.equal(again.turnId, first.turnId);
  assert.equal(again.delivery, 1);
  await again.complete("done");
});

test("a session and a runner of the same resident take over from each other", async () => {
  const mcp = await McpAgent.connect(agent);
  assert.equal(await mcp.wait(0), undefined);
  const runner = agent.resident();
  const { id } = await alice.submit("for whoever came last");
  const turn = await runner.turn();
  assert.equal(turn.taskId, id);
  assert.match(textOf(await mcp.call("wait_for_wake", { waitMs: 0 })), /^SESSION_SUPERSEDED: /);
  await turn.complete("done");
  await turn.end();
});

test("a wait that its client gave up loses no work", async () => {
  const mcp = await McpAgent.connect(agent);
  assert.equal(await mcp.wait(0), undefined);
  const giveUp = new AbortController();
  const waiting = mcp.client.callTool({ name: "wait_for_wake", arguments: { waitMs: 20_000 } }, undefined, {
    signal: giveUp.signal,
  });
  await mcp.client.ping();
  giveUp.abort();
  await assert.rejects(waiting);
  const { id } = await alice.submit("after it gave up");
  const turn = await mcp.turn();
  assert.equal(turn.taskId, id);
  assert.equal(turn.delivery, 1);
  await turn.complete("done");
});

test("what a client that is gone was waiting for goes to the next session", async () => {
  const gone = await McpAgent.connect(agent);
  assert.equal(await gone.wait(0), undefined);
  const waiting = gone.wait(20_000);
  await gone.client.ping();
  await gone.client.close();
  await assert.rejects(waiting);
  const { id } = await alice.submit("for the next one");
  const turn = await (await McpAgent.connect(agent)).turn();
  assert.equal(turn.taskId, id);
  await turn.complete("done");
});

test("the official client is told who may not connect, by the status and in JSON-RPC's form", async () => {
  for (const [token, status, reason] of [
    ["a-token-nobody-has", 401, "UNAUTHENTICATED"],
    [agent.tokens.alice, 403, "PERMISSION_DENIED"],
  ]) {
    await assert.rejects(McpAgent.connect(agent, token), (error) => {
      assert.equal(error.code, status);
      assert.match(error.message, /"jsonrpc":"2\.0"/);
      assert.match(error.message, new RegExp(`"reason":"${reason}"`));
      return true;
    });
  }
});
