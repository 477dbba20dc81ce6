// `make dev`: the Worker at http://127.0.0.1:8787 (PORT), and beside it the resident with the example agent.
// Tasks are kept in .state/dev. Ctrl-C stops both.

import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { devVars } from "./dev-vars.mjs";
import { checkFree, wantedPort } from "./port.mjs";
import { serve } from "./serve.mjs";
import { readWorkerSettings, ROOT } from "./settings.mjs";

const RESIDENT = path.join(ROOT, "target/resident/resident");
const AGENT = path.join(ROOT, "examples/agent.sh");

/** What the runner says when it starts to wait for work. */
const WAITING = "waiting for wakes";

/** The runner's exit status when a newer session of its resident took over. */
const SUPERSEDED = 4;

/** How long until both must be up. */
const READY_TIMEOUT_MS = 30_000;

/** What the example agent is, unless .dev.vars says otherwise. */
const EXAMPLE = {
  A2A_AGENT_NAME: "Example agent",
  A2A_AGENT_DESCRIPTION: "Counts words. Shows a result, an output, a question and a refusal.",
  A2A_WORKFLOW: "example",
  // Agents on this machine may be called: nowhere but in development.
  A2A_REMOTES_LOOPBACK: "on",
  A2A_WORKFLOW_MANIFEST: JSON.stringify({
    workflows: [{ id: "example", outputs: [{ name: "report", type: "document" }] }],
  }),
};

/** What is to be stopped, last started first. @type {(() => Promise<void>)[]} */
const stops = [];

try {
  const port = wantedPort();
  await checkFree(port);
  const { vars, clientToken, residentToken } = await devVars();
  const settings = await readWorkerSettings();
  for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"])) {
    process.once(signal, () => end(0));
  }
  const server = await serve({
    port,
    state: path.join(ROOT, ".state/dev"),
    vars: { ...settings.vars, ...EXAMPLE, ...vars },
    onOutput: (chunk) => process.stdout.write(chunk),
  });
  stops.push(server.stop);
  server.exited.then(() => end(1, "workerd ended"));
  await until("the agent card", () => answersCard(server.url));
  await startResident(server.url, residentToken);
  await until("the resident surface", () => answersResident(server.url, residentToken));
  announce(server.url, clientToken);
} catch (error) {
  await end(1, error.message);
}

/** Stops everything, once. */
async function end(code, reason) {
  if (end.begun) return;
  end.begun = true;
  if (reason !== undefined) console.error(`\nfailed: ${reason}`);
  for (const stop of stops.reverse()) await stop();
  process.exit(code);
}

async function answersCard(url) {
  const answer = await fetch(`${url}/.well-known/agent-card.json`);
  if (answer.status !== 200) throw new Error(`it answers ${answer.status}: ${await answer.text()}`);
}

/** Asks about a turn that is not there: it reaches the resident's queue and changes nothing. */
async function answersResident(url, token) {
  const answer = await fetch(`${url}/resident/v1/turns/none:heartbeat`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: "{}",
  });
  const text = await answer.text();
  if (answer.status >= 500 || answer.status === 401 || answer.status === 403) {
    throw new Error(`it answers ${answer.status}: ${text}`);
  }
}

/** Tries again until it succeeds; after 30 s, the last failure is the reason. */
async function until(what, attempt) {
  const deadline = Date.now() + READY_TIMEOUT_MS;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (Date.now() > deadline) throw new Error(`${what} is not served: ${error.message}`);
      await delay(50);
    }
  }
}

/** Resolves when the runner waits for work. */
async function startResident(url, token) {
  const child = spawn(RESIDENT, ["run", "--", AGENT], {
    // Ctrl-C in a terminal goes to this process alone, which stops the runner before the server.
    detached: true,
    env: { ...process.env, A2A_URL: url, A2A_RESIDENT_TOKEN: token },
    stdio: ["ignore", "inherit", "pipe"],
  });
  const exited = new Promise((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("exit", (code, signal) => resolve(signal ?? code));
  });
  process.on("exit", () => child.kill("SIGKILL"));
  stops.push(async () => {
    child.kill("SIGTERM");
    await exited;
  });
  const waits = new Promise((resolve) => {
    let output = "";
    child.stderr.setEncoding("utf8").on("data", (chunk) => {
      process.stderr.write(chunk);
      output = (output + chunk).slice(-4096);
      if (output.includes(WAITING)) resolve(undefined);
    });
  });
  exited.then((why) => {
    if (why !== SUPERSEDED) return end(1, `the resident is gone: it ended with ${why}`);
    if (!end.begun) console.log("Another resident took over from the example agent. Serving goes on.");
  });
  await Promise.race([waits, exited, delay(READY_TIMEOUT_MS, undefined, { ref: false })]);
}

function announce(url, token) {
  if (end.begun) return;
  const message = {
    messageId: `hello-${randomBytes(6).toString("hex")}`,
    role: "ROLE_USER",
    parts: [{ text: "Hello, how many words is this?" }],
  };
  console.log(`
Ready: ${url}
Client token: ${token}
Try:
  curl -s ${url}/message:send -H 'Authorization: Bearer ${token}' -H 'Content-Type: application/json' \\
    -d '${JSON.stringify({ message })}'

Sent again, the same messageId gives the same task. Ctrl-C stops everything; tasks are kept in .state/dev.
`);
}
