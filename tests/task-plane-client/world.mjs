// A task plane with credentials for a source and for a platform, and a resident that works by itself: it answers each event
// with the event's own text, asks first where that begins with `ask`, and works on one that begins with `hold` until the
// principal has a task `release`.

import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { after } from "node:test";
import { fileURLToPath } from "node:url";

import { Deployment } from "../support/deployment.mjs";
import { until } from "../support/until.mjs";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** The sources' events are alice's. */
export async function startPlane() {
  const [token, trusted] = [0, 0].map(() => randomBytes(24).toString("base64url"));
  const agent = await Deployment.start({
    credentials: [
      { token, principal: "alice", role: "source", resident: "default" },
      { token: trusted, principal: "alice", role: "trusted", resident: "default" },
    ],
  });
  after(work(agent));
  return { agent, token, trusted };
}

/** Takes turns until it is told to stop; gives the function that does. */
function work(agent) {
  const resident = agent.resident();
  let isOver = false;
  const done = (async () => {
    while (!isOver) {
      const turn = await resident.take(500).catch(() => undefined);
      if (turn === undefined) continue;
      const texts = (await turn.task()).history.map(({ parts }) => parts[0].text);
      if (texts[0].startsWith("hold")) await until("it is released", () => has(agent, "release"));
      if (texts.length === 1 && texts[0].startsWith("ask")) await turn.ask("which?");
      else await turn.complete(texts.at(-1));
      await turn.end();
    }
  })();
  return () => {
    isOver = true;
    return done;
  };
}

/** Whether the principal has a task that began with this text. */
async function has(agent, text) {
  const { json } = await agent.as("alice").call("GET", "/tasks?pageSize=100&historyLength=1");
  return json.tasks.some(({ history }) => history?.[0].parts[0].text === text);
}

/**
 * What cargo makes of the client crate: its file.
 *
 * @param {string[]} target such as `["--example", "follow"]`
 */
export function built(target) {
  const command = target[0] === "--test" ? ["test", "--no-run"] : ["build"];
  const options = ["--locked", "--quiet", "-p", "a2a-task-plane-client", "--message-format", "json", ...target];
  const messages = execFileSync("cargo", [...command, ...options], { cwd: ROOT, encoding: "utf8", maxBuffer: 1 << 28 });
  const artifacts = messages
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));
  return artifacts.findLast(({ executable }) => executable).executable;
}
