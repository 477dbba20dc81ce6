// An independent agent, built with the official JavaScript SDK's server. What it does is the first word it is told.

import { createServer } from "node:http";
import { after } from "node:test";

import { AgentCard, Message, Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent } from "@a2a-js/sdk";
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } from "@a2a-js/sdk/server";
import { agentCardHandler, restHandler, UserBuilder } from "@a2a-js/sdk/server/express";
import express from "express";

/** The words it knows, each with what it does with the rest. */
const WORDS = {
  /** Answers directly, with no task. */
  hello: (turn) => turn.message("hello yourself"),
  /** Completes with one artifact. */
  do: async (turn) => {
    turn.begin();
    turn.artifact("result", `did ${turn.rest}`);
    turn.status("TASK_STATE_COMPLETED");
  },
  /** Completes with two artifacts. */
  two: async (turn) => {
    turn.begin();
    turn.artifact("one", "the first");
    turn.artifact("two", "the second");
    turn.status("TASK_STATE_COMPLETED");
  },
  /** Works until it is told to go on, then completes. */
  wait: async (turn) => {
    turn.begin();
    turn.status("TASK_STATE_WORKING", "waiting");
    await turn.agent.released(turn.rest, turn.taskId);
    if (turn.agent.canceled.has(turn.taskId)) return;
    turn.artifact("result", `waited for ${turn.rest}`);
    turn.status("TASK_STATE_COMPLETED");
  },
  /** Asks something, and completes with the answer. */
  ask: async (turn) => {
    turn.begin();
    turn.status("TASK_STATE_INPUT_REQUIRED", "Which colour?");
  },
};

class Turn {
  constructor(agent, context, bus) {
    const text = context.userMessage.parts[0].content.value;
    [this.word, this.rest] = [text.split(" ")[0], text.split(" ").slice(1).join(" ")];
    this.agent = agent;
    this.bus = bus;
    this.isContinued = context.task !== undefined;
    this.taskId = context.taskId;
    this.contextId = context.contextId;
  }

  begin() {
    const status = { state: "TASK_STATE_SUBMITTED", timestamp: new Date().toISOString() };
    this.bus.publish(AgentEvent.task(Task.fromJSON({ id: this.taskId, contextId: this.contextId, status })));
  }

  #of(fields) {
    return { taskId: this.taskId, contextId: this.contextId, ...fields };
  }

  #message(text) {
    return this.#of({ messageId: crypto.randomUUID(), role: "ROLE_AGENT", parts: [{ text }] });
  }

  message(text) {
    this.bus.publish(AgentEvent.message(Message.fromJSON({ ...this.#message(text), taskId: "" })));
  }

  status(state, text) {
    const status = { state, timestamp: new Date().toISOString(), message: text && this.#message(text) };
    this.bus.publish(AgentEvent.statusUpdate(TaskStatusUpdateEvent.fromJSON(this.#of({ status }))));
  }

  artifact(artifactId, text) {
    const artifact = { artifactId, name: artifactId, parts: [{ text }] };
    this.bus.publish(AgentEvent.artifactUpdate(TaskArtifactUpdateEvent.fromJSON(this.#of({ artifact }))));
  }
}

/** The agent, on a loopback port, with all requests that it has seen. */
export class JsAgent {
  /**
   * Starts one; the end of the test file stops it.
   *
   * @param {object} [options]
   * @param {boolean} [options.streaming] whether its card offers streams
   */
  static async start({ streaming = true } = {}) {
    const agent = new JsAgent();
    const app = express();
    const server = createServer(app);
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    agent.url = `http://127.0.0.1:${server.address().port}`;
    const card = AgentCard.fromJSON({
      name: "Research Agent",
      description: "Does what it is told.",
      version: "1.2.3",
      supportedInterfaces: [{ url: `${agent.url}/a2a`, protocolBinding: "HTTP+JSON", protocolVersion: "1.0" }],
      capabilities: { streaming },
      defaultInputModes: ["text/plain"],
      defaultOutputModes: ["text/plain"],
      skills: [{ id: "obey", name: "Obey", description: "Does it", tags: ["test"] }],
    });
    const handler = new DefaultRequestHandler(card, new InMemoryTaskStore(), agent);
    app.use((request, _response, next) => {
      agent.requests.push({ method: request.method, path: request.path, headers: request.headers });
      next();
    });
    app.use("/.well-known/agent-card.json", agentCardHandler({ agentCardProvider: handler }));
    app.use("/a2a", restHandler({ requestHandler: handler, userBuilder: UserBuilder.noAuthentication }));
    after(() => {
      server.closeAllConnections();
      server.close();
      for (const release of agent.#waiting.values()) release();
    });
    return agent;
  }

  requests = [];
  canceled = new Set();
  #waiting = new Map();

  /** Waits until somebody releases this, or cancels the task. */
  released(name, taskId) {
    return new Promise((resolve) => {
      this.#waiting.set(name, resolve);
      this.#waiting.set(taskId, resolve);
    });
  }

  /** Lets what waits for this go on. True where it waited. */
  release(name) {
    this.#waiting.get(name)?.();
    return this.#waiting.delete(name);
  }

  /** How many requests came of this method, for a path that ends so. */
  count(method, end) {
    return this.requests.filter((request) => request.method === method && request.path.endsWith(end)).length;
  }

  async execute(context, bus) {
    const turn = new Turn(this, context, bus);
    if (turn.isContinued) {
      turn.artifact("result", `answered ${[turn.word, turn.rest].filter(Boolean).join(" ")}`);
      turn.status("TASK_STATE_COMPLETED");
    } else {
      await WORDS[turn.word](turn);
    }
    bus.finished();
  }

  async cancelTask(taskId, bus) {
    this.canceled.add(taskId);
    const status = { state: "TASK_STATE_CANCELED", timestamp: new Date().toISOString() };
    bus.publish(AgentEvent.statusUpdate(TaskStatusUpdateEvent.fromJSON({ taskId, contextId: "", status })));
    this.release(taskId);
    bus.finished();
  }
}
