// The figures of a run, and the table that shows them.

import os from "node:os";
import { median, percentile } from "./statistics.mjs";

/**
 * @typedef {object} Figure
 * @property {string} name
 * @property {string} unit
 * @property {"more" | "less"} better
 * @property {(number | undefined)[]} values one for each contestant that offers it
 * @property {(number | undefined)[]} ratios of the first contestant to each; for what is measured by rounds, the median of
 *   theirs. Empty where they say nothing
 */

/**
 * Figures under the names of those that they are of.
 * @typedef {{ names: string[], figures: Figure[] }} Section
 */

/** Operations under other names than their keys. */
const NAMES = { get: "get, one task again and again", getMany: "get, many tasks in turn" };

/**
 * @param {Record<string, import("./rounds.mjs").Round[][]>} measured
 * @param {(number | undefined)[]} codeBytes of each contestant, gzipped
 * @returns {Figure[]}
 */
export function figuresOf(measured, codeBytes) {
  const figures = [];
  const add = (name, unit, better, values, ratios) =>
    figures.push({ name, unit, better, values, ratios: ratios.map((ratio) => finite(ratio)) });
  const ofRounds = (name, unit, better, rounds, value) => {
    const perRound = rounds.map((of) => of.map(value));
    if (perRound.flat().some((each) => each === undefined)) return;
    const ratios = perRound.map((of) => median(of.map((theirs, round) => perRound[0][round] / theirs)));
    add(
      name,
      unit,
      better,
      perRound.map((of) => finite(median(of))),
      ratios,
    );
  };
  const ofSamples = (name, rounds, key) => {
    const pooled = rounds.map((of) => of.flatMap(({ samplesMs }) => samplesMs[key]));
    for (const share of [0.5, 0.99]) {
      const values = pooled.map((samples) => finite(percentile(samples, share)));
      add(
        `${name}, p${share * 100}`,
        "ms",
        "less",
        values,
        values.map((theirs) => values[0] / theirs),
      );
    }
  };
  for (const [operation, rounds] of Object.entries(measured)) {
    if (operation === "stream") {
      ofSamples("subscribe to first frame", rounds, "firstFrame");
      ofSamples("update to frame", rounds, "update");
      continue;
    }
    if (operation === "watchers") {
      ofSamples("update to 100 watchers", rounds, "update");
      continue;
    }
    const name = NAMES[operation] ?? operation;
    ofRounds(name, "per s", "more", rounds, ({ perSecond }) => perSecond);
    ofRounds(`${name}, server's CPU`, "µs", "less", rounds, ({ serverCpuUs }) => serverCpuUs);
    ofSamples(name, rounds, "latency");
  }
  const sizes = codeBytes.map((bytes) => (bytes === undefined ? undefined : bytes / 1024));
  add("code, gzipped", "KB", "less", sizes, []);
  return figures;
}

/**
 * One value for each that was measured, and their ratios.
 * @template T
 * @param {T[]} measured
 * @param {string} name
 * @param {string} unit
 * @param {"more" | "less"} better
 * @param {(of: T) => number | undefined} value
 * @returns {Figure}
 */
export function figure(measured, name, unit, better, value) {
  const values = measured.map((of) => finite(value(of)));
  return { name, unit, better, values, ratios: values.map((theirs) => finite(values[0] / theirs)) };
}

/** A number, or undefined where there was nothing to measure. */
function finite(value) {
  return Number.isFinite(value) ? value : undefined;
}

/** The largest share of one CPU that the load generator took in any round; near 1 it was what limited the rate. */
export function generatorShare(measured) {
  return Math.max(
    ...Object.values(measured)
      .flat(2)
      .map((round) => round.generatorShare),
  );
}

export function machine() {
  const cpus = os.cpus();
  return {
    cpus: cpus.length,
    cpuModel: cpus[0]?.model ?? "unknown",
    memoryGb: Math.round(os.totalmem() / 2 ** 30),
    system: `${os.type()} ${os.release()}`,
  };
}

/** @param {Section} section */
export function table({ figures, names }) {
  const rows = [
    ["", ...names.flatMap((name, index) => (index === 0 ? [name] : [name, "ratio"]))],
    ...figures.map(({ name, unit, values, ratios }) => [
      unit === "" ? name : `${name} (${unit})`,
      ...values.flatMap((value, index) => (index === 0 ? [rounded(value)] : [rounded(value), times(ratios[index])])),
    ]),
  ];
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => (column === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[column])))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

function times(ratio) {
  return ratio === undefined ? "" : `${ratio.toFixed(2)} ×`;
}

function rounded(value) {
  if (value === undefined) return "";
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3);
}
