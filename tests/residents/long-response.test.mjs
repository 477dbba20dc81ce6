// A long response, chunk by chunk: from the runner's shell, and at its bounds.

import assert from "node:assert/strict";
import { test } from "node:test";

import { assertError } from "../support/contract.mjs";
import { Deployment } from "../support/deployment.mjs";
import { Runner } from "../support/runner.mjs";

const KIB = 1024;

const agent = await Deployment.start();
const alice = agent.as("alice");

test("a shell script reports progress, appends, and completes with what it appended", async () => {
  const { id } = await alice.submit("write a report");
  const watcher = await alice.subscribe(id);
  const runner = Runner.start(
    agent,
    `resident progress "counting the words"
     resident read --json >read.json
     resident append "a false start"
     printf 'one\\n' | resident append --restart
     resident append --last two
     resident complete --appended`,
    { arguments: ["--once"] },
  );
  const frames = await watcher.rest();
  const notes = frames.flatMap(({ statusUpdate }) => statusUpdate?.status.message?.parts ?? []);
  assert.deepEqual(notes, [{ text: "counting the words" }]);
  const chunks = frames.flatMap(({ artifactUpdate }) => artifactUpdate ?? []);
  assert.deepEqual(
    chunks.map(({ artifact, append = false, lastChunk = false }) => [artifact.parts[0].text, append, lastChunk]),
    [
      ["a false start", false, false],
      ["one\n", false, false],
      ["two", true, true],
    ],
  );
  const { artifacts } = await alice.task(id);
  assert.deepEqual(
    artifacts.map(({ parts }) => parts),
    [[{ text: "one\n" }, { text: "two" }]],
  );
  await runner.logged(/disposition=settled/);
});

test("an artifact is bounded at 1 MiB however it comes; what is refused leaves what was there, and the turn alive", async () => {
  const { id } = await alice.submit("too much");
  const turn = await agent.resident().turn();
  const append = (text, fields) => turn.tool("a2a_append_response", { text, append: true, ...fields });
  const chunk = "x".repeat(400 * KIB);
  for (const _ of [1, 2]) assert.equal((await append(chunk)).status, 200);
  assertError(await append(chunk), "PAYLOAD_TOO_LARGE");
  assertError(await append("x".repeat(KIB * KIB)), "PAYLOAD_TOO_LARGE");
  assert.equal((await turn.heartbeat()).json.live, true);
  const [{ parts }] = (await alice.task(id)).artifacts;
  assert.deepEqual(
    parts.map(({ text }) => text.length),
    [400 * KIB, 400 * KIB],
  );
  assert.equal((await append("the end", { lastChunk: true })).status, 200);
  assertError(await append("behind it"), "UNSUPPORTED_OPERATION");
  assert.equal((await turn.tool("a2a_complete_task")).json.state, "TASK_STATE_COMPLETED");
  assert.equal(await turn.end(), "settled");
});

test("a chunk has text or parts, and its flags are flags", async () => {
  const { id } = await alice.submit("wrong chunks");
  const turn = await agent.resident().turn();
  for (const [tool, fields, named] of [
    ["a2a_append_response", {}, "text"],
    ["a2a_append_response", { text: 1 }, "text"],
    ["a2a_append_response", { parts: [{}] }, "parts[0]"],
    ["a2a_append_response", { text: "x", append: "yes" }, "append"],
    ["a2a_append_response", { text: "x", lastChunk: 1 }, "lastChunk"],
    ["a2a_report_progress", {}, "note"],
    ["a2a_report_progress", { note: 1 }, "note"],
    ["a2a_complete_task", {}, "response"],
  ]) {
    assertError(await turn.tool(tool, fields), "INVALID_REQUEST", named);
  }
  assertError(await turn.tool("a2a_report_progress", { note: "x".repeat(4 * KIB + 1) }), "PAYLOAD_TOO_LARGE", "note");
  const task = await alice.task(id);
  assert.equal(task.artifacts, undefined);
  assert.equal(task.status.message, undefined);
  await turn.complete("done");
  assert.equal(await turn.end(), "settled");
});
