// Every process that a test file starts and every folder that it makes, so that none is left, however the file ends.

import { rmSync } from "node:fs";

/** @type {Set<import("node:child_process").ChildProcess>} */
const running = new Set();

/** @type {Set<string>} */
const folders = new Set();

/**
 * Keeps watch over a child: gives its exit, and kills it should this process end first.
 *
 * @param {import("node:child_process").ChildProcess} child
 * @returns {Promise<number | NodeJS.Signals>} the exit code, or the signal that ended it
 */
export function untilExit(child) {
  running.add(child);
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code, signal) => {
      running.delete(child);
      resolve(code ?? signal);
    });
  });
}

/** Sees to it that a folder does not outlive this process. */
export function keepUntilExit(folder) {
  folders.add(folder);
  return folder;
}

process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL");
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
});
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));
