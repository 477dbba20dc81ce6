// A deployment whose objects fail on demand.

import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

import { Deployment } from "./deployment.mjs";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** The built Worker behind fault-entry.mjs, as one module. */
async function bundle() {
  const { outputFiles } = await build({
    entryPoints: [join(ROOT, "tests/support/fault-entry.mjs")],
    // As scripts/build.sh bundles it: the same imports stay outside, seen from the same folder.
    outfile: join(ROOT, "build/worker.mjs"),
    absWorkingDir: ROOT,
    bundle: true,
    format: "esm",
    target: "es2024",
    external: ["cloudflare:*", "./worker.wasm"],
    logLevel: "warning",
    write: false,
  });
  return outputFiles[0].text;
}

/** Starts such a deployment; the end of the test file stops it. */
export async function startFaulty(options = {}) {
  const deployment = await Deployment.start({ ...options, entry: await bundle() });
  return new Faulty(deployment);
}

class Faulty {
  constructor(deployment) {
    this.deployment = deployment;
  }

  /**
   * The object's next command of this kind fails: before it is carried out, during that, or after.
   *
   * @param {"PRINCIPAL" | "WAKE_QUEUE"} binding
   * @param {string} name the object's
   * @param {string} command such as `Send`, or `Watch` for a watcher's or a doorbell's upgrade
   * @param {"before" | "during" | "after"} when `during` goes with `panic` alone
   * @param {"hang" | "forget" | "throw" | "panic" | "trap" | "reset" | "overload" | "refuse"} fault
   */
  async arm(binding, name, command, when, fault) {
    await this.#tell(binding, name, "arm", { command, when, fault });
  }

  /**
   * The platform refuses the object the next so many of these calls.
   *
   * @param {"PRINCIPAL" | "WAKE_QUEUE"} binding
   * @param {string} name the object's
   * @param {"statement" | "alarm" | "waiting"} what
   * @param {{ times?: number, matching?: string }} [options] of statements, those that have the text in them
   */
  async refuse(binding, name, what, { times = 1, matching = "" } = {}) {
    await this.#tell(binding, name, "refuse", { what, times, matching });
  }

  /** Gives the object a command that is none. */
  async garble(binding, name) {
    await this.#tell(binding, name, "garble");
  }

  /** Asks the object to watch what has no name. */
  async mislead(binding, name) {
    await this.#tell(binding, name, "mislead");
  }

  async #tell(binding, name, what, body) {
    const answer = await this.deployment.call("POST", `/faults/${binding}/${name}/${what}`, { body });
    if (answer.status !== 200) throw new Error(`not told: ${answer.status} ${answer.text}`);
  }

  /** Lets the deployment's clock jump ahead. Timers that are already set go on as they were. */
  async advanceClock(aheadMs) {
    await this.deployment.call("POST", `/faults/clock/${aheadMs}`);
  }

  /** How many watchers the platform holds for an object. */
  async watchers(binding, name) {
    return (await this.deployment.call("GET", `/faults/${binding}/${name}/watchers`)).json;
  }
}
