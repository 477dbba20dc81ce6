// The tools for other agents over the Model Context Protocol.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Deployment } from "../support/deployment.mjs";
import { McpAgent } from "../support/mcp-agent.mjs";
import { remoteVars } from "./delegating.mjs";
import { JsAgent } from "./js-agent.mjs";

const remote = await JsAgent.start();
const plane = await Deployment.start({ vars: remoteVars({ RESEARCH: remote.url }, ["research"]) });

test("a model sends a message to another agent and reads what it said", async () => {
  const task = await plane.as("alice").submit("delegate");
  const agent = await McpAgent.connect(plane);
  const turn = await agent.turn();
  const sent = await turn.use("a2a_send_agent", { address: "a2a://research", text: "hello" });
  const { address } = JSON.parse(sent.content.at(-1).text);
  const read = await turn.use("a2a_read_agent", { address });
  assert.match(read.content[0].text, /^\| hello yourself$/m);
  await turn.use("a2a_complete_task", { response: "done" });
  assert.equal(await plane.as("alice").state(task.id), "TASK_STATE_COMPLETED");
});
