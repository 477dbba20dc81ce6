// The Rust client against the Worker: every route of the trusted surface, by the crate's own integration tests.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";

import { built, startPlane } from "./world.mjs";

const binary = built(["--test", "against_a_plane"]);
const { agent, token, trusted } = await startPlane();

const environment = {
  TASK_PLANE_URL: agent.url,
  TASK_PLANE_TOKEN: token,
  TASK_PLANE_TRUSTED_TOKEN: trusted,
  TASK_PLANE_OPERATOR_TOKEN: agent.tokens.operator,
};

const run = promisify(execFile);
const { stdout: listed } = await run(binary, ["--ignored", "--list", "--format", "terse"]);
const names = listed
  .split("\n")
  .filter((line) => line.endsWith(": test"))
  .map((line) => line.slice(0, -": test".length));

test("the crate has tests for a task plane", () => assert.ok(names.length > 10, listed));

for (const name of names) {
  test(name.replaceAll("_", " "), async () => {
    const { stdout } = await run(binary, ["--ignored", "--exact", name], { env: environment });
    assert.match(stdout, /1 passed/);
  });
}
