// Many watchers of one principal, on this Worker and on the floor: how soon each sees its first frame, what each costs in
// memory, whether the object leaves memory while all of them wait, and how long an update then takes to reach them all.

import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Connection } from "./connection.mjs";
import { startFloor, startWorker } from "./contestants.mjs";
import { figure } from "./report.mjs";
import * as requests from "./requests.mjs";
import { percentile } from "./statistics.mjs";
import { cpuMs, memoryKb } from "./usage.mjs";

const HOST = "127.0.0.1";

/** Connections that subscribe at the same time. */
const AT_ONCE = 50;

/** Files that a process has open besides, with room. */
const SPARE_FILES = 500;

/** How long the last watcher may have to wait for an update, in ms. */
const REACH_LIMIT_MS = 60_000;

/**
 * In front of this Worker: counts how often a principal's object was made. One that was evicted is made anew by the next
 * event, and only by that: a count that stands still while all watchers are pinged, and then rises, shows that the object
 * was out of memory and that no ping brought it back.
 */
const PROBE = `
import worker, { PrincipalObject as Principal, WakeQueueObject } from "./worker.mjs";

let made = 0;

export class PrincipalObject extends Principal {
  constructor(ctx, env) {
    super(ctx, env);
    made += 1;
  }
}

export { WakeQueueObject };

export default {
  fetch(request, env, ctx) {
    return new URL(request.url).pathname === "/made" ? Response.json(made) : worker.fetch(request, env, ctx);
  },
};
`;

/**
 * @param {string} state the folder for the objects' storage
 * @param {{ watchers: number, idleSeconds: number }} plan each watcher is a connection: `ulimit -n` must allow as many,
 *   and some, to this process and to workerd
 * @returns {Promise<import("./report.mjs").Figure[]>} with this Worker's value and the floor's
 */
export async function measureCrowd(state, plan) {
  await assertFiles(plan.watchers + SPARE_FILES);
  const worker = await crowd(await startWorker(path.join(state, "worker"), 1, { source: PROBE }), plan, made);
  const floor = await crowd(await startFloor(path.join(state, "floor"), 1), plan, async () => undefined);
  const of = (name, unit, better, value) => figure([worker, floor], name, unit, better, value);
  return [
    of("watchers of one task", "", "more", ({ open }) => open),
    of("first frame, p50", "ms", "less", ({ firstFrame }) => percentile(firstFrame, 0.5)),
    of("first frame, p99", "ms", "less", ({ firstFrame }) => percentile(firstFrame, 0.99)),
    of("memory of a watcher and its stream", "KB", "less", ({ eachKb }) => eachKb),
    of(`${plan.idleSeconds} s idle, CPU of a watcher`, "µs per s", "less", ({ idleCpuUs }) => idleCpuUs),
    of("times the object was made, before the update", "", "less", ({ made: [before] }) => before),
    of("times the object was made, after it", "", "less", ({ made: [, after] }) => after),
    of("watchers that the update reached", "", "more", ({ reached }) => reached.length),
    of("update to watcher, p50", "ms", "less", ({ reached }) => percentile(reached, 0.5)),
    of("update to all of them", "ms", "less", ({ open, reached }) =>
      reached.length < open ? NaN : Math.max(...reached),
    ),
  ];
}

/** workerd may open as many files as this process. A system without /proc says nothing. @param {number} needed */
async function assertFiles(needed) {
  const limits = await readFile("/proc/self/limits", "utf8").catch(() => "");
  const most = Number(/Max open files +(\d+)/.exec(limits)?.[1]);
  if (most < needed) throw new Error(`a process may open ${most} files; these watchers need ${needed} (ulimit -n)`);
}

async function crowd(contestant, { watchers, idleSeconds }, objects) {
  const { port, pid, tokens } = contestant;
  const [token] = tokens;
  const open = [];
  try {
    const caller = await Connection.open(HOST, port);
    const taskId = await newTask(caller, token);
    caller.close();
    const before = await memoryKb(pid);
    const firstFrame = await watch({ port, token, taskId, watchers, open });
    const eachKb = ((await memoryKb(pid)) - before) / open.length;
    const cpu = await cpuMs(pid);
    await pause(idleSeconds * 1000);
    const idleCpuUs = (((await cpuMs(pid)) - cpu) * 1000) / (open.length * idleSeconds);
    const count = [await objects(port)];
    const reached = await update({ port, token, taskId, open });
    count.push(await objects(port));
    return { open: open.length, firstFrame, eachKb, idleCpuUs, made: count, reached };
  } finally {
    for (const connection of open) connection?.close();
    await contestant.stop();
  }
}

/** Opens the watchers, and tells how long each waited for its first frame. */
async function watch({ port, token, taskId, watchers, open }) {
  const firstFrame = [];
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (open.length < watchers) {
        // Its place is taken before it is waited for.
        const place = open.push(undefined) - 1;
        open[place] = await Connection.open(HOST, port);
        const subscribed = performance.now();
        await open[place].openStream(requests.subscribe(token, taskId));
        firstFrame.push(performance.now() - subscribed);
      }
    }),
  );
  return firstFrame;
}

/** Cancels the task, and tells how long the frame took to each watcher that it reached. */
async function update({ port, token, taskId, open }) {
  const reached = [];
  const updated = performance.now();
  const frames = open.map(async (watcher) => {
    await watcher.nextEvent();
    reached.push(performance.now() - updated);
  });
  // A new connection: servers close one that was idle for so long.
  const updater = await Connection.open(HOST, port);
  await expectTask(updater, requests.cancel(token, taskId));
  updater.close();
  const limit = new AbortController();
  await Promise.race([
    Promise.allSettled(frames),
    pause(REACH_LIMIT_MS, undefined, { signal: limit.signal }).catch(() => {}),
  ]);
  limit.abort();
  return reached;
}

async function newTask(connection, token) {
  const { task } = JSON.parse(await expectTask(connection, requests.send(token, randomUUID())));
  return task.id;
}

async function expectTask(connection, request) {
  const { status, body } = await connection.exchange(request);
  if (status !== 200) throw new Error(`not accepted: ${status} ${body}`);
  return body;
}

async function made(port) {
  const response = await fetch(`http://${HOST}:${port}/made`);
  return response.json();
}
