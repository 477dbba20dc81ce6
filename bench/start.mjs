// How soon it answers, on this Worker and on the floor: from the start of workerd to the first answer, and the first send of
// a principal that has no object yet, beside its second.

import { randomUUID } from "node:crypto";
import path from "node:path";
import { Connection } from "./connection.mjs";
import { startFloor, startWorker } from "./contestants.mjs";
import { figure } from "./report.mjs";
import * as requests from "./requests.mjs";
import { median, percentile } from "./statistics.mjs";

const PRINCIPALS = 100;

/** Starts, each with no storage yet. */
const STARTS = 5;

/**
 * @param {string} state the folder for the objects' storage
 * @returns {Promise<import("./report.mjs").Figure[]>} with this Worker's value and the floor's
 */
export async function measureStart(state) {
  const measured = [startWorker, startFloor].map(() => ({ listens: [], answers: [], first: [], second: [] }));
  for (let round = 0; round < STARTS; round += 1) {
    for (const [index, start] of [startWorker, startFloor].entries()) {
      await measure(start, path.join(state, `${start.name}-${round}`), measured[index]);
    }
  }
  const sends = (which, key) =>
    [0.5, 0.99].map((share) =>
      figure(measured, `${which} send of a principal, p${share * 100}`, "ms", "less", (of) =>
        percentile(of[key], share),
      ),
    );
  return [
    figure(measured, "start of workerd until it listens", "ms", "less", ({ listens }) => median(listens)),
    figure(measured, "start of workerd to the first task", "ms", "less", ({ answers }) => median(answers)),
    ...sends("first", "first"),
    ...sends("second", "second"),
  ];
}

async function measure(start, state, { listens, answers, first, second }) {
  const began = performance.now();
  const contestant = await start(state, PRINCIPALS);
  try {
    listens.push(performance.now() - began);
    const connection = await Connection.open("127.0.0.1", contestant.port);
    const send = async (token) => {
      const sent = performance.now();
      const { status, body } = await connection.exchange(requests.send(token, randomUUID()));
      if (status !== 200) throw new Error(`not accepted: ${status} ${body}`);
      return performance.now() - sent;
    };
    const [earliest, ...tokens] = contestant.tokens;
    await send(earliest);
    answers.push(performance.now() - began);
    for (const took of [first, second]) {
      for (const token of tokens) took.push(await send(token));
    }
    connection.close();
  } finally {
    await contestant.stop();
  }
}
