// The load generator: a process of its own, so that what it costs is known and does not hide in the figures. It takes
// one job at a time from its parent and answers with what it measured.

import { randomUUID } from "node:crypto";
import { Connection } from "./connection.mjs";
import * as requests from "./requests.mjs";

const HOST = "127.0.0.1";

/**
 * @typedef {object} Job
 * @property {keyof typeof jobs} kind
 * @property {number} port
 * @property {string[]} tokens principals that the job may use
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

  /** Reads of one task. */
  async get({ tokens: [token], port, ...job }) {
    const connection = await Connection.open(HOST, port);
    const taskId = await newTask(connection, token);
    const request = requests.get(token, taskId);
    const measured = await repeat({ ...job, port }, async (connection) =>
      expectTask(await connection.exchange(request)),
    );
    await cancelTask(connection, token, taskId);
    connection.close();
    return measured;
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
  const { body } = await connection.exchange(requests.send(token, randomUUID()));
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
