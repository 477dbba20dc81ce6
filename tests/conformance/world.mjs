// What the rows share: three deployments, an agent that does as it is told, and tasks in every state that one can reach.

import { randomUUID } from "node:crypto";

import { Deployment, message } from "../support/deployment.mjs";

export const EXTENSIONS = "https://github.com/ai-outfitter/channels/a2a-extensions/";
export const CARD = "/.well-known/agent-card.json";

const BLOCKING_TIMEOUT_MS = 300;
export const MAX_OPEN_TASKS = 3;

/** An executor that answers by the message's first word; all else is work for the resident. */
const EXECUTOR = `
  import worker, { PrincipalObject as Principal } from "./worker.mjs";
  export * from "./worker.mjs";
  const answers = {
    direct: { message: { parts: [{ text: "Good day." }] } },
    fail: { task: { status: { state: "TASK_STATE_FAILED", message: { parts: [{ text: "No luck." }] } } } },
    garbage: { nonsense: true },
  };
  const EXECUTOR = {
    async fetch(request) {
      const { message } = await request.json();
      const answer = answers[message.parts[0].text.split(" ")[0]] ?? { work: {} };
      return new Response(JSON.stringify(answer) + "\\n");
    },
  };
  export class PrincipalObject extends Principal {
    constructor(ctx, env) {
      super(ctx, { ...env, EXECUTOR });
    }
  }
  export default worker;
`;

/** The fixtures of all rows. */
export class World {
  static async open() {
    const [agent, limited, unconfigured] = await Promise.all([
      Deployment.start({
        vars: {
          A2A_AGENT_NAME: "Conformance",
          A2A_WORKFLOW_MANIFEST: JSON.stringify({
            workflows: [{ id: "review", outputs: [{ name: "report", type: "document" }] }],
          }),
        },
      }),
      Deployment.start({
        vars: { A2A_BLOCKING_TIMEOUT_MS: `${BLOCKING_TIMEOUT_MS}`, A2A_MAX_OPEN_TASKS: `${MAX_OPEN_TASKS}` },
        entry: EXECUTOR,
      }),
      Deployment.start({ vars: { A2A_CREDENTIALS: undefined } }),
    ]);
    return new World(agent, limited, unconfigured);
  }

  constructor(agent, limited, unconfigured) {
    /** Alice's and Bob's tasks are worked on at once; Carol's stay submitted, since her queue's resident is away. */
    this.agent = agent;
    /** A deployment with an executor, a short blocking timeout and a low cap on open tasks, and without a resident. */
    this.limited = limited;
    /** A deployment that nobody can call. */
    this.unconfigured = unconfigured;
    this.alice = agent.as("alice");
    this.bob = agent.as("bob");
    this.carol = agent.as("carol");
    this.#working = this.#work();
  }

  #working;
  #closed = false;
  /** @type {Map<string, any>} */
  #once = new Map();
  /** @type {any[]} what the resident was given, the newest last */
  turns = [];

  async close() {
    this.#closed = true;
    await this.#working;
  }

  /** The resident: it does what the first word of the newest message says. */
  async #work() {
    const resident = this.agent.resident();
    while (!this.#closed) {
      const turn = await resident.take(200);
      if (!turn) continue;
      const task = await turn.task();
      this.turns.push({ grant: turn.grant, task });
      const [part] = task.history.at(-1).parts;
      const text = part.text ?? "";
      const [word] = text.split(" ");
      if (word === "ask") await turn.ask("Which one?");
      else if (word === "authorize") await turn.ask("Sign in first.", { auth: true });
      else if (word === "reject") await turn.reject("Not this.");
      else {
        if (word === "report") await turn.record("report", { pages: 3 });
        await turn.complete(`done: ${text}`);
      }
      await turn.end();
    }
  }

  /** What the function gives, made at its first use. */
  once(name, make) {
    if (!this.#once.has(name)) this.#once.set(name, make());
    return this.#once.get(name);
  }

  /** A task of Alice's that was blocked for. */
  async settled(content, configuration, options) {
    const { status, json, text } = await this.alice.send(content, configuration, options);
    if (status !== 200) throw new Error(`not accepted: ${status} ${text}`);
    return json.task;
  }

  /** Alice's task that completed with one output and a response. */
  completed() {
    return this.once("completed", () => this.settled("report this"));
  }

  /** One of Alice's tasks that were rejected. */
  rejected() {
    return this.once("rejected", () => this.settled("reject this"));
  }

  /** One of Carol's tasks, canceled. */
  canceled() {
    return this.once("canceled", async () => {
      const { id } = await this.carol.submit("never mind");
      return (await this.carol.cancel(id)).json;
    });
  }

  /** A task of the other deployment that failed. */
  failed() {
    return this.once("failed", async () => (await this.limited.as("alice").send("fail at once")).json.task);
  }

  /** Every terminal state: the task, and its owner. */
  async terminal() {
    return [
      [await this.completed(), this.alice],
      [await this.rejected(), this.alice],
      [await this.canceled(), this.carol],
      [await this.failed(), this.limited.as("alice")],
    ];
  }

  /** A new task of Alice's that waits for an answer. */
  asked() {
    return this.settled("ask me");
  }

  /** The answers to an unknown task from every operation that names one, by operation. */
  operationsOn(principal, id) {
    return {
      "Send Message": () => principal.send(message("more", { taskId: id })),
      "Send Streaming Message": () =>
        principal.call("POST", "/message:stream", { body: { message: message("more", { taskId: id }) } }),
      "Get Task": () => principal.call("GET", `/tasks/${id}`),
      "Cancel Task": () => principal.cancel(id),
      "Subscribe to Task by GET": () => principal.call("GET", `/tasks/${id}:subscribe`),
      "Subscribe to Task by POST": () => principal.call("POST", `/tasks/${id}:subscribe`),
    };
  }

  /** Every operation of the binding, as this principal or as nobody, by operation. */
  operations(call, id = randomUUID()) {
    const body = { message: message("hello"), configuration: { returnImmediately: true } };
    return {
      "Send Message": () => call("POST", "/message:send", { body }),
      "Send Streaming Message": () => call("POST", "/message:stream", { body }),
      "Get Task": () => call("GET", `/tasks/${id}`),
      "List Tasks": () => call("GET", "/tasks"),
      "Cancel Task": () => call("POST", `/tasks/${id}:cancel`),
      "Subscribe to Task": () => call("POST", `/tasks/${id}:subscribe`),
      "Get Extended Agent Card": () => call("GET", "/extendedAgentCard"),
      ...this.pushOperations(call, id),
    };
  }

  /** The operations on push notification configurations. */
  pushOperations(call, id = randomUUID()) {
    const configs = `/tasks/${id}/pushNotificationConfigs`;
    return {
      "Create Push Notification Config": () => call("POST", configs, { body: { url: "https://example.com/hook" } }),
      "Get Push Notification Config": () => call("GET", `${configs}/one`),
      "List Push Notification Configs": () => call("GET", configs),
      "Delete Push Notification Config": () => call("DELETE", `${configs}/one`),
    };
  }
}
