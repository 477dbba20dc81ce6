// What whole tasks and a resident's polls take of the server's CPU, on this Worker and on the floor: one after the other, and
// one a second, where nothing is warm. docs/cost.md reckons with it.

import { randomUUID } from "node:crypto";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Connection } from "./connection.mjs";
import { startFloor, startWorker } from "./contestants.mjs";
import { figure } from "./report.mjs";
import * as requests from "./requests.mjs";
import { cpuMs } from "./usage.mjs";

const HOST = "127.0.0.1";

/** How many of each are measured: one after the other, and apart. */
const CLOSE = 200;
const APART = 12;

const APART_MS = 1_000;

/** A resident's wait that outlasts everything here, in ms. */
const LONG_MS = 10_000;

/**
 * @param {string} state the folder for the objects' storage
 * @returns {Promise<import("./report.mjs").Figure[]>} with this Worker's value and the floor's
 */
export async function measureApart(state) {
  const measured = [];
  for (const start of [startWorker, startFloor]) measured.push(await measure(start, path.join(state, start.name)));
  const of = (name, value) => figure(measured, name, "ms of CPU", "less", value);
  return [
    of("whole task, one after the other", ({ tasks }) => tasks),
    of("whole task, one a second", ({ tasksApart }) => tasksApart),
    of("poll without a wake, one after the other", ({ polls }) => polls),
    of("poll without a wake, a second each", ({ pollsApart }) => pollsApart),
  ];
}

async function measure(start, state) {
  const contestant = await start(state, 1);
  try {
    const work = await Work.open(contestant);
    const cpu = async (count, each) => {
      const before = await cpuMs(contestant.pid);
      for (let index = 0; index < count; index += 1) await each();
      return ((await cpuMs(contestant.pid)) - before) / count;
    };
    // The first ones make the objects, and compile.
    await cpu(CLOSE, () => work.task());
    const tasks = await cpu(CLOSE, () => work.task());
    const tasksApart = await cpu(APART, async () => {
      await work.task();
      await pause(APART_MS);
    });
    await cpu(CLOSE, () => work.poll(1));
    const polls = await cpu(CLOSE, () => work.poll(1));
    const pollsApart = await cpu(APART, () => work.poll(APART_MS));
    work.close();
    return { tasks, tasksApart, polls, pollsApart };
  } finally {
    await contestant.stop();
  }
}

/** A caller and the resident that works for it. */
class Work {
  #session = randomUUID();

  static async open({ port, tokens, residents }) {
    const work = new Work();
    [work.token, work.residentToken] = [tokens[0], residents[0]];
    work.caller = await Connection.open(HOST, port);
    work.resident = await Connection.open(HOST, port);
    return work;
  }

  close() {
    this.caller.close();
    this.resident.close();
  }

  /** A blocking send to a resident that waits, and all that it takes. */
  async task() {
    const taken = this.#ask("wakes:take", { session: this.#session, waitMs: LONG_MS });
    const answered = this.caller.exchange(requests.complete(this.token, randomUUID()));
    const { turnId, taskId } = JSON.parse((await taken).body).turn;
    await this.#ask("tools/a2a_read_task", { turnId, taskId });
    await this.#ask("tools/a2a_complete_task", { turnId, taskId, response: "done" });
    await this.#ask(`turns/${turnId}:end`, { outcome: "ended" });
    const { status, body } = await answered;
    if (!body.includes("_COMPLETED")) throw new Error(`not completed: ${status} ${body}`);
  }

  async poll(waitMs) {
    const { status, body } = await this.#ask("wakes:take", { session: this.#session, waitMs });
    if (status !== 204) throw new Error(`a wake came: ${body}`);
  }

  async #ask(call, content) {
    const answer = await this.resident.exchange(requests.resident(this.residentToken, call, content));
    if (answer.status !== 200 && answer.status !== 204) throw new Error(`${call}: ${answer.status} ${answer.body}`);
    return answer;
  }
}
