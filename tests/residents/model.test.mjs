// A model as the resident: the queue's object runs the turn itself against an OpenAI-compatible endpoint.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, test } from "node:test";

import { Deployment } from "../support/deployment.mjs";
import { until } from "../support/until.mjs";

const KEY = "key-of-the-model-0123456789";

/** Every request that the model got. @type {any[]} */
const requests = [];

const call = (name, args) => ({
  content: null,
  tool_calls: [{ id: "c1", type: "function", function: { name, arguments: JSON.stringify(args) } }],
});

/** What a model says about a task, after what it was told last. */
function decide({ messages }) {
  const task = messages[1].content;
  const last = messages.at(-1);
  if (task.includes("| speak")) return { content: "spoken" };
  if (task.includes("| fail")) return undefined;
  if (task.includes("| vanish")) return "gone";
  if (task.includes("| loop")) return call("a2a_report_progress", { note: "again" });
  if (task.includes("| wrong")) {
    return last.role === "tool" && last.content.startsWith("INVALID_REQUEST")
      ? call("a2a_complete_task", { response: "corrected" })
      : call("a2a_complete_task", {});
  }
  if (task.includes("| ask")) {
    return task.includes("| forty-two")
      ? call("a2a_complete_task", { response: "you said forty-two" })
      : call("a2a_require_input", { question: "which?" });
  }
  if (last.role === "tool") return call("a2a_complete_task", { response: `done after ${last.content}` });
  return call("a2a_record_output", { output: "report", value: { words: 2 } });
}

const model = createServer((request, response) => {
  let body = "";
  request.on("data", (chunk) => (body += chunk));
  request.on("end", () => {
    const asked = JSON.parse(body);
    requests.push({ headers: request.headers, asked });
    const message = decide(asked);
    if (message === "gone") return response.destroy();
    if (!message) return response.writeHead(500).end("overloaded");
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ choices: [{ message }], usage: { completion_tokens: 5 } }));
  });
});
await new Promise((resolve) => model.listen(0, "127.0.0.1", () => resolve(undefined)));
after(() => model.close());

const agent = await Deployment.start({
  vars: {
    RESIDENT_MODEL: `http://127.0.0.1:${/** @type {any} */ (model.address()).port}/v1/chat/completions`,
    RESIDENT_MODEL_NAME: "small-model",
    RESIDENT_MODEL_KEY: KEY,
    A2A_WORKFLOW_MANIFEST: '{"workflows":[{"id":"w","outputs":[{"name":"report","type":"document"}]}]}',
  },
});
const alice = agent.as("alice");

test("a model reads the task between markers, uses the tools and settles it", async () => {
  const answer = await alice.send("count these");
  const { task } = answer.json;
  assert.equal(task.status.state, "TASK_STATE_COMPLETED");
  assert.deepEqual(
    task.artifacts.map((artifact) => artifact.name),
    ["report", "response"],
  );
  assert.equal(task.artifacts[1].parts[0].text, "done after recorded as output.report");
  const { headers, asked } = requests[0];
  assert.equal(headers.authorization, `Bearer ${KEY}`);
  assert.equal(asked.model, "small-model");
  assert.match(asked.messages[1].content, /BEGIN UNTRUSTED CONTENT[^]*\| count these[^]*END UNTRUSTED CONTENT/);
  assert.ok(!agent.log.includes(KEY));
});

test("a model that only speaks has answered", async () => {
  const { task } = (await alice.send("speak")).json;
  assert.equal(task.status.state, "TASK_STATE_COMPLETED");
  assert.equal(task.artifacts[0].parts[0].text, "spoken");
});

test("a model may ask back, and is given the answer with a new turn", async () => {
  const { task } = (await alice.send("ask")).json;
  assert.equal(task.status.state, "TASK_STATE_INPUT_REQUIRED");
  const answer = { messageId: "answer-1", taskId: task.id, role: "ROLE_USER", parts: [{ text: "forty-two" }] };
  const settled = (await alice.send(answer)).json.task;
  assert.equal(settled.id, task.id);
  assert.equal(settled.status.state, "TASK_STATE_COMPLETED");
});

test("a tool that refuses tells the model why, and the turn goes on", async () => {
  const { task } = (await alice.send("wrong")).json;
  assert.equal(task.artifacts[0].parts[0].text, "corrected");
});

test("a failing model is a failed turn, tried again and then parked, and nothing else", async () => {
  const { id } = await alice.submit("fail");
  const evidence = () =>
    agent.rows("PrincipalObject", "SELECT kind FROM evidence WHERE task_id = ? ORDER BY evidence_id", id);
  await until("three failed turns", async () => (await evidence()).some(({ kind }) => kind === "UNHEALTHY"));
  const kinds = (await evidence()).map(({ kind }) => kind);
  assert.equal(kinds.filter((kind) => kind === "TURN_FAILED").length, 3);
  await agent.logged(/"model_turn_failed","reason":"the model answered with status 500"/);
  assert.equal(await alice.state(id), "TASK_STATE_WORKING");
  assert.equal((await alice.send("speak")).json.task.status.state, "TASK_STATE_COMPLETED");
  // It would be offered again to the next session.
  await alice.cancel(id);
});

test("a model that never settles is bounded in steps, and its turn has failed", async () => {
  requests.length = 0;
  const { id } = await alice.submit("loop");
  await until("the first turn fails", async () => {
    const failed = await agent.rows(
      "PrincipalObject",
      "SELECT detail FROM evidence WHERE task_id = ? AND kind = 'TURN_FAILED'",
      id,
    );
    return failed[0]?.detail === "the model took too many steps";
  });
  await alice.cancel(id);
});

test("a model that can't be reached is a failed turn, too", async () => {
  const { id } = await alice.submit("vanish");
  await agent.logged(/"model_unanswered"/);
  await agent.logged(/"model_turn_failed","reason":"the model did not answer"/);
  await alice.cancel(id);
  assert.equal((await alice.send("speak")).json.task.status.state, "TASK_STATE_COMPLETED");
});

test("a resident that takes the model's queue over gets the work, and the log says that the model gets none", async () => {
  const resident = agent.resident();
  await resident.take(0);
  const { id } = await alice.submit("speak to the resident");
  await agent.logged(/"model_take_failed"/);
  const turn = await resident.turn();
  assert.equal(turn.taskId, id);
  await turn.complete("by the resident");
  await turn.end();
});
