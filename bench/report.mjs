// The figures of a run, and the table that shows them.

import os from "node:os";
import { median, percentile } from "./statistics.mjs";

/**
 * @typedef {object} Figure
 * @property {string} name
 * @property {string} unit
 * @property {"more" | "less"} better
 * @property {number[]} values one for each contestant
 * @property {number} [ratio] of the first to the second; for what is measured by rounds, the median of theirs
 */

/**
 * @param {Record<string, import("./rounds.mjs").Round[][]>} measured
 * @param {import("./contestants.mjs").Contestant[]} contestants
 * @returns {Figure[]}
 */
export function figuresOf(measured, contestants) {
  const figures = [];
  const ofRounds = (name, unit, better, rounds, value) => {
    const perRound = rounds.map((of) => of.map(value));
    if (perRound.flat().some((each) => each === undefined)) return;
    const ratio = median(perRound[0].map((mine, round) => mine / perRound[1][round]));
    figures.push({ name, unit, better, values: perRound.map(median), ratio });
  };
  const ofSamples = (name, rounds, key) => {
    const pooled = rounds.map((of) => of.flatMap(({ samplesMs }) => samplesMs[key]));
    for (const share of [0.5, 0.99]) {
      const values = pooled.map((samples) => percentile(samples, share));
      figures.push({
        name: `${name}, p${share * 100}`,
        unit: "ms",
        better: "less",
        values,
        ratio: values[0] / values[1],
      });
    }
  };
  for (const [operation, rounds] of Object.entries(measured)) {
    if (operation === "stream") {
      ofSamples("subscribe to first frame", rounds, "firstFrame");
      ofSamples("update to frame", rounds, "update");
      continue;
    }
    ofRounds(operation, "per s", "more", rounds, ({ perSecond }) => perSecond);
    ofRounds(`${operation}, server's CPU`, "µs", "less", rounds, ({ serverCpuUs }) => serverCpuUs);
    ofSamples(operation, rounds, "latency");
  }
  const sizes = contestants.map(({ gzippedBytes }) => gzippedBytes / 1024);
  figures.push({ name: "code, gzipped", unit: "KB", better: "less", values: sizes });
  return figures;
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

/** @param {Figure[]} figures @param {string[]} names */
export function table(figures, names) {
  const rows = [
    ["", ...names, "ratio"],
    ...figures.map(({ name, unit, values, ratio }) => [
      `${name} (${unit})`,
      ...values.map(rounded),
      ratio === undefined ? "" : `${ratio.toFixed(2)} ×`,
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

function rounded(value) {
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3);
}
