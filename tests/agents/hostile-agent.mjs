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
  /** Sends whoever asks for its card elsewhere. */
  moved: {
    card: (answer) => answer.writeHead(302, { location: "/elsewhere" }).end(),
  },
  /** Sends whoever follows its task elsewhere. */
  detour: {
    streaming: true,
    send: (answer) => json(answer, { task: working("d") }),
    poll: (answer, times) => json(answer, times < 2 ? working("d") : done("d")),
    stream: (answer) => answer.writeHead(307, { location: "/elsewhere" }).end(),
  },
  /** Breaks its stream off in the middle of an event. */
  cut: {
    streaming: true,
    send: (answer) => json(answer, { task: working("c") }),
    poll: (answer, times) => json(answer, times < 2 ? working("c") : done("c")),
    stream: (answer) => {
      answer.writeHead(200, { "content-type": "text/event-stream" });
      answer.write(`data: {"statusUpdate":{"taskId":"c","status":{"state":"TASK_STATE_CANC`);
      setTimeout(() => answer.destroy(), 100);
    },
  },
  /** Wants to know who asks. */
  gated: {
    send: (answer) => json(answer, { task: working("a") }),
    poll: (answer) => json(answer, { ...working("a"), status: { state: "TASK_STATE_AUTH_REQUIRED" } }),
  },
  /** Writes its stream's media type in its own way, and is not done when looked at before its stream says so. */
  shouting: {
    streaming: true,
    send: (answer) => json(answer, { task: working("s") }),
    poll: (answer, times, streams) => json(answer, streams > 0 ? done("s") : working("s")),
    stream: (answer) => {
      answer.writeHead(200, { "content-type": "TEXT/Event-Stream ; charset=UTF-8" });
      const status = { state: "TASK_STATE_COMPLETED" };
      setTimeout(() => answer.write(`data: ${JSON.stringify({ statusUpdate: { taskId: "s", status } })}\n\n`), 200);
    },
  },
  /** Works for ever. */
  endless: {
    send: (answer) => json(answer, { task: working("w") }),
    poll: (answer) => json(answer, working("w")),
  },
  /** Says without end that its task is done, and chatters, and never is. */
  liar: {
    streaming: true,
    send: (answer) => json(answer, { task: working("l") }),
    poll: (answer) => json(answer, working("l")),
    stream: (answer) => {
      answer.writeHead(200, { "content-type": "text/event-stream" });
      const status = (state) => `data: ${JSON.stringify({ statusUpdate: { taskId: "l", status: { state } } })}\n\n`;
      answer.write(status("TASK_STATE_WORKING").repeat(10_000) + status("TASK_STATE_COMPLETED").repeat(100));
    },
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
  #streams = {};

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

  /** How many requests came for this way whose path ends so, without a query. */
  count(way, end) {
    return this.requests.filter(({ path }) => path.startsWith(`/${way}/`) && path.split("?")[0].endsWith(end)).length;
  }

  static ways = Object.keys(WAYS);

  #answer(request, answer) {
    this.requests.push({ path: request.url, authorization: request.headers.authorization });
    const [, way, ...rest] = request.url.split("?")[0].split("/");
    const { streaming = false, card, send, poll, stream } = WAYS[way] ?? {};
    const path = rest.join("/");
    if (path === "card.json" && card) {
      card(answer);
    } else if (path === "card.json") {
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
      this.#streams[way] = (this.#streams[way] ?? 0) + 1;
      stream?.(answer);
    } else if (path.startsWith("tasks/")) {
      this.#polls[way] = (this.#polls[way] ?? 0) + 1;
      poll?.(answer, this.#polls[way], this.#streams[way] ?? 0);
    } else {
      answer.writeHead(404).end();
    }
  }
}
