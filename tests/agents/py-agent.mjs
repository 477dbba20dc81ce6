// An independent agent, built with the official Python SDK's server: `py_agent.py`, as a process.

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { after } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const PYTHON = `${ROOT}.tools/python/bin/python`;

/** The agent, gone when the test file ends. */
export class PyAgent {
  static async start() {
    if (!existsSync(PYTHON)) throw new Error("the official Python SDK is not installed: scripts/python.sh");
    const child = spawn(PYTHON, ["-I", fileURLToPath(new URL("py_agent.py", import.meta.url))], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    after(() => child.kill("SIGKILL"));
    let errors = "";
    child.stderr.setEncoding("utf8").on("data", (text) => {
      errors += text;
    });
    const agent = new PyAgent();
    agent.url = await new Promise((resolve, reject) => {
      child.stdout.setEncoding("utf8").once("data", (text) => resolve(text.trim()));
      child.once("exit", () => reject(new Error(`the agent did not start: ${errors}`)));
    });
    return agent;
  }

  /** Lets what waits for this go on, now or when it comes to wait. */
  async release(name) {
    const answer = await fetch(`${this.url}/release/${name}`, { method: "POST" });
    return answer.ok;
  }
}
