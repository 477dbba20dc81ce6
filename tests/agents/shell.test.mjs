// `resident agent`, the client for a shell, against independent agents built with the official SDKs, and against this
// server.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, test } from "node:test";

import { Deployment } from "../support/deployment.mjs";
import { until } from "../support/until.mjs";
import { JsAgent } from "./js-agent.mjs";
import { PyAgent } from "./py-agent.mjs";
import { residentAgent } from "./shell.mjs";

const stateOf = (value) => value.task?.status.state ?? value.statusUpdate?.status.state ?? value.status?.state;

for (const [name, agent] of [
  ["JavaScript", await JsAgent.start()],
  ["Python", await PyAgent.start()],
]) {
  const run = async (...words) => {
    const ran = await residentAgent(agent.url, words);
    assert.equal(ran.code, 0, ran.errors);
    return ran.values;
  };

  test(`it finds the ${name} agent by its card`, async () => {
    const [card] = await run("card");
    assert.equal(card.supportedInterfaces[0].protocolBinding, "HTTP+JSON");
  });

  test(`it waits for a task of the ${name} agent, and reads it again`, async () => {
    const [{ task }] = await run("send", "do it");
    assert.equal(task.status.state, "TASK_STATE_COMPLETED");
    assert.equal(task.artifacts[0].parts[0].text, "did it");
    const [read] = await run("get", task.id);
    assert.equal(read.id, task.id);
    assert.equal(read.artifacts[0].parts[0].text, "did it");
  });

  test(`it prints the ${name} agent's events in order`, async () => {
    const events = await run("stream", "two");
    const states = events.map(stateOf).filter(Boolean);
    assert.equal(states.at(-1), "TASK_STATE_COMPLETED");
    const artifacts = events.flatMap((event) => event.artifactUpdate?.artifact.artifactId ?? []);
    assert.deepEqual(artifacts, ["one", "two"]);
  });

  test(`it cancels a task of the ${name} agent`, async () => {
    const [{ task }] = await run("send", "--no-wait", "wait forever");
    const [canceled] = await run("cancel", task.id);
    assert.equal(canceled.status.state, "TASK_STATE_CANCELED");
  });

  test(`it takes a direct message of the ${name} agent, with no task`, async () => {
    const [answer] = await run("send", "hello");
    assert.equal(answer.task, undefined);
    assert.equal(answer.message.parts[0].text, "hello yourself");
  });

  test(`it answers the ${name} agent's question under the same ids`, async () => {
    const [{ task }] = await run("send", "ask");
    assert.equal(task.status.state, "TASK_STATE_INPUT_REQUIRED");
    const [{ task: answered }] = await run("send", "--task", task.id, "blue");
    assert.deepEqual([answered.id, answered.contextId], [task.id, task.contextId]);
    assert.equal(answered.status.state, "TASK_STATE_COMPLETED");
    assert.equal(answered.artifacts[0].parts[0].text, "answered blue");
  });

  test(`it begins several tasks of the ${name} agent in one context, and lists them`, async () => {
    const [{ task: first }] = await run("send", "do one");
    const [{ task: second }] = await run("send", "--context", first.contextId, "do two");
    assert.equal(second.contextId, first.contextId);
    const [page] = await run("list", "--context", first.contextId);
    assert.deepEqual(page.tasks.map(({ id }) => id).sort(), [first.id, second.id].sort());
  });
}

test("it speaks to this server with a token, which goes to its origin alone", async () => {
  const plane = await Deployment.start();
  const resident = plane.resident();
  const environment = { A2A_AGENT_TOKEN: plane.tokens.alice };
  const sent = residentAgent(plane.url, ["send", "hello"], environment);
  const turn = await resident.turn();
  await turn.complete("hello yourself");
  await turn.end();
  const { values } = await sent;
  assert.equal(values[0].task.status.state, "TASK_STATE_COMPLETED");
  const listed = await residentAgent(plane.url, ["list", "--page-size", "1"], environment);
  assert.equal(listed.values[0].totalSize, 1);

  const refused = await residentAgent(plane.url, ["list"]);
  assert.equal(refused.code, 1);
  assert.match(refused.errors, /UNAUTHENTICATED/);

  const elsewhere = await Deployment.start({ vars: { A2A_PUBLIC_URL: plane.url } });
  const kept = await residentAgent(elsewhere.url, ["list"], environment);
  assert.equal(kept.code, 2);
  assert.match(kept.errors, /another origin/);
  assert.equal(
    await until("the count is there", async () => (await plane.as("alice").call("GET", "/tasks")).json.totalSize),
    1,
  );
});

test("nothing that an agent says commands the terminal, and an event that is no JSON is an error", async () => {
  const hostile = "\u009b2J\u202eevil\u200b\u{e0041}\u2028";
  const events = [{ task: { id: hostile, status: { state: "TASK_STATE_WORKING" } } }, { hostile }];
  const server = createServer((request, answer) => {
    const url = `http://127.0.0.1:${server.address().port}`;
    if (request.url.endsWith("agent-card.json")) {
      const supportedInterfaces = [{ url, protocolBinding: "HTTP+JSON", protocolVersion: "1.0" }];
      answer.end(JSON.stringify({ name: hostile, supportedInterfaces }));
    } else if (request.url.endsWith(":stream")) {
      answer.writeHead(200, { "content-type": "Text/Event-Stream; charset=utf-8" });
      for (const event of events) answer.write(`data: ${JSON.stringify(event)}\n\n`);
      answer.end("data: \u001b]52;c;ZXZpbA==\u0007\u009b2J\n\n");
    } else if (request.url.endsWith(":send")) {
      answer.end(JSON.stringify({ message: hostile }));
    } else {
      const error = { status: "NOT_FOUND", message: `${hostile}\u001b[2J`, details: [{ reason: hostile }] };
      answer.writeHead(404).end(JSON.stringify({ error }));
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  after(() => server.close());
  const url = `http://127.0.0.1:${server.address().port}`;
  const plain = /^[ -~\n]*$/;

  const card = await residentAgent(url, ["card"]);
  assert.equal(card.values[0].name, hostile);
  const sent = await residentAgent(url, ["send", "x"]);
  assert.deepEqual(sent.values, [{ message: hostile }]);
  const streamed = await residentAgent(url, ["stream", "x"]);
  assert.deepEqual(streamed.values, events);
  assert.equal(streamed.code, 3);
  assert.match(streamed.errors, /not JSON/);
  const refused = await residentAgent(url, ["get", "x"]);
  assert.equal(refused.code, 1);
  for (const { printed, errors } of [card, sent, streamed, refused]) {
    assert.match(printed, plain);
    assert.match(errors, plain);
  }
});
