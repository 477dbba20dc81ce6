// How long a wake takes to reach a resident that waits, beside what one object call takes in the same run; and how fast
// a full queue is drained. This Worker alone.

import { randomBytes, randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { serve } from "../scripts/serve.mjs";
import { Connection } from "./connection.mjs";
import * as requests from "./requests.mjs";
import { percentile } from "./statistics.mjs";

const HOST = "127.0.0.1";

/** What a queue keeps. */
const FULL = 128;

/** How long a resident is given to begin to wait, in milliseconds. */
const SETTLE_MS = 10;

/**
 * @param {string} state the folder for the objects' storage
 * @param {number} count wakes of each kind
 * @returns {Promise<import("./report.mjs").Figure[]>} with one value each
 */
export async function measureWakes(state, count) {
  const [caller, resident] = [randomBytes(24).toString("base64url"), randomBytes(24).toString("base64url")];
  const credentials = [
    { token: caller, principal: "caller" },
    { token: resident, role: "resident" },
  ];
  const vars = { A2A_CREDENTIALS: JSON.stringify({ credentials }), A2A_REQUEST_LOG: "off" };
  const server = await serve({ state, vars });
  try {
    return await measure(new Wakes(server.port, caller, resident), count);
  } finally {
    await server.stop();
  }
}

async function measure(wakes, count) {
  await wakes.open();
  // Warm, and the session's startup is over.
  for (let index = 0; index < 20; index += 1) await wakes.longPoll();
  const [longPoll, stream, call] = [[], [], []];
  for (let index = 0; index < count; index += 1) {
    longPoll.push(await wakes.longPoll());
    call.push(await wakes.objectCall());
  }
  await wakes.watch();
  for (let index = 0; index < count; index += 1) stream.push(await wakes.notice());
  const { sendsPerSecond, turnsPerSecond } = await wakes.drain();
  wakes.close();

  const latency = (name, samples) =>
    [0.5, 0.99].map((share) => {
      const value = percentile(samples, share);
      const ratio = value / percentile(call, share);
      return { name: `${name}, p${share * 100}`, unit: "ms", better: "less", values: [value], ratio };
    });
  return [
    ...latency("one object call", call),
    ...latency("wake to turn, long poll", longPoll),
    ...latency("wake to notice, stream", stream),
    { name: "sends, one connection", unit: "per s", better: "more", values: [sendsPerSecond], ratio: 1 },
    {
      name: `turns of a queue of ${FULL}`,
      unit: "per s",
      better: "more",
      values: [turnsPerSecond],
      ratio: turnsPerSecond / sendsPerSecond,
    },
  ];
}

/** A caller, and a resident that waits. Times are in milliseconds, from the moment at which the caller sends. */
class Wakes {
  #port;
  #tokens;
  #session = randomUUID();

  constructor(port, caller, resident) {
    this.#port = port;
    this.#tokens = { caller, resident };
  }

  async open() {
    this.caller = await Connection.open(HOST, this.#port);
    this.resident = await Connection.open(HOST, this.#port);
  }

  close() {
    for (const connection of [this.caller, this.resident, this.watcher]) connection.close();
  }

  #ask(path, body) {
    return this.resident.exchange(
      requests.request("POST", `/resident/v1/${path}`, this.#tokens.resident, JSON.stringify(body)),
    );
  }

  async #send() {
    const answer = await this.caller.exchange(requests.send(this.#tokens.caller, randomUUID()));
    if (answer.status !== 200) throw new Error(`not accepted: ${answer.status} ${answer.body}`);
    return JSON.parse(answer.body).task;
  }

  #take() {
    return this.#ask("wakes:take", { session: this.#session, waitMs: 20_000 });
  }

  async #settle({ body }) {
    const { turnId, taskId } = JSON.parse(body).turn;
    await this.#ask("tools/a2a_complete_task", { turnId, taskId, response: "done" });
    const ended = await this.#ask(`turns/${turnId}:end`, { outcome: "ended" });
    if (ended.status !== 200) throw new Error(`not ended: ${ended.status} ${ended.body}`);
    return taskId;
  }

  /** A wake, to the turn in the answer of a resident that waits by long poll. */
  async longPoll() {
    const taken = this.#take();
    await pause(SETTLE_MS);
    const sent = performance.now();
    const task = this.#send();
    const answer = await taken;
    const elapsed = performance.now() - sent;
    await task;
    this.taskId = await this.#settle(answer);
    return elapsed;
  }

  /** A read of a task: a request that makes one object call. */
  async objectCall() {
    const asked = performance.now();
    await this.caller.exchange(requests.get(this.#tokens.caller, this.taskId));
    return performance.now() - asked;
  }

  /** Opens a stream of notices. */
  async watch() {
    this.watcher = await Connection.open(HOST, this.#port);
    const first = this.watcher.openStream(requests.request("GET", "/resident/v1/wakes", this.#tokens.resident));
    await pause(SETTLE_MS);
    await Promise.all([first, this.#send()]);
    await this.#finish();
  }

  /** A wake, to its notice on the stream: the queue's bell. */
  async notice() {
    const noticed = this.watcher.nextEvent();
    const sent = performance.now();
    const task = this.#send();
    await noticed;
    const elapsed = performance.now() - sent;
    await task;
    await this.#finish();
    return elapsed;
  }

  /** Settles what waits. The end of a turn rings, too. */
  async #finish() {
    const rings = this.watcher.nextEvent();
    await this.#settle(await this.#take());
    await rings;
    await pause(SETTLE_MS);
  }

  /** Fills the queue, and lets the resident settle it all. */
  async drain() {
    const filling = performance.now();
    for (let index = 0; index < FULL; index += 1) await this.#send();
    const draining = performance.now();
    for (let index = 0; index < FULL; index += 1) await this.#settle(await this.#take());
    const drained = performance.now();
    return {
      sendsPerSecond: (FULL * 1000) / (draining - filling),
      turnsPerSecond: (FULL * 1000) / (drained - draining),
    };
  }
}
