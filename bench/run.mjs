// Measures this Worker: `make bench`. Its parts, each of which can be run alone:
//
//   rounds      beside a hand-written JavaScript Worker that stores the same and checks nothing, both on the same workerd, and
//               beside the servers of the official SDKs: sends that return at once, reads, lists, whole tasks, one stream's
//               latency, an update to many watchers, and the size of the code
//   wakes       how a wake reaches a resident that waits
//   following   what it costs to follow many remote tasks
//   apart       the CPU of whole tasks and of a resident's polls: one after the other, and one a second
//   start       the first answer, and the first send of a principal
//   growth      a principal with 1,000 tasks beside one with 100,000
//   principals  200 principals in turn, and what they notice of a busy one
//   crowd       thousands of watchers of one task, the memory of each, and whether their object leaves memory
//
//   node bench/run.mjs [--only PART,PART] [--results FILE] [--state FOLDER] [--rounds N] [--sends N] [--gets N] [--lists N]
//                      [--tasks N] [--streams N] [--watched N] [--wakes N] [--remote N] [--crowd N] [--idle-seconds N]
//
// Prints each part's table when it is done, and writes everything to bench/results.json, or where `--results` says; with
// `--only`, nowhere else. A part that fails is told and does not keep the others from running. The Worker must have been
// built.
//
// The objects' storage is kept in memory where the system offers that (/dev/shm): every answer still waits for its
// commit, but the figures are those of the code and not of this machine's disk. `--state` names another folder.

import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { startFloor, startJavaScriptSdk, startPythonSdk, startWorker } from "./contestants.mjs";
import { measureApart } from "./apart.mjs";
import { measureCrowd } from "./crowd.mjs";
import { measureFollowing } from "./following.mjs";
import { measureGrowth, SIZE_NAMES } from "./growth.mjs";
import { measurePrincipals } from "./principals.mjs";
import { figuresOf, generatorShare, machine, table } from "./report.mjs";
import { principalsOf, runRounds } from "./rounds.mjs";
import { measureStart } from "./start.mjs";
import { measureWakes } from "./wakes.mjs";

const RESULTS = path.join(import.meta.dirname, "results.json");

const MEMORY_FOLDER = "/dev/shm";

/** Above this load per CPU, others are at work, and the figures say less. */
const BUSY = 0.75;

const WORKER = "this Worker";
const FLOOR = "JavaScript floor";

const { values } = parseArgs({
  options: {
    only: { type: "string" },
    results: { type: "string" },
    rounds: { type: "string", default: "5" },
    sends: { type: "string", default: "1200" },
    gets: { type: "string", default: "3000" },
    streams: { type: "string", default: "80" },
    lists: { type: "string", default: "1000" },
    tasks: { type: "string", default: "300" },
    watched: { type: "string", default: "5" },
    wakes: { type: "string", default: "200" },
    remote: { type: "string", default: "200" },
    crowd: { type: "string", default: "5000" },
    "idle-seconds": { type: "string", default: "40" },
    state: { type: "string", default: existsSync(MEMORY_FOLDER) ? MEMORY_FOLDER : os.tmpdir() },
  },
});
const plan = {
  rounds: whole("rounds"),
  counts: {
    send: whole("sends"),
    get: whole("gets"),
    getMany: whole("gets"),
    list: whole("lists"),
    full: whole("tasks"),
    stream: whole("streams"),
    watchers: whole("watched"),
  },
};
const counts = { wakes: whole("wakes"), remote: whole("remote") };
const crowd = { watchers: whole("crowd"), idleSeconds: whole("idle-seconds") };

/** @type {Record<string, (state: string) => Promise<import("./report.mjs").Section & Record<string, unknown>>>} */
const PARTS = {
  rounds: measureRounds,
  wakes: async (state) => ({ names: [WORKER], figures: await measureWakes(state, counts.wakes) }),
  following: async (state) => ({ names: [WORKER], figures: await measureFollowing(state, counts.remote) }),
  apart: async (state) => ({ names: [WORKER, FLOOR], figures: await measureApart(state) }),
  start: async (state) => ({ names: [WORKER, FLOOR], figures: await measureStart(state) }),
  growth: async (state) => ({ names: SIZE_NAMES, figures: await measureGrowth(state) }),
  principals: async (state) => ({ names: [WORKER, FLOOR], figures: await measurePrincipals(state) }),
  crowd: async (state) => ({ names: [WORKER, FLOOR], figures: await measureCrowd(state, crowd) }),
};

const chosen = values.only?.split(",") ?? Object.keys(PARTS);
for (const part of chosen) {
  if (part in PARTS) continue;
  console.error(`--only takes parts, separated by commas: ${Object.keys(PARTS).join(", ")}`);
  process.exit(2);
}
const file = values.results ?? (values.only === undefined ? RESULTS : undefined);

const began = performance.now();
const date = new Date().toISOString();
const loadBefore = os.loadavg()[0];
if (loadBefore / os.cpus().length > BUSY) {
  console.log(`The machine is busy (load ${loadBefore.toFixed(1)}): trust the ratios, not the rates.`);
}

const parts = {};
const failed = [];
const state = await mkdtemp(path.join(values.state, "bench-"));
try {
  for (const part of chosen) await run(part);
} finally {
  await rm(state, { recursive: true, force: true });
}
const load = { before: loadBefore, after: os.loadavg()[0] };
if (file !== undefined) {
  const results = { date, machine: machine(), load, state: values.state, failed, parts };
  await writeFile(file, `${JSON.stringify(results, null, 2)}\n`);
}
const { cpus, cpuModel, memoryGb } = machine();
console.log(`${cpus} CPUs (${cpuModel}), ${memoryGb} GB, ${date.slice(0, 10)}; storage in ${values.state}`);
console.log(`load ${load.before.toFixed(1)} before, ${load.after.toFixed(1)} after`);
console.log(
  `${seconds(began)} s${file === undefined ? "" : `; written to ${path.relative("", file)}`}` +
    (failed.length === 0 ? "" : `; failed: ${failed.join(", ")}`),
);
process.exitCode = failed.length === 0 ? 0 : 1;

/** @param {string} part */
async function run(part) {
  console.log(`==> ${part}`);
  const started = performance.now();
  const folder = path.join(state, part);
  try {
    const measured = await PARTS[part](folder);
    parts[part] = { seconds: seconds(started), ...measured };
    console.log(`\n${table(measured)}\n\n${part}: ${seconds(started)} s\n`);
  } catch (error) {
    failed.push(part);
    console.error(`${part} failed: ${error.stack}`);
  } finally {
    // Its storage is memory.
    await rm(folder, { recursive: true, force: true });
  }
}

/** @param {string} folder */
async function measureRounds(folder) {
  const contestants = [];
  try {
    const principals = principalsOf(plan);
    contestants.push(await startWorker(path.join(folder, "worker"), principals));
    contestants.push(await startFloor(path.join(folder, "floor"), principals));
    contestants.push(await startJavaScriptSdk());
    contestants.push(await startPythonSdk(path.join(folder, "python")));
    const measured = await runRounds(contestants, plan, (line) => console.log(`==> ${line}`));
    const share = generatorShare(measured);
    console.log(
      `${plan.rounds} alternating rounds, ${principals} principals; ` +
        `the load generator took at most ${Math.round(share * 100)} % of a CPU`,
    );
    const codeBytes = await Promise.all(contestants.map(({ gzippedBytes }) => gzippedBytes?.()));
    const names = contestants.map(({ name }) => name);
    return { plan, generatorShare: share, names, figures: figuresOf(measured, codeBytes) };
  } finally {
    await Promise.all(contestants.map((contestant) => contestant.stop()));
  }
}

/** @param {number} since */
function seconds(since) {
  return Math.round((performance.now() - since) / 1000);
}

/** @param {keyof typeof values} option */
function whole(option) {
  const value = Number(values[option]);
  if (Number.isInteger(value) && value >= 1 && value <= 100_000) return value;
  console.error(`--${option} takes a whole number from 1 to 100000`);
  process.exit(2);
}
