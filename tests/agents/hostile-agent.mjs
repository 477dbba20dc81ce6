// A remote agent that does what no agent should. Each of its ways has a card of its own, at `/<way>/card.json`.

import { createServer } from "node:http";
import { after } from "node:test";

const working = (id) => ({ id, contextId: "there", status: { state: "TASK_STATE_WORKING" } });
const done = (id) => ({ id, contextId: "there", status: { state: "TASK_STATE_COMPLETED" } });

/** What each way answers: to a message, to reading a task, to a stream. */
const WAYS = {
  /** Answers nothing, ever. */
  silent: {},
  /** Begins a task, then answers what is none. */
  garbage: {
    send: (answer) => json(answer, { task: working("g") }),
    poll: (answer) => answer.end("<html>nonsense</html>"),
  },
  /** Begins a task, whose stream ends at once, until it is read as done. */
  early: {
    streaming: true,
    send: (answer) => json(answer, { task: working("e") }),
    poll: (answer, times) => json(answer, times < 3 ? working("e") : done("e")),
    stream: (answer) => answer.writeHead(200, { "content-type": "text/event-stream" }).end(": bye\n\n"),
  },
  /** Lets its task go back to where it began. */
  backwards: {
    send: (answer) => json(answer, { task: working("b") }),
    poll: (answer) => json(answer, { ...working("b"), status: { state: "TASK_STATE_SUBMITTED" } }),
  },
  /** Sends whoever speaks to it elsewhere. */
  redirect: {
    send: (answer) => answer.writeHead(307, { location: "/elsewhere" }).end(),
  },
  /** Answers without end. */
  huge: {
    send: (answer) => {
      answer.writeHead(200, { "content-type": "application/json" });
      const chunk = "x".repeat(64 * 1024);
      const more = () => {
        while (!answer.destroyed && answer.write(chunk));
      };
      answer.on("drain", more);
      more();
    },
  },
};

function json(answer, value) {
  answer.setHeader("content-type", "application/a2a+json");
  answer.end(JSON.stringify(value));
}

/** The agent, gone when the test file ends. */
export class HostileAgent {
  /** Every request: its path, and whether it bore a token. */
  requests = [];
  #polls = {};

  static async start() {
    const agent = new HostileAgent();
    const server = createServer((request, answer) => agent.#answer(request, answer));
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    agent.url = `http://127.0.0.1:${server.address().port}`;
    after(() => {
      server.closeAllConnections();
      server.close();
    });
    return agent;
  }

  /** The vars that define each way as an alias of its name, with a bearer token of the deployment's. */
  vars() {
    const vars = {};
    for (const way of Object.keys(WAYS)) {
      vars[`A2A_REMOTE_${way.toUpperCase()}`] = this.url;
      vars[`A2A_REMOTE_${way.toUpperCase()}_CARD_PATH`] = `/${way}/card.json`;
      vars[`A2A_REMOTE_${way.toUpperCase()}_BEARER`] = "${HOSTILE_TOKEN}";
    }
    return vars;
  }

  static ways = Object.keys(WAYS);

  #answer(request, answer) {
    this.requests.push({ path: request.url, authorization: request.headers.authorization });
    const [, way, ...rest] = request.url.split("?")[0].split("/");
    const { streaming = false, send, poll, stream } = WAYS[way] ?? {};
    const path = rest.join("/");
    if (path === "card.json") {
      json(answer, {
        name: way,
        description: "Misbehaves.",
        version: "1",
        supportedInterfaces: [{ url: `${this.url}/${way}`, protocolBinding: "HTTP+JSON", protocolVersion: "1.0" }],
        capabilities: { streaming },
        skills: [],
      });
    } else if (path === "message:send") {
      send?.(answer);
    } else if (path.endsWith(":subscribe")) {
      stream?.(answer);
    } else if (path.startsWith("tasks/")) {
      this.#polls[way] = (this.#polls[way] ?? 0) + 1;
      poll?.(answer, this.#polls[way]);
    } else {
      answer.writeHead(404).end();
    }
  }
}
