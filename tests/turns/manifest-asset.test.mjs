// A workflow manifest that is one of the deployment's static assets, rather than the var's own text.

import assert from "node:assert/strict";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { assertError } from "../support/contract.mjs";
import { Deployment } from "../support/deployment.mjs";
import { keepUntilExit } from "../support/processes.mjs";

const PATH = "/workflow-composition.json";
const LOAD_FAILED = /"event":"a2a_workflow_manifest_load_failed"[^\n]*/g;

const manifest = (output) =>
  JSON.stringify({ workflows: [{ id: "review", outputs: [{ name: output, type: "document" }] }] });

/** A deployment whose manifest is an asset, and the folder of its assets. */
async function deploy(content, vars = {}) {
  const assets = keepUntilExit(await mkdtemp(join(tmpdir(), "a2a-assets-")));
  if (content !== undefined) await writeFile(join(assets, PATH), content);
  const agent = await Deployment.start({ assets, vars: { A2A_WORKFLOW_MANIFEST: PATH, ...vars } });
  return { agent, assets };
}

async function turnOf(agent) {
  await agent.as("alice").submit("work");
  const turn = await agent.resident().turn();
  return { turn, record: (output) => turn.tool("a2a_record_output", { output, value: { pages: 1 } }) };
}

const failures = (agent) => agent.log.match(LOAD_FAILED) ?? [];

test("the outputs are those that the asset declares, as it was when it was first read", async () => {
  const { agent, assets } = await deploy(manifest("report"));
  const { turn, record } = await turnOf(agent);
  assert.equal((await record("report")).status, 200);
  assertError(await record("secret"), "OUTPUT_NOT_DECLARED", "output");
  await writeFile(join(assets, PATH), manifest("secret"));
  assertError(await record("secret"), "OUTPUT_NOT_DECLARED", "output");
  const outputs = [{ output: "report", value: { pages: 2 } }];
  assert.equal(await turn.complete("done", { outputs }), "TASK_STATE_COMPLETED");
  assert.deepEqual(failures(agent), []);
});

test("A2A_WORKFLOW selects among the asset's workflows", async () => {
  const workflows = ["review", "release"].map((id) => ({ id, outputs: [{ name: `${id}.report`, type: "document" }] }));
  const { agent } = await deploy(JSON.stringify({ workflows }), { A2A_WORKFLOW: "release" });
  const { record } = await turnOf(agent);
  assert.equal((await record("release.report")).status, 200);
  assertError(await record("review.report"), "OUTPUT_NOT_DECLARED", "output");
});

test("an asset that is no manifest is logged once, and no output is declared", async () => {
  for (const content of [
    "{",
    '{"workflows":[{"id":"w","outputs":[{"name":"Bad","type":"t"}]}]}',
    " ".repeat(1 << 18),
  ]) {
    const { agent } = await deploy(content);
    const { turn, record } = await turnOf(agent);
    for (const _ of [1, 2]) assertError(await record("report"), "WORKFLOW_NOT_CONFIGURED", "output");
    assert.equal(failures(agent).length, 1);
    assert.equal(await turn.complete("done without it"), "TASK_STATE_COMPLETED");
  }
});

test("an asset that can't be read is logged, and read once it is there", async () => {
  const { agent, assets } = await deploy();
  const { record } = await turnOf(agent);
  assertError(await record("report"), "WORKFLOW_NOT_CONFIGURED", "output");
  assert.match(failures(agent)[0], /status 404/);
  await writeFile(join(assets, PATH), manifest("report"));
  assert.equal((await record("report")).status, 200);
});

test("an asset over the manifest's bound is not read whole", async () => {
  const { agent } = await deploy(" ".repeat((1 << 18) + 1));
  const { record } = await turnOf(agent);
  assertError(await record("report"), "WORKFLOW_NOT_CONFIGURED", "output");
  assert.match(failures(agent)[0], /over 262144 bytes/);
});

test("without the binding the log says what is missing", async () => {
  const agent = await Deployment.start({ vars: { A2A_WORKFLOW_MANIFEST: PATH } });
  const { record } = await turnOf(agent);
  assertError(await record("report"), "WORKFLOW_NOT_CONFIGURED", "output");
  assert.match(failures(agent)[0], /no binding ASSETS/);
});
