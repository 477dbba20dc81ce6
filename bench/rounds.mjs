// Runs the operations in alternating rounds: whatever else the machine does meets all contestants alike.

import { fork } from "node:child_process";
import path from "node:path";
import { WORKERS } from "./contestants.mjs";
import { cpuMs } from "./usage.mjs";

/**
 * Sends that one principal makes in one run. Its queue keeps 128 wakes; nobody takes them here, and what overflows
 * takes another way than what is measured.
 */
export const SENDS_EACH = 120;

/** The longest a job may take, in ms. */
const LIMIT_MS = 5_000;

/** Connections that send and get use at once. */
const CONNECTIONS = 8;

/**
 * @typedef {object} Plan
 * @property {number} rounds
 * @property {Record<"send" | "get" | "getMany" | "list" | "full" | "stream" | "watchers", number>} counts operations in a round
 */

/**
 * @typedef {object} Round
 * @property {number} operations
 * @property {number} perSecond
 * @property {number | undefined} serverCpuUs CPU time of the server for one operation, in µs
 * @property {number} generatorShare of one CPU that the load generator took
 * @property {Record<string, number[]>} samplesMs
 */

/**
 * How many principals a plan needs. The first serves reads and streams and, with the others that have a resident, whole
 * tasks; the rest sends, whose wakes no resident has to work off before a whole task.
 * @param {Plan} plan
 */
export function principalsOf({ rounds, counts }) {
  return WORKERS + (rounds + 1) * principalsPerRound(counts);
}

/** @param {Plan["counts"]} counts */
function principalsPerRound(counts) {
  return Math.ceil(counts.send / SENDS_EACH);
}

/**
 * @param {import("./contestants.mjs").Contestant[]} contestants
 * @param {Plan} plan
 * @param {(line: string) => void} say
 * @returns {Promise<Record<string, Round[][]>>} by operation and contestant
 */
export async function runRounds(contestants, plan, say) {
  const generator = startGenerator();
  const run = async (contestant, kind, round) => {
    const { port, residents } = contestant;
    const job = { kind, port, residents, limitMs: LIMIT_MS, connections: CONNECTIONS };
    const tokens = tokensOf(contestant, kind, round, plan.counts);
    return measure(generator, contestant.pid, {
      ...job,
      tokens,
      count: plan.counts[kind],
    });
  };
  try {
    say("warm up");
    for (const contestant of contestants) {
      // One send makes each principal's objects.
      const { port, tokens } = contestant;
      const makeObjects = { kind: "send", port, tokens, count: tokens.length, connections: CONNECTIONS };
      await measure(generator, contestant.pid, { ...makeObjects, limitMs: 4 * LIMIT_MS });
      for (const kind of Object.keys(plan.counts)) {
        if (contestant.lacks?.includes(kind)) continue;
        say(`warm up ${contestant.name}: ${kind}`);
        await run(contestant, kind, 0);
      }
    }
    const measured = {};
    for (const kind of Object.keys(plan.counts)) {
      measured[kind] = contestants.map(() => []);
      for (let round = 1; round <= plan.rounds; round += 1) {
        say(`${kind}, round ${round} of ${plan.rounds}`);
        const order = contestants.map((_, index) => (index + round) % contestants.length);
        for (const index of order) {
          if (contestants[index].lacks?.includes(kind)) continue;
          measured[kind][index].push(await run(contestants[index], kind, round));
        }
      }
    }
    return measured;
  } finally {
    generator.stop();
  }
}

/**
 * Sends of a round go to principals of its own, whole tasks to those whose residents work, everything else to one. A server
 * that tells no principals apart has one token for all.
 */
function tokensOf({ tokens, residents }, kind, round, counts) {
  if (tokens.length === 1) return tokens;
  if (kind === "full") return tokens.slice(0, residents?.length ?? 1);
  if (kind !== "send") return tokens.slice(0, 1);
  const start = WORKERS + round * principalsPerRound(counts);
  return tokens.slice(start, start + principalsPerRound(counts));
}

/** The load generator's process; it runs one job at a time. */
function startGenerator() {
  const child = fork(path.join(import.meta.dirname, "load.mjs"));
  let settle = () => {};
  child.on("message", (answer) => settle(answer));
  child.on("exit", () => settle({ error: "the load generator exited" }));
  return {
    run: async (job) => {
      const answer = await new Promise((resolve) => {
        settle = resolve;
        child.send(job);
      });
      if (answer.error) throw new Error(`${job.kind} failed: ${answer.error}`);
      return answer;
    },
    stop: () => child.kill(),
  };
}

/** @returns {Promise<Round>} */
async function measure(generator, pid, job) {
  const cpuBefore = await cpuMs(pid);
  const measured = await generator.run(job);
  const cpuAfter = await cpuMs(pid);
  const { operations, elapsedMs, samplesMs, generatorCpuMs } = measured;
  return {
    operations,
    perSecond: (operations * 1000) / elapsedMs,
    serverCpuUs: cpuBefore === undefined ? undefined : ((cpuAfter - cpuBefore) * 1000) / operations,
    generatorShare: generatorCpuMs / elapsedMs,
    samplesMs,
  };
}
