import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

import { DOCUMENT, TABLES, rendered } from "./document.mjs";

test("docs/conformance.md says what the table says (node tests/conformance/document.mjs writes it)", async () => {
  const text = await readFile(DOCUMENT, "utf8");
  for (const table of TABLES) assert.ok(text.includes(`<!-- ${table} -->`), table);
  assert.equal(text, rendered(text));
});
