// How soon it answers: from the start of workerd to the first answer, and the first send of a principal that has no object
// yet, beside a later one.
//
//   node bench/start.mjs
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

const PRINCIPALS = 100;

const state = await mkdtemp(path.join(existsSync("/dev/shm") ? "/dev/shm" : os.tmpdir(), "start-"));
const started = performance.now();
const worker = await startWorker(state, PRINCIPALS);
try {
  const connection = await Connection.open("127.0.0.1", worker.port);
  await connection.exchange(requests.request("GET", "/healthz", worker.tokens[0]));
  console.log(`from the start of workerd to the first answer: ${Math.round(performance.now() - started)} ms`);
  const send = async (token) => {
    const sent = performance.now();
    const { status, body } = await connection.exchange(requests.send(token, randomUUID()));
    if (status !== 200) throw new Error(`not accepted: ${status} ${body}`);
    return performance.now() - sent;
  };
  for (const title of ["first send of a principal", "second send of a principal"]) {
    const took = [];
    for (const token of worker.tokens) took.push(await send(token));
    console.log(`${title}: p50 ${median(took).toFixed(1)} ms, p99 ${percentile(took, 0.99).toFixed(1)} ms`);
  }
  connection.close();
} finally {
  await worker.stop();
  await rm(state, { recursive: true, force: true });
}
