// docs/conformance.md says what the table says. Its tables are made here:
//
//   node tests/conformance/document.mjs    writes them anew

import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

import { ROWS } from "./rows/index.mjs";

export const DOCUMENT = new URL("../../docs/conformance.md", import.meta.url);

const of = (kind) => ROWS.filter((row) => row.kind === kind);

const PARTS = {
  counts: () => [
    "| | rows |",
    "| --- | --- |",
    `| as the specification has it | ${of("applies").length} |`,
    `| otherwise, on purpose | ${of("diverges").length} |`,
    `| not about this server | ${of("excluded").length} |`,
  ],
  divergences: () => [
    "| § | the specification | here | why |",
    "| --- | --- | --- | --- |",
    ...of("diverges").map(
      ({ section, level, statement, does, because }) =>
        `| ${section} | ${level}: ${statement} | ${does} | ${because} |`,
    ),
  ],
  exclusions: () => {
    const reasons = Map.groupBy(of("excluded"), ({ because }) => because);
    return [
      "| why | § |",
      "| --- | --- |",
      ...[...reasons].map(([because, rows]) => {
        const sections = [...new Set(rows.map(({ section }) => section))];
        return `| ${because} | ${sections.join(", ")} |`;
      }),
    ];
  },
};

/** The document with its tables as the rows have them; what stands between the tables is kept. */
export function rendered(text) {
  return text.replaceAll(
    /(<!-- (\w+) -->\n)[^]*?(<!-- end -->)/g,
    (_, begin, part, end) => `${begin}${PARTS[part]().join("\n")}\n${end}`,
  );
}

/** The tables that a document must have. */
export const TABLES = Object.keys(PARTS);

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await writeFile(DOCUMENT, rendered(await readFile(DOCUMENT, "utf8")));
}
