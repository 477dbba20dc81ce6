// `wrangler dev`, as a developer runs it, each in a process of its own; they find each other by a registry of their own.
// Nothing of it asks the network for anything.

import { spawn } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after } from "node:test";
import { fileURLToPath } from "node:url";

import { untilExit } from "../support/processes.mjs";
import { until, within } from "../support/until.mjs";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** Starting takes some seconds, and more on a machine under load. */
const START_TIMEOUT_MS = 60_000;

/** One running `wrangler dev`. */
export class WranglerDev {
  /** What it printed. */
  log = "";

  /**
   * Starts one; the end of the test file stops it.
   *
   * @param {string} folder for its state and its registry; several that share it find each other
   * @param {string} config the text of its configuration
   * @param {string} name of the configuration's file
   */
  static async start(folder, config, name) {
    const home = join(folder, name);
    await mkdir(home, { recursive: true });
    const file = join(home, "wrangler.toml");
    await writeFile(file, config);
    const environment = {
      PATH: process.env.PATH,
      HOME: home,
      WRANGLER_REGISTRY_PATH: join(folder, "registry"),
      WRANGLER_LOG_PATH: join(home, "logs"),
      WRANGLER_SEND_METRICS: "false",
      WRANGLER_HIDE_BANNER: "true",
      CLOUDFLARE_CF_FETCH_ENABLED: "false",
      CI: "true",
    };
    const options = ["--ip", "127.0.0.1", "--port", "0", "--inspector-port", "0", "--persist-to", join(home, "state")];
    const child = spawn(join(ROOT, "node_modules/.bin/wrangler"), ["dev", "-c", file, ...options], {
      cwd: home,
      env: environment,
      // A group of its own, which ends as a whole: wrangler has children.
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
    const dev = new WranglerDev(child);
    after(() => dev.stop());
    const [, url] = await until(`${name} is ready`, () => /Ready on (http:\S+)/.exec(dev.log), START_TIMEOUT_MS).catch(
      (error) => Promise.reject(new Error(`${error.message}\n${dev.log}`)),
    );
    dev.url = url;
    return dev;
  }

  constructor(child) {
    this.child = child;
    this.exited = untilExit(child);
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text) => {
        this.log += text;
      });
    }
  }

  /** Waits until it has printed this. */
  logged(pattern) {
    return until(`wrangler prints ${pattern}`, () => pattern.exec(this.log));
  }

  async stop() {
    if (this.child.exitCode === null) process.kill(-this.child.pid, "SIGKILL");
    await within("wrangler stops", this.exited);
  }
}
