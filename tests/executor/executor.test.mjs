// Message or Task is the executor's decision: another Worker, bound as EXECUTOR, is asked before the resident is.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";

import { assertError } from "../support/contract.mjs";
import { Deployment, message } from "../support/deployment.mjs";
import { until } from "../support/until.mjs";

/** Decides by the message's text, and counts how often it was asked about each message. */
const EXECUTOR = `
const asked = new Map();
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const line = (value) => JSON.stringify(value) + "\\n";
const status = (state, text) =>
  line({ statusUpdate: { status: { state, ...(text && { message: { parts: [{ text }] } }) } } });
const chunk = (text, fields) =>
  line({ artifactUpdate: { artifact: { artifactId: "out", parts: [{ text }] }, ...fields } });

function lines(...steps) {
  const { readable, writable } = new TransformStream();
  (async () => {
    const writer = writable.getWriter();
    const encoder = new TextEncoder();
    for (const step of steps) {
      if (typeof step === "number") await wait(step);
      else if (step instanceof Error) return writer.abort(step);
      else await writer.write(encoder.encode(step));
    }
    await writer.close();
  })();
  return new Response(readable, { headers: { "content-type": "application/x-ndjson" } });
}

const begun = line({ task: { status: { state: "TASK_STATE_WORKING" } } });

export default {
  async fetch(request) {
    const asking = await request.json();
    const { messageId, parts } = asking.message;
    const times = (asked.get(messageId) ?? 0) + 1;
    asked.set(messageId, times);
    switch (parts[0].text) {
      case "greet":
        return Response.json({ message: { parts: [{ text: "hello, asked " + times }] } });
      case "echo":
        return Response.json({ message: { parts: [{ data: asking }] } });
      case "greet slowly":
        await wait(300);
        return Response.json({ message: { parts: [{ text: "hello, asked " + times }] } });
      case "go back":
        return lines(begun, 50, status("TASK_STATE_SUBMITTED"), 60_000);
      case "say more":
        return Response.json({ task: { status: { state: "TASK_STATE_COMPLETED",
          message: { parts: [{ text: "done" }], metadata: { trace: [1, "x"] } } } } });
      case "settle":
        return Response.json({ task: {
          status: { state: "TASK_STATE_COMPLETED" },
          artifacts: [{ artifactId: "a", parts: [{ text: "done" }] }],
        } });
      case "stream":
        return lines(begun, 200, chunk("a"), chunk("b", { append: true, lastChunk: true }), 50,
          status("TASK_STATE_COMPLETED"));
      case "hand over":
        return lines(begun, 100);
      case "break":
        return lines(begun, 100, "garbage\\n");
      case "ask":
        return lines(begun, status("TASK_STATE_INPUT_REQUIRED", "which?"));
      case "go on":
        return lines(begun, 60_000);
      case "fail slowly":
        await wait(300);
        return new Response("no", { status: 500 });
      case "garbage":
        return new Response("no JSON");
      case "refuse":
        return new Response("no", { status: 500 });
      default:
        return Response.json({ work: {} });
    }
  },
};
`;

const agent = await Deployment.start({ executor: EXECUTOR });
const alice = agent.as("alice");
const resident = agent.resident();

test("a simple interaction returns a direct Message, and a duplicate its prior direct result", async () => {
  const greeting = message("greet");
  const first = await alice.send(greeting);
  assert.equal(first.status, 200);
  assert.equal(first.json.task, undefined);
  const direct = first.json.message;
  assert.equal(direct.role, "ROLE_AGENT");
  assert.deepEqual(direct.parts, [{ text: "hello, asked 1" }]);
  assert.equal(typeof direct.contextId, "string");
  const again = await alice.send(greeting);
  assert.equal(again.text, first.text);
  const list = await alice.call("GET", "/tasks");
  assert.equal(list.json.totalSize, 0);
  const other = await alice.send({ ...greeting, parts: [{ text: "settle" }] });
  assertError(other, "DUPLICATE_MESSAGE_ID");
});

test("a stream of a direct Message is exactly one frame", async () => {
  const stream = await alice.sendStreaming("greet");
  const frames = await stream.rest();
  assert.equal(frames.length, 1);
  assert.equal(frames[0].message.parts[0].text, "hello, asked 1");
});

test("a duplicate while the executor decides waits for the same outcome, and it is asked once", async () => {
  const greeting = message("greet slowly");
  const answers = await Promise.all(Array.from({ length: 8 }, () => alice.send(greeting)));
  for (const answer of answers) assert.equal(answer.text, answers[0].text);
  assert.equal(answers[0].json.message.parts[0].text, "hello, asked 1");
});

test("another payload under a message id that is being decided conflicts at once, whatever is decided", async () => {
  const slow = message("greet slowly");
  const first = alice.send(slow);
  await until("the executor is asked", () =>
    alice.send({ ...slow, parts: [{ text: "refuse" }] }).then((other) => {
      assertError(other, "DUPLICATE_MESSAGE_ID");
      return true;
    }),
  );
  assert.equal((await first).json.message.parts[0].text, "hello, asked 1");
  const failing = message("fail slowly");
  const [failed, other] = await Promise.all([
    alice.send(failing),
    alice.send({ ...failing, parts: [{ text: "greet slowly" }] }),
  ]);
  const reasons = [failed, other].map(({ json }) => json.error?.details[0].reason);
  assert.ok(reasons.includes("DUPLICATE_MESSAGE_ID"), reasons.join());
});

test("what an executor says with a status keeps its metadata", async () => {
  const { task } = (await alice.send("say more")).json;
  assert.deepEqual(task.status.message.metadata, { trace: [1, "x"] });
  assert.deepEqual((await alice.task(task.id)).history.at(-1).metadata, { trace: [1, "x"] });
});

test("an executor that moves a task back to SUBMITTED fails it", async () => {
  const { id } = await alice.submit("go back");
  await until("the task fails", async () => (await alice.state(id)) === "TASK_STATE_FAILED");
});

test("the executor is told the principal, the message, and what the caller accepts", async () => {
  const answer = await alice.call("POST", "/message:send", {
    body: {
      message: message("echo", { metadata: { a: 1 } }),
      configuration: { acceptedOutputModes: ["text/plain"] },
    },
  });
  const { data } = answer.json.message.parts[0];
  assert.equal(data.principal, "alice");
  assert.deepEqual(data.message.metadata, { a: 1 });
  assert.deepEqual(data.acceptedOutputModes, ["text/plain"]);
  assert.equal(data.task, undefined);
});

test("a task that the executor settles at once is answered settled, in one frame", async () => {
  const answer = await alice.send("settle");
  assert.equal(answer.json.task.status.state, "TASK_STATE_COMPLETED");
  assert.equal(answer.json.task.artifacts[0].parts[0].text, "done");
  const frames = await (await alice.sendStreaming("settle")).rest();
  assert.equal(frames.length, 1);
});

test("what follows a task's first line goes to watchers, and the folded stream is what is stored", async () => {
  const frames = await (await alice.sendStreaming("stream")).rest();
  const parts = frames.flatMap((frame) => frame.artifactUpdate?.artifact.parts ?? []);
  assert.deepEqual(parts, [{ text: "a" }, { text: "b" }]);
  assert.equal(frames[0].task.status.state, "TASK_STATE_WORKING");
  assert.equal(frames.at(-1).statusUpdate.status.state, "TASK_STATE_COMPLETED");
  const task = await alice.task(frames[0].task.id);
  assert.deepEqual(task.artifacts[0].parts, parts);
});

test("a task that the executor leaves unsettled, and work that it leaves alone, go to the resident", async () => {
  const left = await alice.submit("hand over");
  const work = await alice.submit("something else");
  const seen = new Set();
  for (let count = 0; count < 2; count += 1) {
    const turn = await resident.turn();
    seen.add(turn.taskId);
    await turn.complete("done by the resident");
    await turn.end();
  }
  assert.deepEqual(seen, new Set([left.id, work.id]));
  assert.equal(await alice.state(left.id), "TASK_STATE_COMPLETED");
});

test("a task whose executor breaks off is FAILED", async () => {
  const { id } = await alice.submit("break");
  await until("the task fails", async () => (await alice.state(id)) === "TASK_STATE_FAILED");
  await agent.logged(/"executor_failed"/);
});

test("an executor that fails before it decides leaves no trace, and the same message may be sent again", async () => {
  for (const [text, reason, event] of [
    ["garbage", "INVALID_AGENT_RESPONSE", /"executor_invalid"/],
    ["refuse", "UNAVAILABLE", /"executor_unanswered"/],
  ]) {
    const sent = message(text);
    assertError(await alice.send(sent), reason);
    assertError(await alice.send(sent), reason);
    const claims = await agent.rows("PrincipalObject", "SELECT * FROM claims WHERE dedupe_key = ?", sent.messageId);
    assert.equal(claims.length, 0);
    await agent.logged(event);
  }
});

test("a question of the executor's is answered under its task's id", async () => {
  const asked = await alice.send("ask");
  const { id, status } = asked.json.task;
  assert.equal(status.state, "TASK_STATE_INPUT_REQUIRED");
  assert.equal(status.message.parts[0].text, "which?");
  const answered = await alice.send(message("settle", { taskId: id }));
  assert.equal(answered.json.task.id, id);
  assert.equal(answered.json.task.status.state, "TASK_STATE_COMPLETED");
  assertError(await alice.send(message("greet", { taskId: id })), "UNSUPPORTED_OPERATION");
  assertError(await alice.send(message("greet", { taskId: randomUUID() })), "TASK_NOT_FOUND");
});

test("a canceled task takes nothing more from its executor", async () => {
  const { id } = await alice.submit("go on");
  const canceled = await alice.cancel(id);
  assert.equal(canceled.json.status.state, "TASK_STATE_CANCELED");
});

test("what an object that died under its executor leaves behind has the deadline at which it fails", async () => {
  const { id } = await alice.submit("go on");
  await agent.kill();
  await agent.restart();
  assert.equal(await alice.state(id), "TASK_STATE_WORKING");
  const due = await agent.rows("PrincipalObject", "SELECT deadline_ms FROM executions WHERE task_id = ?", id);
  assert.equal(due.length, 1);
});
