// What the runner starts in turn-token.test.mjs: an agent that was given nothing but the environment of its turn. It
// completes its task with what it found.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const { A2A_URL, A2A_TURN_TOKEN, A2A_TURN_ID: turnId, A2A_TASK_ID: taskId } = process.env;

const client = new Client({ name: "turn-agent", version: "1.0.0" });
await client.connect(
  new StreamableHTTPClientTransport(new URL(`${A2A_URL}/mcp`), {
    requestInit: { headers: { Authorization: `Bearer ${A2A_TURN_TOKEN}` } },
  }),
);
const call = (name, fields) => client.callTool({ name, arguments: { turnId, taskId, ...fields } });
const refusalOf = (name) => call(name, { waitMs: 0, outcome: "ended" }).catch(({ code }) => code);

const found = {
  tools: (await client.listTools()).tools.map(({ name }) => name),
  instructions: client.getInstructions(),
  read: (await call("a2a_read_task")).content[0].text,
  wait: await refusalOf("wait_for_wake"),
  end: await refusalOf("end_turn"),
  otherTask: await call("a2a_read_task", { taskId: process.env.OTHER_TASK_ID }),
};
const { isError } = await call("a2a_complete_task", { response: JSON.stringify(found) });
await client.close();
process.exitCode = isError ? 1 : 0;
