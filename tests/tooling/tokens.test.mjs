// `node scripts/tokens.mjs`, as a user runs it.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { tokenSha256 } from "../../scripts/tokens.mjs";

const SCRIPT = fileURLToPath(new URL("../../scripts/tokens.mjs", import.meta.url));

function tokens(...options) {
  return spawnSync(process.execPath, [SCRIPT, ...options], { encoding: "utf8" });
}

/** The token and the entry that a successful run prints. */
function made(...options) {
  const { status, stdout, stderr } = tokens(...options);
  assert.equal(status, 0, stderr);
  const [, token, , entry] = stdout.split("\n");
  return { token: token.trim(), entry: JSON.parse(entry) };
}

test("a token is printed with an entry that holds only its hash", () => {
  const { token, entry } = made("--principal", "alice", "--resident", "night-shift");
  assert.match(token, /^[\w-]{43}$/);
  assert.deepEqual(entry, { tokenSha256: tokenSha256(token), principal: "alice", resident: "night-shift" });
});

test("every role can be asked for, and only a resident needs no principal", () => {
  for (const role of ["client", "source", "trusted", "operator"]) {
    assert.equal(made("--role", role, "--principal", "alice").entry.role, role);
    assert.match(tokens("--role", role).stderr, /a principal is needed/);
  }
  assert.equal(made("--role", "resident").entry.role, "resident");
});

test("what the Worker would refuse is refused, and nothing is printed that could be used", () => {
  for (const [options, problem] of [
    [[], /a principal is needed/],
    [["--role", "admin", "--principal", "alice"], /--role is 'admin': it must be one of client, resident/],
    [["--principal", "-"], /--principal is '-'/],
    [["--principal", ""], /--principal is ''/],
    [["--principal", "al ice"], /--principal is 'al ice'/],
    [["--principal", "a".repeat(129)], /--principal is 'a+': it must be 1 to 128/],
    [["--role", "resident", "--resident", "a/b"], /--resident is 'a\/b'/],
    [["--principle", "alice"], /--principle/],
    [["alice"], /alice/],
  ]) {
    const { status, stdout, stderr } = tokens(...options);
    assert.equal(status, 2, options.join(" "));
    assert.equal(stdout, "");
    assert.match(stderr, problem);
    assert.doesNotMatch(stderr, /\n\s+at /);
  }
});
