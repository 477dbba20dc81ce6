// The token of a turn over MCP: an agent that was started for one turn has the tools of that turn and nothing else.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { Deployment } from "../support/deployment.mjs";
import { McpAgent, McpTurn, textOf } from "../support/mcp-agent.mjs";
import { Runner } from "../support/runner.mjs";
import { until } from "../support/until.mjs";

const TOOLS = [
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
const INVALID_PARAMS = -32602;

const agent = await Deployment.start();
const alice = agent.as("alice");

test("an agent that the runner starts works over MCP, with the tools of its turn alone", async () => {
  const other = await agent.as("carol").submit("somebody else's task");
  const { id } = await alice.submit("for an agent with MCP");
  const script = `exec node ${fileURLToPath(new URL("turn-agent.mjs", import.meta.url))}`;
  const runner = Runner.start(agent, script, { environment: { OTHER_TASK_ID: other.id } });
  await until("the task is completed", async () => (await alice.state(id)) === "TASK_STATE_COMPLETED");
  const found = JSON.parse((await alice.task(id)).artifacts[0].parts[0].text);
  assert.deepEqual([...found.tools].sort(), [...TOOLS].sort());
  assert.match(found.instructions, /started for one turn on one task/);
  assert.doesNotMatch(found.instructions, /wait_for_wake/);
  assert.match(found.read, /^\| for an agent with MCP$/m);
  assert.deepEqual([found.wait, found.end], [INVALID_PARAMS, INVALID_PARAMS]);
  assert.equal(found.otherTask.isError, true);
  assert.match(textOf(found.otherTask), /^TURN_NOT_LIVE: /);
  await runner.logged(/outcome=ended disposition=settled/);
  await runner.stop();
});

test("settling by the turn's token leaves the end of the turn to its resident", async () => {
  const { id } = await alice.submit("settled by the agent");
  const turn = await agent.resident().turn();
  const mcp = await McpAgent.connect(agent, turn.token);
  const own = new McpTurn(mcp, turn);
  assert.equal(await own.complete("done"), "TASK_STATE_COMPLETED");
  assert.equal((await turn.heartbeat()).json.live, true);
  assert.equal(await turn.end(), "settled");
  assert.equal(await alice.state(id), "TASK_STATE_COMPLETED");
});

test("the token is good for its own turn and task, and for no longer than it", async () => {
  const resident = agent.resident();
  const { id } = await alice.submit("first");
  const turn = await resident.turn();
  const mcp = await McpAgent.connect(agent, turn.token);
  const own = new McpTurn(mcp, turn);
  const assertNotLive = async (fields) => {
    const result = await own.call("a2a_complete_task", { response: "not mine", ...fields });
    assert.equal(result.isError, true);
    assert.match(textOf(result), /^TURN_NOT_LIVE: /);
  };
  await assertNotLive({ taskId: "another-task" });
  await assertNotLive({ turnId: "another-turn" });
  assert.match(await own.text(), /first/);
  assert.equal(await turn.end(), "reoffered");
  await assertNotLive();

  // The same task under another turn is another authority.
  const again = await resident.turn();
  assert.equal(again.taskId, id);
  await assertNotLive();
  await assertNotLive({ turnId: again.turnId });
  assert.equal(await alice.state(id), "TASK_STATE_WORKING");
  await again.complete("done");
  await again.end();
});

test("a token whose secret is wrong opens nothing", async () => {
  await alice.submit("guess");
  const resident = agent.resident();
  const turn = await resident.turn();
  const forged = turn.token.replace(/[^~]{43}$/, "x".repeat(43));
  const mcp = await McpAgent.connect(agent, forged);
  const result = await new McpTurn(mcp, turn).call("a2a_read_task");
  assert.equal(result.isError, true);
  assert.match(textOf(result), /^TURN_NOT_LIVE: /);
  await turn.complete("done");
  await turn.end();
});
