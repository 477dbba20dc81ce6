// wrangler accepts what each adapter is deployed with, and bundles it, without a network.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";

import { keepUntilExit } from "../support/processes.mjs";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

const run = promisify(execFile);

for (const [name, bindings] of [
  ["email", ["TASK_PLANE (a2a-task-plane)", "SEND_EMAIL"]],
  ["github", ["TASK_PLANE (a2a-task-plane)", "GITHUB_LOGIN"]],
]) {
  test(`wrangler would deploy the ${name} adapter with its bindings, in less than 64 KB gzipped`, async () => {
    const folder = keepUntilExit(await mkdtemp(join(tmpdir(), "a2a-deploy-")));
    const { stdout } = await run(
      join(ROOT, "node_modules/.bin/wrangler"),
      ["deploy", "--dry-run", "-c", join(ROOT, "adapters", name, "wrangler.toml"), "--outdir", folder],
      {
        cwd: folder,
        env: { PATH: process.env.PATH, HOME: folder, WRANGLER_SEND_METRICS: "false", WRANGLER_HIDE_BANNER: "true" },
      },
    );
    for (const binding of bindings) assert.ok(stdout.includes(`env.${binding}`), stdout);
    assert.match(stdout, /--dry-run: exiting now/);
    const { length } = gzipSync(await readFile(join(folder, "index.js")), { level: 9 });
    assert.ok(length < 64 * 1024, `${length} bytes`);
  });
}
