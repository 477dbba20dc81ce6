// Many principals at once: 200 of them send in parallel, beside one that sends as much; and a busy one beside the others.
//
//   node bench/principals.mjs
//
// The Worker must have been built.

import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { randomUUID } from "node:crypto";
import { Connection } from "./connection.mjs";
import { startWorker } from "./contestants.mjs";
import * as requests from "./requests.mjs";
import { median, percentile } from "./statistics.mjs";

const PRINCIPALS = 200;
const CONNECTIONS = 8;
const SENDS = 2_000;

/** Connections with which the busy principal sends without a pause. */
const BUSY_CONNECTIONS = 4;

/** How long the others' sends are timed, alone and beside the busy one, in milliseconds. */
const WATCHED_MS = 5_000;

const state = await mkdtemp(path.join(existsSync("/dev/shm") ? "/dev/shm" : os.tmpdir(), "principals-"));
// One more, whom the others do not know.
const worker = await startWorker(state, PRINCIPALS + 1);
const [busy, ...others] = worker.tokens;

async function connect(count) {
  return Promise.all(Array.from({ length: count }, () => Connection.open("127.0.0.1", worker.port)));
}

async function send(connection, token) {
  const sent = performance.now();
  const { status, body } = await connection.exchange(requests.send(token, randomUUID()));
  if (status !== 200) throw new Error(`not accepted: ${status} ${body}`);
  return performance.now() - sent;
}

/** Sends per second, the tokens in turn. */
async function rate(tokens) {
  const connections = await connect(CONNECTIONS);
  let next = 0;
  const started = performance.now();
  await Promise.all(
    connections.map(async (connection) => {
      while (next < SENDS) await send(connection, tokens[next++ % tokens.length]);
    }),
  );
  for (const connection of connections) connection.close();
  return (SENDS * 1_000) / (performance.now() - started);
}

/** What the others' sends take, one after the other. */
async function latencies() {
  const [connection] = await connect(1);
  const took = [];
  const until = performance.now() + WATCHED_MS;
  for (let index = 0; performance.now() < until; index += 1) {
    took.push(await send(connection, others[index % others.length]));
  }
  connection.close();
  return took;
}

/** Runs `work` while somebody sends without a pause. */
async function beside(token, work) {
  let going = true;
  const connections = await connect(BUSY_CONNECTIONS);
  const senders = connections.map(async (connection) => {
    while (going) await send(connection, token);
    connection.close();
  });
  const result = await work();
  going = false;
  await Promise.all(senders);
  return result;
}

const shown = (took) => `p50 ${median(took).toFixed(1)} ms, p99 ${percentile(took, 0.99).toFixed(1)} ms`;

try {
  // Every object is there before anything is timed.
  await rate(worker.tokens);
  const [one, many] = [await rate([busy]), await rate(others)];
  console.log(
    `sends per second: ${Math.round(one)} of one principal, ${Math.round(many)} of ${PRINCIPALS} in turn, ` +
      `ratio ${(many / one).toFixed(2)}`,
  );
  const alone = await latencies();
  const disturbed = await beside(busy, latencies);
  // As much load, but by everybody: what the machine itself shares out.
  const shared = await beside(others[0], latencies);
  console.log(`a send of the others, alone: ${shown(alone)}`);
  console.log(`beside a busy principal: ${shown(disturbed)}`);
  console.log(`beside a busy one of their own: ${shown(shared)}`);
} finally {
  await worker.stop();
  await rm(state, { recursive: true, force: true });
}
