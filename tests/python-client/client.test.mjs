// The official Python client, which is another implementation than the JavaScript one, goes the whole round.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { Deployment } from "../support/deployment.mjs";
import { Runner } from "../support/runner.mjs";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const PYTHON = `${ROOT}.tools/python/bin/python`;

const agent = await Deployment.start();
Runner.start(
  agent,
  `text=$(resident read --text)
   question=$(resident read --question)
   case "$question:$text" in
     :ask*) resident ask "Which colour?" --schema '{"type":"object","properties":{"colour":{"type":"string"}}}' ;;
     :reject*) resident reject "No." ;;
     *) resident complete "$text" ;;
   esac`,
);

test("the official Python client goes the whole round and knows every error by its type", async () => {
  assert.ok(existsSync(PYTHON), "the official Python client is not installed: scripts/python.sh");
  const child = spawn(PYTHON, ["-I", "test_client.py"], {
    cwd: fileURLToPath(new URL(".", import.meta.url)),
    env: {
      PATH: process.env.PATH,
      A2A_URL: agent.url,
      A2A_ALICE_TOKEN: agent.tokens.alice,
      A2A_BOB_TOKEN: agent.tokens.bob,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let report = "";
  for (const output of [child.stdout, child.stderr]) {
    output.setEncoding("utf8").on("data", (text) => {
      report += text;
    });
  }
  const code = await new Promise((resolve) => child.on("close", resolve));
  assert.equal(code, 0, report);
  const [, ran] = /^Ran (\d+) tests/m.exec(report) ?? [];
  assert.ok(Number(ran) > 0, report);
  assert.doesNotMatch(report, /skipped/, report);
});
