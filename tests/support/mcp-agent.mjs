// An agent that speaks the Model Context Protocol, by the official client: as an agent's host would connect it.

import { after } from "node:test";

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

/** One MCP session. */
export class McpAgent {
  /**
   * Connects; the end of the test file closes it.
   *
   * @param {import("./deployment.mjs").Deployment} deployment
   * @param {string} [token] a resident's, or a turn's
   */
  static async connect(deployment, token = deployment.tokens.resident) {
    const transport = new StreamableHTTPClientTransport(new URL(`${deployment.url}/mcp`), {
      requestInit: { headers: { Authorization: `Bearer ${token}` } },
    });
    const client = new Client({ name: "test-agent", version: "1.0.0" });
    await client.connect(transport);
    after(() => client.close());
    return new McpAgent(client, transport);
  }

  constructor(client, transport) {
    this.client = client;
    this.transport = transport;
  }

  /** Calls a tool, whatever comes of it. */
  call(name, fields = {}) {
    return this.client.callTool({ name, arguments: fields });
  }

  /** Calls a tool that must not refuse. */
  async use(name, fields) {
    const result = await this.call(name, fields);
    if (result.isError) throw new Error(`${name} refused: ${textOf(result)}`);
    return result;
  }

  /** Waits for a wake; undefined where none came in time. */
  async wait(waitMs = 10_000) {
    const { turn } = (await this.use("wait_for_wake", { waitMs })).structuredContent;
    return turn === null ? undefined : new McpTurn(this, turn);
  }

  /** Waits for a wake, which must come. */
  async turn(waitMs) {
    const turn = await this.wait(waitMs);
    if (!turn) throw new Error("no wake came");
    return turn;
  }
}

/** A turn that was granted. */
export class McpTurn {
  constructor(agent, { turnId, taskId, delivery }) {
    this.agent = agent;
    this.turnId = turnId;
    this.taskId = taskId;
    this.delivery = delivery;
  }

  /** Calls a tool of the turn, whatever comes of it. */
  call(name, fields) {
    return this.agent.call(name, { turnId: this.turnId, taskId: this.taskId, ...fields });
  }

  /** Calls a tool of the turn that must not refuse. */
  use(name, fields) {
    return this.agent.use(name, { turnId: this.turnId, taskId: this.taskId, ...fields });
  }

  /** The task as the model sees it. */
  async text() {
    return textOf(await this.use("a2a_read_task"));
  }

  /** The task and what its newest message asked for, structured. */
  async json() {
    const { content } = await this.use("a2a_read_task", { format: "json" });
    return JSON.parse(content.at(-1).text);
  }

  async complete(response, fields) {
    return (await this.use("a2a_complete_task", { response, ...fields })).structuredContent.state;
  }

  async end(outcome, reason) {
    return (await this.use("end_turn", { outcome, reason })).structuredContent.disposition;
  }
}

/** What a model reads of a result. */
export function textOf(result) {
  return result.content.map(({ text }) => text).join("\n");
}
