// Runs the table of ./rows against a server. A test's name is the section and the requirement.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { ROWS } from "./rows/index.mjs";
import { World } from "./world.mjs";

let world;
// Registered first, so that the resident stops before its deployment does.
after(() => world?.close());
world = await World.open();

for (const { kind, section, level, statement, check } of ROWS) {
  if (check) test(`§${section} ${level}: ${statement}${kind === "diverges" ? " (diverges)" : ""}`, () => check(world));
}

test("every row that is about this server is checked, and every other says why it is not", () => {
  for (const { kind, statement, check, does, because } of ROWS) {
    if (kind !== "excluded") assert.equal(typeof check, "function", statement);
    if (kind !== "applies") assert.ok(because, statement);
    if (kind === "diverges") assert.ok(does, statement);
  }
});

test("no requirement stands in the table twice", () => {
  const names = ROWS.map(({ section, statement }) => `${section} ${statement}`);
  assert.deepEqual(
    names.filter((name, index) => names.indexOf(name) !== index),
    [],
  );
});
