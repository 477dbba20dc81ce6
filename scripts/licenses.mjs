// Checks that everything the build and the tests use is under a license that allows it. Without a network.
//
//   cargo metadata --locked --format-version 1 | node scripts/licenses.mjs

import { readFile } from "node:fs/promises";
import path from "node:path";
import { text } from "node:stream/consumers";
import { ROOT } from "./settings.mjs";

/** What may be in the product: it asks for nothing but a notice. */
const PERMISSIVE = new Set([
  "0BSD",
  "Apache-2.0",
  "Apache-2.0 WITH LLVM-exception",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "CC0-1.0",
  "CDLA-Permissive-2.0",
  "ISC",
  "MIT",
  "MIT-0",
  "Unicode-3.0",
  "Unlicense",
  "Zlib",
]);

/** What only builds and tests: npm's packages are not deployed. */
const OF_TOOLS = new Set([...PERMISSIVE, "LGPL-3.0-or-later"]);

/** Whether an SPDX expression can be met by allowed licenses alone. Cargo's old form has `/` for OR. */
function isMet(expression, allowed) {
  const any = expression.replaceAll("/", " OR ").split(/\s+OR\s+(?![^(]*\))/);
  return any.some((each) =>
    each.split(/\s+AND\s+(?![^(]*\))/).every((term) => {
      const inner = /^\((.*)\)$/.exec(term.trim());
      return inner ? isMet(inner[1], allowed) : allowed.has(term.trim());
    }),
  );
}

const wrong = [];
const metadata = JSON.parse(await text(process.stdin));
for (const { name, version, license } of metadata.packages) {
  if (!isMet(license ?? "", PERMISSIVE)) wrong.push(`crate ${name} ${version}: ${license}`);
}
const lock = JSON.parse(await readFile(path.join(ROOT, "package-lock.json"), "utf8"));
const modules = Object.entries(lock.packages).filter(([place]) => place !== "");
for (const [place, { version, license }] of modules) {
  if (!isMet(license ?? "", OF_TOOLS)) wrong.push(`npm ${place} ${version}: ${license}`);
}
for (const each of wrong) console.error(each);
console.log(`    ${metadata.packages.length} crates, ${modules.length} npm packages`);
process.exit(wrong.length === 0 ? 0 : 1);
