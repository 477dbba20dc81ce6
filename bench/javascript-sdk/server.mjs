// The official JavaScript SDK's server, as its documentation sets it up: Express, the REST transport, tasks in memory.
// Prints its port. What the text of a message begins with is done: "complete" at once, "wait" until it is canceled. Other work is accepted.

import express from "express";
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } from "@a2a-js/sdk/server";
import { restHandler, UserBuilder } from "@a2a-js/sdk/server/express";
import { TaskState } from "@a2a-js/sdk";

const card = {
  name: "bench",
  description: "A server to measure",
  version: "1",
  supportedInterfaces: [{ url: "http://127.0.0.1", protocolBinding: "HTTP+JSON", protocolVersion: "1.0", tenant: "" }],
  capabilities: { streaming: true, pushNotifications: false, extensions: [] },
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain"],
  skills: [],
  securitySchemes: {},
  securityRequirements: [],
  signatures: [],
};

/** Work under way, by its task: what ends it. */
const waiting = new Map();

const now = () => new Date().toISOString();
const status = (state) => ({ state, message: undefined, timestamp: now() });

const executor = {
  async execute({ taskId, contextId, userMessage }, bus) {
    bus.publish(
      AgentEvent.task({
        id: taskId,
        contextId,
        status: status(TaskState.TASK_STATE_SUBMITTED),
        history: [userMessage],
        artifacts: [],
        metadata: {},
      }),
    );
    const settle = (state) =>
      bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: status(state), metadata: {} }));
    const text = userMessage.parts[0]?.content?.value ?? "";
    if (String(text).startsWith("complete")) {
      settle(TaskState.TASK_STATE_WORKING);
      const part = { content: { $case: "text", value: "done" }, metadata: {}, filename: "", mediaType: "" };
      const artifact = {
        artifactId: "response",
        name: "",
        description: "",
        parts: [part],
        metadata: {},
        extensions: [],
      };
      bus.publish(
        AgentEvent.artifactUpdate({ taskId, contextId, artifact, append: false, lastChunk: true, metadata: {} }),
      );
      settle(TaskState.TASK_STATE_COMPLETED);
    } else if (String(text).startsWith("wait")) {
      await new Promise((resolve) => waiting.set(taskId, resolve));
      waiting.delete(taskId);
      settle(TaskState.TASK_STATE_CANCELED);
    }
    bus.finished();
  },
  async cancelTask(taskId) {
    waiting.get(taskId)?.();
  },
};

const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor);
const app = express();
app.use(restHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
const server = app.listen(0, "127.0.0.1", () => console.log(server.address().port));
