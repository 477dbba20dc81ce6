// What is measured: this Worker and the floor, each on a workerd of its own, both of the same binary and settings; and the
// servers of the official SDKs, which a user would pick instead.

import { randomBytes } from "node:crypto";
import { spawn } from "node:child_process";
import { mkdir, readdir, readFile } from "node:fs/promises";
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
 * @property {string[]} [residents] tokens of the residents of the first principals, where somebody else must do the work
 * @property {string[]} [lacks] operations that it does not offer
 * @property {() => Promise<number>} [gzippedBytes] of its code, where it is deployed
 * @property {() => Promise<void>} stop
 */

const PYTHON = path.join(ROOT, ".tools/python-sdk/bin/python");

/** Residents that work at the same time, each for a principal of its own. */
export const WORKERS = 4;

/**
 * @param {string} state
 * @param {number} principals
 * @param {import("../scripts/serve.mjs").ModuleSource} [entry] a module in front of the Worker
 * @returns {Promise<Contestant>}
 */
export async function startWorker(state, principals, entry) {
  const credentials = Array.from({ length: principals }, (_, index) => ({
    token: randomBytes(24).toString("base64url"),
    principal: `principal-${index}`,
    resident: `resident-${index}`,
  }));
  const residents = Array.from({ length: Math.min(WORKERS, principals) }, (_, index) => ({
    token: randomBytes(24).toString("base64url"),
    role: "resident",
    resident: `resident-${index}`,
  }));
  // The floor logs nothing, so the request log is off here: what it costs depends on where the lines go.
  const vars = {
    A2A_CREDENTIALS: JSON.stringify({ credentials: [...credentials, ...residents] }),
    A2A_REQUEST_LOG: "off",
  };
  const server = await serve({ state, vars, entry });
  return {
    name: "this Worker",
    ...process(server),
    tokens: credentials.map(({ token }) => token),
    residents: residents.map(({ token }) => token),
    gzippedBytes: () => gzippedBytes(["build/worker.mjs", "build/worker.wasm"]),
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
    lacks: ["list"],
    ...process(server),
    tokens: Array.from({ length: principals }, (_, index) => `principal-${index}`),
    residents: Array.from({ length: Math.min(WORKERS, principals) }, (_, index) => `resident-${index}`),
    gzippedBytes: () => gzippedBytes(["bench/floor/worker.mjs"]),
  };
}

/** The official JavaScript SDK's server on Node, with its store in memory. @returns {Promise<Contestant>} */
export function startJavaScriptSdk() {
  return startServer("JavaScript SDK", globalThis.process.execPath, [
    path.join(ROOT, "bench/javascript-sdk/server.mjs"),
  ]);
}

/** The official Python SDK's server, with its SQLite store. @param {string} state @returns {Promise<Contestant>} */
export async function startPythonSdk(state) {
  await mkdir(state, { recursive: true });
  const server = path.join(ROOT, "bench/python-sdk/server.py");
  return startServer("Python SDK", PYTHON, [server, path.join(state, "tasks.sqlite")]);
}

/** A program that prints its port. */
async function startServer(name, command, args) {
  // The JavaScript SDK warns of its own listeners, one for each of a task's watchers.
  const env = { ...globalThis.process.env, NODE_NO_WARNINGS: "1" };
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"], env });
  const exited = new Promise((resolve) => child.once("exit", resolve));
  const port = await new Promise((resolve, reject) => {
    child.once("error", reject);
    child.stdout.once("data", (text) => resolve(Number(text)));
    exited.then((code) => reject(new Error(`${name} did not start: ${code}`)));
  });
  const stop = async () => {
    child.kill("SIGKILL");
    await exited;
  };
  return { name, port, pid: child.pid, stop, tokens: ["anybody"] };
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
