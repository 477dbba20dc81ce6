import assert from "node:assert/strict";
import { test } from "node:test";

import { Deployment } from "../support/deployment.mjs";
import { collect, discover, payloadsOf, sending, stateName } from "../support/official-client.mjs";
import { Runner } from "../support/runner.mjs";

const agent = await Deployment.start({
  vars: {
    A2A_WORKFLOW_MANIFEST: JSON.stringify({
      workflows: [{ id: "review", outputs: [{ name: "report", type: "document" }] }],
    }),
    A2A_WORKFLOW: "review",
  },
});
Runner.start(agent, `resident output report '{"pages": 3}'; resident complete "reviewed"`);

test("a stream shows the task, its work, its output, its response and its completion, in order, and ends", async () => {
  const client = await discover(agent, agent.tokens.alice);
  const payloads = payloadsOf(await collect(client.sendMessageStream(sending("review this"))));
  assert.deepEqual(
    payloads.map(({ $case }) => $case),
    ["task", "statusUpdate", "artifactUpdate", "artifactUpdate", "statusUpdate"],
  );
  const [task, working, output, response, completed] = payloads.map(({ value }) => value);
  assert.equal(stateName(task.status.state), "TASK_STATE_SUBMITTED");
  assert.equal(stateName(working.status.state), "TASK_STATE_WORKING");
  assert.equal(output.artifact.name, "report");
  assert.deepEqual(output.artifact.parts[0].content.value, { pages: 3 });
  assert.equal(response.artifact.parts[0].content.value, "reviewed");
  assert.equal(stateName(completed.status.state), "TASK_STATE_COMPLETED");
  for (const update of [working, output, response, completed]) {
    assert.equal(update.taskId, task.id);
    assert.equal(update.contextId, task.contextId);
  }
});

test("a stream and a read afterwards agree", async () => {
  const client = await discover(agent, agent.tokens.alice);
  const payloads = payloadsOf(await collect(client.sendMessageStream(sending("again"))));
  const task = await client.getTask({ id: payloads[0].value.id });
  const artifacts = payloads.filter(({ $case }) => $case === "artifactUpdate").map(({ value }) => value.artifact);
  assert.deepEqual(task.artifacts, artifacts);
  assert.deepEqual(task.status, payloads.at(-1).value.status);
});
