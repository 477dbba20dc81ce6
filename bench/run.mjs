// Measures this Worker beside a hand-written JavaScript Worker that does the same inserts with no checks, both on the
// same workerd, and beside the servers of the official SDKs, in one run: sends that return at once, reads, lists, whole
// tasks, one stream's latency, an update to many watchers, and the size of the code. Then, this Worker alone, how a wake
// reaches a resident that waits, and what it costs to follow many remote tasks.
//
//   node bench/run.mjs [--rounds N] [--sends N] [--gets N] [--lists N] [--tasks N] [--streams N] [--watched N]
//                      [--wakes N] [--remote N] [--state FOLDER]
//
// Prints a table and writes bench/results.json. The Worker must have been built.
//
// The objects' storage is kept in memory where the system offers that (/dev/shm): every answer still waits for its
// commit, but the figures are those of the code and not of this machine's disk. `--state` names another folder.

import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { startFloor, startJavaScriptSdk, startPythonSdk, startWorker } from "./contestants.mjs";
import { figuresOf, generatorShare, machine, table } from "./report.mjs";
import { principalsOf, runRounds } from "./rounds.mjs";
import { measureFollowing } from "./following.mjs";
import { measureWakes } from "./wakes.mjs";

const RESULTS = path.join(import.meta.dirname, "results.json");

const MEMORY_FOLDER = "/dev/shm";

/** Above this load per CPU, others are at work, and the figures say less. */
const BUSY = 0.75;

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    sends: { type: "string", default: "1200" },
    gets: { type: "string", default: "3000" },
    streams: { type: "string", default: "80" },
    lists: { type: "string", default: "1000" },
    tasks: { type: "string", default: "300" },
    watched: { type: "string", default: "5" },
    wakes: { type: "string", default: "200" },
    remote: { type: "string", default: "200" },
    state: { type: "string", default: existsSync(MEMORY_FOLDER) ? MEMORY_FOLDER : os.tmpdir() },
  },
});
const plan = {
  rounds: whole("rounds"),
  counts: {
    send: whole("sends"),
    get: whole("gets"),
    list: whole("lists"),
    full: whole("tasks"),
    stream: whole("streams"),
    watchers: whole("watched"),
  },
};
const started = performance.now();
const date = new Date().toISOString();
const loadBefore = os.loadavg()[0];
if (loadBefore / os.cpus().length > BUSY) {
  console.log(`The machine is busy (load ${loadBefore.toFixed(1)}): trust the ratios, not the rates.`);
}

const state = await mkdtemp(path.join(values.state, "bench-"));
const contestants = [];
try {
  const principals = principalsOf(plan);
  contestants.push(await startWorker(path.join(state, "worker"), principals));
  contestants.push(await startFloor(path.join(state, "floor"), principals));
  contestants.push(await startJavaScriptSdk());
  contestants.push(await startPythonSdk(path.join(state, "python")));
  const measured = await runRounds(contestants, plan, (line) => console.log(`==> ${line}`));

  console.log("==> wakes");
  const wakes = await measureWakes(path.join(state, "wakes"), whole("wakes"));
  console.log("==> remote tasks");
  const following = await measureFollowing(path.join(state, "following"), whole("remote"));

  const figures = figuresOf(measured, contestants);
  const names = contestants.map(({ name }) => name);
  const load = { before: loadBefore, after: os.loadavg()[0] };
  const results = {
    date,
    machine: machine(),
    load,
    state: values.state,
    plan,
    names,
    figures,
    wakes,
    following,
    generatorShare: generatorShare(measured),
  };
  await writeFile(RESULTS, `${JSON.stringify(results, null, 2)}\n`);

  console.log(`\n${table(figures, names)}\n`);
  console.log(`${table(wakes, ["this Worker"])}\n`);
  console.log(`${table(following, ["this Worker"])}\n`);
  const { cpus, cpuModel, memoryGb } = results.machine;
  console.log(`${plan.rounds} alternating rounds on ${cpus} CPUs (${cpuModel}), ${memoryGb} GB, ${date.slice(0, 10)}`);
  console.log(
    `load ${load.before.toFixed(1)} before, ${load.after.toFixed(1)} after; ${principals} principals; storage in ${values.state};`,
  );
  console.log(`the load generator took at most ${Math.round(results.generatorShare * 100)} % of a CPU`);
  console.log(`${Math.round((performance.now() - started) / 1000)} s; written to ${path.relative("", RESULTS)}`);
} finally {
  await Promise.all(contestants.map((contestant) => contestant.stop()));
  await rm(state, { recursive: true, force: true });
}

/** @param {"rounds" | "sends" | "gets" | "lists" | "tasks" | "streams" | "watched" | "wakes" | "remote"} option */
function whole(option) {
  const value = Number(values[option]);
  if (Number.isInteger(value) && value >= 1 && value <= 100_000) return value;
  console.error(`--${option} takes a whole number from 1 to 100000`);
  process.exit(2);
}
