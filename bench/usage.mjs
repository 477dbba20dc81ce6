// What a process takes of the machine, where the system has /proc.

import { readdir, readFile } from "node:fs/promises";

/** Clock ticks of /proc in a second, on every Linux that Node runs on. */
const TICKS = 100;

/** CPU time used so far, in ms; undefined where there is no /proc. @param {number} pid @returns {Promise<number | undefined>} */
export async function cpuMs(pid) {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
  return stat === undefined ? undefined : used(stat);
}

/** The same by thread; empty where there is no /proc. @param {number} pid @returns {Promise<Map<string, number>>} */
export async function threadsCpuMs(pid) {
  const folder = `/proc/${pid}/task`;
  const threads = await readdir(folder).catch(() => []);
  const times = threads.map(async (thread) => {
    // A thread may end meanwhile.
    const stat = await readFile(`${folder}/${thread}/stat`, "utf8").catch(() => undefined);
    return [thread, stat === undefined ? 0 : used(stat)];
  });
  return new Map(await Promise.all(times));
}

/** Memory held, in KB; NaN where there is no /proc. @param {number} pid */
export async function memoryKb(pid) {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]);
}

/** User and system time. @param {string} stat */
function used(stat) {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS;
}
