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

test("a response in chunks goes beyond 1 MiB, and reads as the stream that brought it", async () => {
  const { id } = await alice.submit("a long report");
  const watcher = await alice.subscribe(id);
  const turn = await agent.resident().turn();
  const sent = [];
  for (let index = 0; index < 12; index += 1) {
    const text = `${index} ${"\u{1f980}x".repeat(60 * KIB)}`;
    sent.push({ text });
    const answer = await turn.tool("a2a_append_response", { text, append: index > 0, lastChunk: index === 11 });
    assert.equal(answer.status, 200, answer.text);
  }
  assert.equal((await turn.tool("a2a_complete_task")).json.state, "TASK_STATE_COMPLETED");
  assert.equal(await turn.end(), "settled");
  const task = await alice.task(id);
  assert.deepEqual(task.artifacts, [{ artifactId: "response", name: "response", parts: sent }]);
  const chunks = (await watcher.rest()).flatMap(({ artifactUpdate }) => artifactUpdate ?? []);
  assert.deepEqual(
    chunks.flatMap(({ artifact }) => artifact.parts),
    sent,
  );
  const listed = await alice.call("GET", "/tasks?includeArtifacts=true&pageSize=1");
  assert.deepEqual(listed.json.tasks[0].artifacts, task.artifacts);
  const lean = await alice.call("GET", "/tasks?pageSize=1");
  assert.equal(lean.json.tasks[0].artifacts, undefined);
});

test("what is given at once is bounded at 1 MiB, what comes in chunks at 8 MiB a task; the turn outlives both", async () => {
  const { id } = await alice.submit("too much");
  const turn = await agent.resident().turn();
  const append = (text, fields) => turn.tool("a2a_append_response", { text, append: true, ...fields });
  assertError(await append("x".repeat(KIB * KIB)), "PAYLOAD_TOO_LARGE");
  assertError(await turn.tool("a2a_complete_task", { response: "x".repeat(KIB * KIB) }), "PAYLOAD_TOO_LARGE");
  const chunk = "x".repeat(900 * KIB);
  for (let index = 0; index < 9; index += 1) assert.equal((await append(chunk)).status, 200);
  assertError(await append(chunk), "PAYLOAD_TOO_LARGE");
  assert.equal((await turn.heartbeat()).json.live, true);
  const [{ parts }] = (await alice.task(id)).artifacts;
  assert.deepEqual(
    parts.map(({ text }) => text.length),
    Array(9).fill(900 * KIB),
  );
  assert.match((await turn.tool("a2a_read_task")).json.text, /the rest is left out to keep this text short/);
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
