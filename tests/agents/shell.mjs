// The real `resident agent`, as a shell would call it.

import { execFile } from "node:child_process";

import { binary } from "../support/runner.mjs";

/**
 * Runs `resident agent` and gives what it printed: a JSON value a line.
 *
 * @param {string} url of the agent
 * @param {string[]} words the command and its arguments
 * @param {Record<string, string>} [environment]
 * @returns {Promise<{ code: number, values: any[], printed: string, errors: string }>}
 */
export function residentAgent(url, words, environment = {}) {
  const env = { PATH: process.env.PATH, A2A_AGENT_URL: url, ...environment };
  return new Promise((resolve) => {
    execFile(binary(), ["agent", ...words], { env }, (error, stdout, stderr) => {
      const values = stdout.split("\n").filter(Boolean).map(JSON.parse);
      resolve({ code: error?.code ?? 0, values, printed: stdout, errors: stderr });
    });
  });
}
