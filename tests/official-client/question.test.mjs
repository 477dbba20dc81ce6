import assert from "node:assert/strict";
import { test } from "node:test";

import { UnsupportedOperationError } from "@a2a-js/sdk/errors";

import { Deployment } from "../support/deployment.mjs";
import { discover, sending, stateName, textsOf } from "../support/official-client.mjs";
import { Runner } from "../support/runner.mjs";

const agent = await Deployment.start();
Runner.start(
  agent,
  `question=$(resident read --question)
   if [ -z "$question" ]; then resident ask "Which colour?"
   else resident complete "$question $(resident read --text)"
   fi`,
);

test("a question is answered under the same task id, and the task goes on to its completion", async () => {
  const client = await discover(agent, agent.tokens.alice);
  const asked = await client.sendMessage(sending("paint the door"));
  assert.equal(stateName(asked.status.state), "TASK_STATE_INPUT_REQUIRED");
  assert.equal(asked.status.message.parts[0].content.value, "Which colour?");

  const answer = sending("Green.");
  answer.message.taskId = asked.id;
  const done = await client.sendMessage(answer);
  assert.equal(done.id, asked.id);
  assert.equal(done.contextId, asked.contextId);
  assert.equal(stateName(done.status.state), "TASK_STATE_COMPLETED");
  assert.deepEqual(textsOf(done), ["Which colour? Green."]);
  assert.deepEqual(
    done.history.map(({ parts }) => parts[0].content.value),
    ["paint the door", "Which colour?", "Green."],
  );
});

test("a settled task takes no further message, and keeps none", async () => {
  const client = await discover(agent, agent.tokens.alice);
  const asked = await client.sendMessage(sending("paint the gate"));
  const answer = sending("Blue.");
  answer.message.taskId = asked.id;
  const done = await client.sendMessage(answer);

  const more = sending("and the fence");
  more.message.taskId = asked.id;
  await assert.rejects(client.sendMessage(more), UnsupportedOperationError);
  assert.deepEqual(await client.getTask({ id: asked.id }), done);
});
