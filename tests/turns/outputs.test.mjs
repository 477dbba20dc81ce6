// Declared outputs and typed questions: what a resident hands over beside its response.

import assert from "node:assert/strict";
import { test } from "node:test";

import { assertError } from "../support/contract.mjs";
import { Deployment, message } from "../support/deployment.mjs";

const agent = await Deployment.start({
  vars: {
    A2A_WORKFLOW_MANIFEST: JSON.stringify({
      workflows: [{ id: "review", outputs: [{ name: "report", type: "document" }] }],
    }),
    A2A_WORKFLOW: "review",
  },
});
const alice = agent.as("alice");
const resident = agent.resident();

const ELICITATION = "https://github.com/ai-outfitter/channels/a2a-extensions/elicitation/v1";

test("an output is an artifact of its name; recording it again replaces it", async () => {
  const { id } = await alice.submit("report twice");
  const turn = await resident.turn();
  const first = await turn.record("report", { pages: 1 });
  const second = await turn.record("report", { pages: 2 });
  assert.equal(second, first);
  await turn.complete("done");
  await turn.end();
  const { artifacts } = await alice.task(id);
  assert.equal(artifacts.length, 2);
  assert.equal(artifacts[0].artifactId, first);
  assert.equal(artifacts[0].name, "report");
  assert.deepEqual(artifacts[0].parts, [{ data: { pages: 2 } }]);
  assert.deepEqual(artifacts[0].metadata["outfitter-task/v1"], {
    output: "report",
    type: "document",
    value: { pages: 2 },
  });
});

test("an output that is not declared, or is no object, is refused and records nothing", async () => {
  const { id } = await alice.submit("record something else");
  const turn = await resident.turn();
  const record = (fields) => turn.tool("a2a_record_output", fields);
  assertError(await record({ output: "secret", value: {} }), "OUTPUT_NOT_DECLARED", "output");
  for (const value of [undefined, [], "x", 1]) {
    assertError(await record({ output: "report", value }), "INVALID_REQUEST", "value");
  }
  const withOutputs = (outputs) => turn.tool("a2a_complete_task", { response: "done", outputs });
  const good = { output: "report", value: {} };
  assertError(await withOutputs([good, { output: "secret", value: {} }]), "OUTPUT_NOT_DECLARED", "outputs[1].output");
  assertError(await withOutputs([good, { output: "report" }]), "INVALID_REQUEST", "outputs[1].value");
  const twice = [good, { output: "report", value: { pages: 2 } }];
  assertError(await withOutputs(twice), "INVALID_REQUEST", "outputs[1].output");
  const task = await alice.task(id);
  assert.equal(task.status.state, "TASK_STATE_WORKING");
  assert.equal(task.artifacts, undefined);
  await turn.complete("done", { outputs: [good] });
  await turn.end();
  assert.equal((await alice.task(id)).artifacts.length, 2);
});

test("an artifact over its cap is refused, records nothing, and the task goes on", async () => {
  const { id } = await alice.submit("too much");
  const turn = await resident.turn();
  // An output stands in its artifact twice: as the part, and with its type in the metadata.
  const value = { text: "x".repeat(600 * 1024) };
  assertError(await turn.tool("a2a_record_output", { output: "report", value }), "PAYLOAD_TOO_LARGE", "value");
  const outputs = [{ output: "report", value }];
  assertError(
    await turn.tool("a2a_complete_task", { response: "done", outputs }),
    "PAYLOAD_TOO_LARGE",
    "outputs[0].value",
  );
  const task = await alice.task(id);
  assert.equal(task.status.state, "TASK_STATE_WORKING");
  assert.equal(task.artifacts, undefined);
  await turn.complete("less");
  await turn.end();
});

test("a typed question is shown to a caller who activated it, and the plain one always", async () => {
  const requestedSchema = { type: "object", properties: { size: { type: "string", enum: ["s", "m"] } } };
  for (const [headers, parts] of [
    [{}, [{ text: "Which size?" }]],
    [
      { "a2a-extensions": ELICITATION },
      [{ text: "Which size?" }, { data: { message: "Which size?", requestedSchema } }],
    ],
  ]) {
    const { id } = await alice.submit("order a shirt", { headers });
    const turn = await resident.turn();
    await turn.ask("Which size?", { requestedSchema });
    await turn.end();
    const { status } = await alice.task(id);
    assert.deepEqual(
      status.message.parts.map(({ text, data }) => (data === undefined ? { text } : { data })),
      parts,
    );
    await alice.submit(message("m", { taskId: id }));
    const answered = await resident.turn();
    await answered.complete("ordered");
    await answered.end();
  }
});
