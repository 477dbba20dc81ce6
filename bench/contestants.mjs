// What is measured: this Worker and the floor, each on a workerd of its own, both of the same binary and settings.

import { randomBytes } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { serve } from "../scripts/serve.mjs";
import { ROOT } from "../scripts/settings.mjs";

/**
 * @typedef {object} Contestant
 * @property {string} name
 * @property {number} port
 * @property {number} pid of its workerd
 * @property {string[]} tokens one for each principal
 * @property {number} gzippedBytes its code
 * @property {() => Promise<void>} stop
 */

/** @param {string} state @param {number} principals @returns {Promise<Contestant>} */
export async function startWorker(state, principals) {
  const credentials = Array.from({ length: principals }, (_, index) => ({
    token: randomBytes(24).toString("base64url"),
    principal: `principal-${index}`,
    resident: `resident-${index}`,
  }));
  // The floor logs nothing, so the request log is off here: what it costs depends on where the lines go.
  const vars = { A2A_CREDENTIALS: JSON.stringify({ credentials }), A2A_REQUEST_LOG: "off" };
  const server = await serve({ state, vars });
  return {
    name: "this Worker",
    ...process(server),
    tokens: credentials.map(({ token }) => token),
    gzippedBytes: await gzippedBytes(["build/worker.mjs", "build/worker.wasm"]),
  };
}

/** @param {string} state @param {number} principals @returns {Promise<Contestant>} */
export async function startFloor(state, principals) {
  const server = await serve({
    state,
    entry: { path: path.join(ROOT, "bench/floor/worker.mjs") },
    vars: { PRINCIPAL_SCHEMA: await schema("principal"), WAKE_QUEUE_SCHEMA: await schema("wake_queue") },
  });
  return {
    name: "JavaScript floor",
    ...process(server),
    tokens: Array.from({ length: principals }, (_, index) => `principal-${index}`),
    gzippedBytes: await gzippedBytes(["bench/floor/worker.mjs"]),
  };
}

/** @param {import("../scripts/serve.mjs").Server} server */
function process({ port, pid, stop }) {
  return { port, pid, stop };
}

/** Everything that a class's migrations make, as one script. @param {string} objectClass */
async function schema(objectClass) {
  const folder = path.join(ROOT, "migrations", objectClass);
  const files = (await readdir(folder)).sort();
  const texts = await Promise.all(files.map((file) => readFile(path.join(folder, file), "utf8")));
  return texts.join("\n");
}

/** @param {string[]} files */
async function gzippedBytes(files) {
  const sizes = files.map(async (file) => gzipSync(await readFile(path.join(ROOT, file)), { level: 9 }).length);
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}
