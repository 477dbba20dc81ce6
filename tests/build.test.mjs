// What is deployed must be small: a Worker starts as fast as it loads.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

const LIMIT_BYTES = 460 * 1024;

test("the Worker is under 460 KB gzipped", async () => {
  let total = 0;
  for (const name of ["worker.mjs", "worker.wasm"]) {
    total += gzipSync(await readFile(new URL(`../build/${name}`, import.meta.url)), { level: 9 }).length;
  }
  assert.ok(total < LIMIT_BYTES, `${total} bytes`);
});
