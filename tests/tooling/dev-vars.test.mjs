// The tokens that `make dev` makes.

import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { devVars } from "../../scripts/dev-vars.mjs";
import { tokenSha256 } from "../../scripts/tokens.mjs";

async function inFolder(run) {
  const folder = await mkdtemp(join(tmpdir(), "a2a-dev-vars-"));
  try {
    await run(join(folder, ".dev.vars"));
  } finally {
    await rm(folder, { recursive: true });
  }
}

test("local tokens are made once and stay the same", () =>
  inFolder(async (path) => {
    const first = await devVars(path);
    assert.deepEqual(await devVars(path), first);
    assert.match(first.clientToken, /^[\w-]{43}$/);
    assert.notEqual(first.clientToken, first.residentToken);
  }));

test("only their owner may read the local tokens", () =>
  inFolder(async (path) => {
    await devVars(path);
    assert.equal((await stat(path)).mode & 0o777, 0o600);
  }));

test("the Worker is given the local tokens' hashes and not the tokens", () =>
  inFolder(async (path) => {
    const { vars, clientToken, residentToken } = await devVars(path);
    assert.deepEqual(JSON.parse(vars.A2A_CREDENTIALS), {
      credentials: [
        { tokenSha256: tokenSha256(clientToken), principal: "developer" },
        { tokenSha256: tokenSha256(residentToken), role: "resident" },
      ],
    });
    const given = JSON.stringify(vars);
    assert.ok(!given.includes(clientToken) && !given.includes(residentToken));
  }));

test("what somebody wrote into .dev.vars is kept, and what it lacks is named", () =>
  inFolder(async (path) => {
    await writeFile(path, "A2A_AGENT_NAME=Mine\n");
    await assert.rejects(devVars(path), /A2A_DEV_CLIENT_TOKEN.*A2A_CREDENTIALS/);
    assert.equal(await readFile(path, "utf8"), "A2A_AGENT_NAME=Mine\n");
  }));
