// A short run of what `make crash` does at length.

import assert from "node:assert/strict";
import { test } from "node:test";

import { crash } from "../crash/world.mjs";

test("under kills of the platform and the resident nothing is lost and nothing is done twice", async (t) => {
  const report = await crash({ seed: 4, kills: 4, say: (line) => t.diagnostic(line) });
  assert.ok(report.sends > 20 && report.events > 5 && report.streams > 0, JSON.stringify(report));
  for (const { name, wrong } of report.checks) assert.deepEqual(wrong, [], name);
});
