// The real runner, `resident run`, with a shell script as its command.

import { execFileSync, spawn } from "node:child_process";
import { statSync } from "node:fs";
import { join } from "node:path";
import { after } from "node:test";
import { fileURLToPath } from "node:url";

import { untilExit } from "./processes.mjs";
import { until, within } from "./until.mjs";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

const INSIST_MS = 100;

/** The newest build of the runner; built where there is none. */
export function binary() {
  const builds = ["resident", "debug"]
    .map((profile) => join(ROOT, "target", profile, "resident"))
    .flatMap((path) => {
      const built = statSync(path, { throwIfNoEntry: false });
      return built ? [{ path, at: built.mtimeMs }] : [];
    })
    .sort((a, b) => b.at - a.at);
  if (builds.length > 0) return builds[0].path;
  execFileSync("cargo", ["build", "--locked", "-p", "a2a-task-plane-resident"], { cwd: ROOT, stdio: "inherit" });
  return join(ROOT, "target/debug/resident");
}

/** A running runner. */
export class Runner {
  /** What it and its commands wrote to stderr. */
  log = "";

  /**
   * Starts one; the end of the test file stops it.
   *
   * @param {import("./deployment.mjs").Deployment} deployment
   * @param {string} script what each turn runs, by `sh`
   * @param {object} [options]
   * @param {string} [options.name] the resident whose token it uses
   * @param {string[]} [options.arguments] more arguments of `resident run`
   * @param {Record<string, string>} [options.environment] more variables
   */
  static start(deployment, script, { name = "resident", arguments: more = [], environment = {} } = {}) {
    const options = ["--wait-ms", "5000", "--retry-after-ms", "50", ...more];
    const child = spawn(binary(), ["run", "--url", deployment.url, ...options, "--", "sh", "-euc", script], {
      cwd: deployment.folder,
      env: { PATH: process.env.PATH, A2A_RESIDENT_TOKEN: deployment.tokens[name], ...environment },
      stdio: ["ignore", "ignore", "pipe"],
    });
    const runner = new Runner(child);
    after(() => runner.stop());
    return runner;
  }

  constructor(child) {
    this.child = child;
    this.exited = untilExit(child);
    child.stderr.setEncoding("utf8").on("data", (text) => {
      this.log += text;
    });
  }

  /** Waits until its log has this. */
  logged(pattern) {
    return until(`the runner logs ${pattern}`, () => pattern.exec(this.log));
  }

  /** Kills it and nothing else, as a machine's failure would: no turn is ended, no command is told. */
  async kill() {
    this.child.kill("SIGKILL");
    await this.exited;
  }

  /** Asks it to stop, and insists: at the first signal it would wait for its turn to end, and for a lost server. */
  async stop() {
    const insisting = setInterval(() => this.child.kill("SIGTERM"), INSIST_MS);
    this.child.kill("SIGTERM");
    await within("the runner stops", this.exited).finally(() => clearInterval(insisting));
  }
}
