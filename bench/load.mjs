// The load generator: a process of its own, so that what it costs is known and does not hide in the figures. It takes
// one job at a time from its parent and answers with what it measured.

import { randomUUID } from "node:crypto";
import { Connection } from "./connection.mjs";
import * as requests from "./requests.mjs";

const HOST = "127.0.0.1";

/** Tasks that are read in turn: many more than an object keeps answers of. */
const TASKS = 64;

/** Streams that watch one task. */
const WATCHERS = 100;

/**
 * @typedef {object} Job
 * @property {keyof typeof jobs} kind
 * @property {number} port
 * @property {string[]} tokens principals that the job may use
 * @property {string[]} [residents] tokens of their residents
 * @property {number} count operations; fewer where `limitMs` ends the job
 * @property {number} limitMs
 * @property {number} connections
 */

/**
 * @typedef {object} Measured
 * @property {number} operations
 * @property {number} elapsedMs
 * @property {number} generatorCpuMs
 * @property {Record<string, number[]>} samplesMs
 */

const jobs = {
  /** Sends of new messages. The tokens share them equally, one after the other: one principal at a time is busy. */
  async send({ tokens, count, ...job }) {
    const each = Math.ceil(count / tokens.length);
    return repeat({ ...job, count }, async (connection, index) => {
      const answer = await connection.exchange(requests.send(tokens[Math.floor(index / each)], randomUUID()));
      expectTask(answer);
    });
  },

  /** Reads of one task, again and again, as a client polls. */
  async get(job) {
    return read(job, 1);
  },

  /** Reads of many tasks in turn. */
  async getMany(job) {
    return read(job, TASKS);
  },

  /** Pages of ten tasks. */
  async list({ tokens: [token], port, ...job }) {
    const filler = await Connection.open(HOST, port);
    for (let task = 0; task < 20; task += 1) await cancelTask(filler, token, await newTask(filler, token));
    filler.close();
    const request = requests.list(token);
    return repeat({ ...job, port }, async (connection) => {
      const { status, body } = await connection.exchange(request);
      if (status !== 200 || !body.includes('"totalSize"')) throw new Error(`not a list: ${status} ${body}`);
    });
  },

  /** Whole tasks: sent, worked on, completed, and read in the answer to the send. */
  async full({ tokens, residents, port, ...job }) {
    const stops = await Promise.all((residents ?? []).map((token) => work(port, token)));
    const measured = await repeat({ ...job, port }, async (connection, index) => {
      const answer = await connection.exchange(requests.complete(tokens[index % tokens.length], randomUUID()));
      if (!answer.body.includes("_COMPLETED")) throw new Error(`not completed: ${answer.status} ${answer.body}`);
    });
    for (const stop of stops) await stop();
    return measured;
  },

  /** An update of a task that many watch: how long until the last of them has it. */
  async watchers({ tokens: [token], port, count, limitMs }) {
    const caller = await Connection.open(HOST, port);
    const update = [];
    const started = performance.now();
    for (let index = 0; index < count && performance.now() - started < limitMs; index += 1) {
      const taskId = await newTask(caller, token);
      const watchers = await Promise.all(Array.from({ length: WATCHERS }, () => Connection.open(HOST, port)));
      await Promise.all(watchers.map((watcher) => watcher.openStream(requests.subscribe(token, taskId))));
      const canceled = performance.now();
      const frames = watchers.map((watcher) => watcher.nextEvent());
      await Promise.all([...frames, cancelTask(caller, token, taskId)]);
      update.push(performance.now() - canceled);
      for (const watcher of watchers) watcher.close();
    }
    caller.close();
    return { operations: update.length, elapsedMs: performance.now() - started, samplesMs: { update } };
  },

  /**
   * One task's stream after the other: subscribe → first frame, and update → frame. The update is a cancel, which any
   * A2A client can make.
   */
  async stream({ tokens: [token], port, count, limitMs }) {
    const caller = await Connection.open(HOST, port);
    const firstFrame = [];
    const update = [];
    const started = performance.now();
    for (let index = 0; index < count && performance.now() - started < limitMs; index += 1) {
      const taskId = await newTask(caller, token);
      const watcher = await Connection.open(HOST, port);
      const subscribed = performance.now();
      await watcher.openStream(requests.subscribe(token, taskId));
      const canceled = performance.now();
      firstFrame.push(canceled - subscribed);
      const frame = watcher.nextEvent().then(() => update.push(performance.now() - canceled));
      await Promise.all([frame, cancelTask(caller, token, taskId)]);
      watcher.close();
    }
    caller.close();
    return {
      operations: firstFrame.length,
      elapsedMs: performance.now() - started,
      samplesMs: { firstFrame, update },
    };
  },
};

async function read({ tokens: [token], port, ...job }, tasks) {
  const connection = await Connection.open(HOST, port);
  const taskIds = [];
  for (let task = 0; task < tasks; task += 1) taskIds.push(await newTask(connection, token));
  connection.close();
  const gets = taskIds.map((taskId) => requests.get(token, taskId));
  const measured = await repeat({ ...job, port }, async (connection, index) =>
    expectTask(await connection.exchange(gets[index % tasks])),
  );
  // A new connection: servers close one that was idle meanwhile.
  const closing = await Connection.open(HOST, port);
  for (const taskId of taskIds) await cancelTask(closing, token, taskId);
  closing.close();
  return measured;
}

/** A resident that takes turns one after the other: it reads each task and completes it. Gives the function that ends it. */
async function work(port, token) {
  const connection = await Connection.open(HOST, port);
  const session = randomUUID();
  let working = true;
  const call = async (path, body) => {
    const answer = await connection.exchange(requests.resident(token, path, body));
    if (answer.status !== 200 && answer.status !== 204) throw new Error(`${path}: ${answer.status} ${answer.body}`);
    return answer.status === 204 ? undefined : JSON.parse(answer.body);
  };
  const ended = (async () => {
    while (working) {
      const taken = await call("wakes:take", { session, waitMs: 200 });
      if (taken === undefined) continue;
      const { turnId, taskId } = taken.turn;
      await call("tools/a2a_read_task", { turnId, taskId });
      await call("tools/a2a_complete_task", { turnId, taskId, response: "done" });
      await call(`turns/${turnId}:end`, { outcome: "ended" });
    }
  })();
  return async () => {
    working = false;
    await ended;
    connection.close();
  };
}

/** Runs an operation over and over on each of the connections, until `count` have begun or `limitMs` is over. */
async function repeat({ port, connections, count, limitMs }, operation) {
  const opened = await Promise.all(Array.from({ length: connections }, () => Connection.open(HOST, port)));
  const latency = [];
  let begun = 0;
  const started = performance.now();
  await Promise.all(
    opened.map(async (connection) => {
      for (;;) {
        const at = performance.now();
        if (begun >= count || at - started > limitMs) return;
        begun += 1;
        await operation(connection, begun - 1);
        latency.push(performance.now() - at);
      }
    }),
  );
  const elapsedMs = performance.now() - started;
  for (const connection of opened) connection.close();
  return { operations: latency.length, elapsedMs, samplesMs: { latency } };
}

async function newTask(connection, token) {
  const { body } = await connection.exchange(requests.wait(token, randomUUID()));
  return JSON.parse(body).task.id;
}

async function cancelTask(connection, token, taskId) {
  expectTask(await connection.exchange(requests.cancel(token, taskId)));
}

function expectTask({ status, body }) {
  if (status !== 200 || !body.includes('"history"')) throw new Error(`not a task: ${status} ${body}`);
}

process.on("message", async (/** @type {Job} */ job) => {
  try {
    const before = process.cpuUsage();
    const measured = await jobs[job.kind](job);
    const { user, system } = process.cpuUsage(before);
    process.send({ ...measured, generatorCpuMs: (user + system) / 1000 });
  } catch (error) {
    process.send({ error: error.stack });
  }
});
