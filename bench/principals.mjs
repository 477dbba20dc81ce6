// Many principals at once, on this Worker and on the floor: what 200 that send in turn take beside one that sends alone,
// and what the others notice of a busy one. The floor says what of it is the runtime's and the machine's: a workerd of
// one's own runs the code of all objects on one thread, so that here cores are used by as many workerds.

import { randomUUID } from "node:crypto";
import os from "node:os";
import path from "node:path";
import { Connection } from "./connection.mjs";
import { startFloor, startWorker } from "./contestants.mjs";
import * as requests from "./requests.mjs";
import { figure } from "./report.mjs";
import { SENDS_EACH } from "./rounds.mjs";
import { median, percentile } from "./statistics.mjs";
import { cpuMs, threadsCpuMs } from "./usage.mjs";

const HOST = "127.0.0.1";

const ROUNDS = 3;

/** Principals that send in turn. */
const MANY = 200;

/** Principals of which each in its time is the only one that sends: as many as a queue's bound demands. */
const ALONE = 15;

/** Sends of a principal in a round, beside those that make its objects and bring them back to memory. */
const SENDS_ALONE = SENDS_EACH - 2;

/** Sends of each principal in a round where they send in turn: then they are as many as of those alone. */
const SENDS_IN_TURN = 9;

/** Connections of a rate. */
const CONNECTIONS = 8;

/** Connections of the load beside which the others' sends are timed. */
const BUSY_CONNECTIONS = 4;

/** How long the others' sends are timed, in ms, each round and each load; and how many, so that no queue fills. */
const WATCHED_MS = 2_500;
const WATCHED_SENDS = 5 * MANY;

/** Workerds at once, at most: one process makes the load of all. */
const MOST_WORKERDS = 4;

/**
 * @param {string} state the folder for the objects' storage
 * @returns {Promise<import("./report.mjs").Figure[]>} with this Worker's value and the floor's
 */
export async function measurePrincipals(state) {
  const measured = [];
  const worlds = [];
  try {
    for (const start of [startWorker, startFloor]) {
      worlds.push(await World.open(start, path.join(state, start.name)));
      measured.push({
        one: [],
        many: [],
        cpus: [],
        thread: [],
        alone: [],
        busy: [],
        spread: [],
        busyRate: [],
        spreadRate: [],
      });
    }
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const index of round % 2 === 0 ? [0, 1] : [1, 0]) {
        const [world, of] = [worlds[index], measured[index]];
        of.one.push(await world.oneAtATime(round));
        const { sends, elapsedMs, cpus, busiestThread } = await world.manyInTurn();
        of.many.push((sends * 1000) / elapsedMs);
        of.cpus.push(cpus);
        of.thread.push(busiestThread);
        of.alone.push(...(await world.latencies()));
        const busy = await world.beside([world.busy], () => world.latencies());
        of.busy.push(...busy.result);
        of.busyRate.push(busy.perSecond);
        const spread = await world.beside(world.many, () => world.latencies());
        of.spread.push(...spread.result);
        of.spreadRate.push(spread.perSecond);
      }
    }
  } finally {
    await Promise.all(worlds.map((world) => world.close()));
  }
  const workerds = Math.min(os.availableParallelism(), MOST_WORKERDS);
  for (const [index, start] of [startWorker, startFloor].entries()) {
    measured[index].side = await sideBySide(start, path.join(state, `${start.name}-beside`), workerds);
  }
  return figures(measured, workerds);
}

/** @returns {import("./report.mjs").Figure[]} */
function figures(measured, workerds) {
  const of = (name, unit, better, value) => figure(measured, name, unit, better, value);
  const latencies = (name, key) =>
    [0.5, 0.99].map((share) => of(`${name}, p${share * 100}`, "ms", "less", (each) => percentile(each[key], share)));
  const p99 = (samples) => percentile(samples, 0.99);
  return [
    of("sends, one principal at a time", "per s", "more", ({ one }) => median(one)),
    of(`sends, ${MANY} principals in turn`, "per s", "more", ({ many }) => median(many)),
    of("in turn, to one at a time", "×", "more", ({ one, many }) => median(many) / median(one)),
    of("CPUs that workerd used", "", "less", ({ cpus }) => median(cpus)),
    of("its busiest thread, CPUs", "", "less", ({ thread }) => median(thread)),
    of(`sends in turn, ${workerds} workerds`, "per s", "more", ({ side }) => side.all),
    of(`${workerds} workerds, to one`, "×", "more", ({ side }) => side.all / side.one),
    ...latencies("another's send, nothing beside it", "alone"),
    ...latencies("beside one busy principal", "busy"),
    ...latencies("beside as much of all", "spread"),
    of("p99 beside one busy, to nothing", "×", "less", ({ busy, alone }) => p99(busy) / p99(alone)),
    of("p99 beside one busy, to as much of all", "×", "less", ({ busy, spread }) => p99(busy) / p99(spread)),
    of("load of one busy, tasks", "per s", "more", ({ busyRate }) => median(busyRate)),
    of("load of all, tasks", "per s", "more", ({ spreadRate }) => median(spreadRate)),
  ];
}

/**
 * What 200 principals in turn take where each workerd has its share of them, and where one has its share alone. A workerd
 * is what another machine is on Cloudflare: nothing of a principal is elsewhere.
 */
async function sideBySide(start, state, workerds) {
  const each = Math.ceil(MANY / workerds);
  const worlds = [];
  try {
    for (let index = 0; index < workerds; index += 1) {
      worlds.push(await World.open(start, path.join(state, String(index)), { alone: 0, many: each }));
    }
    // workerd's JavaScript is slow until it has been compiled.
    await Promise.all(worlds.map((world) => world.manyInTurn()));
    /** @type {Record<string, number[]>} */
    const rates = { one: [], all: [] };
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const [which, running] of [
        ["one", worlds.slice(0, 1)],
        ["all", worlds],
      ]) {
        const measured = await Promise.all(running.map((world) => world.manyInTurn()));
        const sends = measured.reduce((sum, each) => sum + each.sends, 0);
        rates[which].push((sends * 1000) / Math.max(...measured.map(({ elapsedMs }) => elapsedMs)));
      }
    }
    return { one: median(rates.one), all: median(rates.all) };
  } finally {
    await Promise.all(worlds.map((world) => world.close()));
  }
}

/** One contestant and its principals. */
class World {
  #contestant;
  #alone;
  /** Wakes that a principal has left, by token. */
  #left = new Map();

  static async open(start, state, { alone = ALONE * ROUNDS, many = MANY } = {}) {
    const world = new World(await start(state, 1 + alone + many), alone);
    // Every object is there before anything is timed.
    await world.#inTurn(world.#contestant.tokens, world.#contestant.tokens.length);
    return world;
  }

  constructor(contestant, alone) {
    this.#contestant = contestant;
    const [busy, ...others] = contestant.tokens;
    this.busy = busy;
    this.#alone = others.slice(0, alone);
    this.many = others.slice(alone);
  }

  close() {
    return this.#contestant.stop();
  }

  /** Sends per second where one principal sends, then the next. */
  async oneAtATime(round) {
    const tokens = this.#alone.slice(round * ALONE, (round + 1) * ALONE);
    await this.#inTurn(tokens, tokens.length);
    const began = performance.now();
    for (const token of tokens) await this.#inTurn([token], SENDS_ALONE);
    return (tokens.length * SENDS_ALONE * 1000) / (performance.now() - began);
  }

  /** All send in turn: how many sends, how long they took, and the CPUs that workerd used. */
  async manyInTurn() {
    const { pid } = this.#contestant;
    const sends = this.many.length * SENDS_IN_TURN;
    // Those that were idle for ten seconds have left memory.
    await this.#inTurn(this.many, this.many.length);
    const [cpu, threads, began] = [await cpuMs(pid), await threadsCpuMs(pid), performance.now()];
    await this.#inTurn(this.many, sends);
    const elapsedMs = performance.now() - began;
    const byThread = [...(await threadsCpuMs(pid))].map(([thread, ms]) => ms - (threads.get(thread) ?? 0));
    return {
      sends,
      elapsedMs,
      cpus: ((await cpuMs(pid)) - cpu) / elapsedMs,
      busiestThread: Math.max(...byThread) / elapsedMs,
    };
  }

  /** What a send takes, in ms, one after the other and each of another principal. */
  async latencies() {
    const [connection] = await this.#connect(1);
    const took = [];
    const until = performance.now() + WATCHED_MS;
    for (let index = 0; index < WATCHED_SENDS && performance.now() < until; index += 1) {
      const sent = performance.now();
      await this.#send(connection, this.many[index % this.many.length]);
      took.push(performance.now() - sent);
    }
    connection.close();
    return took;
  }

  /**
   * Runs `work` while the tokens in turn send tasks and cancel them, without a pause: a task that is canceled leaves no
   * wake, so that this can go on.
   */
  async beside(tokens, work) {
    let going = true;
    let tasks = 0;
    const connections = await this.#connect(BUSY_CONNECTIONS);
    const began = performance.now();
    const senders = connections.map(async (connection) => {
      while (going) {
        const token = tokens[(tasks += 1) % tokens.length];
        const id = await this.#send(connection, token);
        await accepted(connection, requests.cancel(token, id));
        this.#left.set(token, this.#left.get(token) - 1);
      }
      connection.close();
    });
    const result = await work();
    going = false;
    await Promise.all(senders);
    return { result, perSecond: (tasks * 1000) / (performance.now() - began) };
  }

  /** `count` sends, the tokens in turn. */
  async #inTurn(tokens, count) {
    const connections = await this.#connect(CONNECTIONS);
    let next = 0;
    await Promise.all(
      connections.map(async (connection) => {
        while (next < count) await this.#send(connection, tokens[next++ % tokens.length]);
        connection.close();
      }),
    );
  }

  /** A send that leaves a wake. What overflows a queue takes another way than what is measured. */
  async #send(connection, token) {
    const left = (this.#left.get(token) ?? 0) + 1;
    if (left > SENDS_EACH) throw new Error(`a queue is full: more than ${SENDS_EACH} wakes`);
    this.#left.set(token, left);
    return JSON.parse(await accepted(connection, requests.send(token, randomUUID()))).task.id;
  }

  #connect(count) {
    return Promise.all(Array.from({ length: count }, () => Connection.open(HOST, this.#contestant.port)));
  }
}

async function accepted(connection, request) {
  const { status, body } = await connection.exchange(request);
  if (status !== 200) throw new Error(`not accepted: ${status} ${body}`);
  return body;
}
