// Many watchers of one principal: how soon each sees its first frame, how long an update takes to reach all of them, and
// what each costs in memory; then, after the object had time to leave memory, whether all are served.
//
//   node bench/crowd.mjs [--watchers N] [--idle-seconds N]
//
// The Worker must have been built. Each watcher is a connection: `ulimit -n` must allow twice as many, and some.

import { readFile, mkdtemp, rm } from "node:fs/promises";
import { existsSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { randomUUID } from "node:crypto";
import { parseArgs } from "node:util";
import { Connection } from "./connection.mjs";
import { startWorker } from "./contestants.mjs";
import * as requests from "./requests.mjs";
import { percentile } from "./statistics.mjs";

const HOST = "127.0.0.1";

/** Connections that subscribe at the same time. */
const AT_ONCE = 50;

const { values } = parseArgs({
  options: { watchers: { type: "string", default: "5000" }, "idle-seconds": { type: "string", default: "20" } },
});
const watchers = Number(values.watchers);
const idleMs = Number(values["idle-seconds"]) * 1000;
const state = await mkdtemp(path.join(existsSync("/dev/shm") ? "/dev/shm" : os.tmpdir(), "crowd-"));
const worker = await startWorker(state, 1);
try {
  const [token] = worker.tokens;
  const caller = await Connection.open(HOST, worker.port);
  const before = await residentKb(worker.pid);
  const taskId = await newTask(caller, token);
  const firstFrame = [];
  const open = [];
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (open.length < watchers) {
        const watcher = await Connection.open(HOST, worker.port);
        open.push(watcher);
        const subscribed = performance.now();
        await watcher.openStream(requests.subscribe(token, taskId));
        firstFrame.push(performance.now() - subscribed);
      }
    }),
  );
  const after = await residentKb(worker.pid);
  console.log(`${open.length} watchers of one task, ${AT_ONCE} subscribing at once`);
  console.log(`first frame: p50 ${ms(percentile(firstFrame, 0.5))}, p99 ${ms(percentile(firstFrame, 0.99))}`);
  console.log(
    `memory: ${((after - before) / open.length).toFixed(1)} KB a watcher, the Worker's side of its stream included`,
  );
  // workerd evicts an object that has been idle for ten seconds.
  await new Promise((resolve) => setTimeout(resolve, idleMs));
  const updated = performance.now();
  const frames = open.map((watcher) => watcher.nextEvent().then(() => performance.now() - updated));
  // A new connection: servers close one that was idle for so long.
  const updater = await Connection.open(HOST, worker.port);
  await updater.exchange(requests.cancel(token, taskId));
  const reached = await Promise.all(frames);
  console.log(
    `idle for ${idleMs / 1000} s, then an update: ${reached.length} reached, ` +
      `p50 ${ms(percentile(reached, 0.5))}, all within ${ms(Math.max(...reached))}`,
  );
  for (const connection of [caller, updater, ...open]) connection.close();
} finally {
  await worker.stop();
  await rm(state, { recursive: true, force: true });
}

async function newTask(connection, token) {
  const { body } = await connection.exchange(requests.send(token, randomUUID()));
  return JSON.parse(body).task.id;
}

/** Memory that a process holds, in KB; NaN where the system has no /proc. */
async function residentKb(pid) {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]);
}

function ms(value) {
  return `${value.toFixed(value < 10 ? 1 : 0)} ms`;
}
