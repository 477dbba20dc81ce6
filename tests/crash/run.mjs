// `make crash`: kills workerd and the resident at random moments under load, and looks whether anything was lost or done
// twice.
//
//   node tests/crash/run.mjs [--kills N] [--seed N]
//
// The seed that is printed replays the schedule. Exits with 1 where a check found something.

import { parseArgs } from "node:util";

import { crash } from "./world.mjs";

const { values } = parseArgs({
  options: {
    kills: { type: "string", default: "25" },
    seed: { type: "string", default: String(Date.now() % 2 ** 31) },
  },
});
const [kills, seed] = [Number(values.kills), Number(values.seed)];
if (!(Number.isInteger(kills) && kills > 0 && Number.isInteger(seed) && seed >= 0)) {
  console.error("--kills takes a whole number from 1 on, --seed one from 0 on");
  process.exit(2);
}
console.log(`==> seed ${seed}, ${kills} kills of workerd`);
const report = await crash({ seed, kills, say: (line) => console.log(`    ${line}`) });

console.log(
  `\n${report.kills} kills of workerd and ${report.residentKills} of the resident, over a release's storage; acknowledged: ` +
    `${report.sends} sends, ${report.events} events;\n${report.streams} streams followed to their end, ` +
    `${report.resubscribed} of them across a crash; ${report.cuts} requests cut half way\n`,
);
let failed = false;
for (const { name, looked, wrong } of report.checks) {
  console.log(`${wrong.length === 0 ? "ok    " : "FAILED"} ${name} (${looked})`);
  for (const each of wrong.slice(0, 10)) console.log(`         ${each}`);
  failed ||= wrong.length > 0;
}
if (failed) console.log(`\nreplay it: node tests/crash/run.mjs --kills ${kills} --seed ${seed}`);
process.exit(failed ? 1 : 0);
