// An agent behind this server gives work to an independent one, built with an official SDK, and is woken when it answers.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Deployment } from "../support/deployment.mjs";
import { until } from "../support/until.mjs";
import { delegate, remoteVars } from "./delegating.mjs";
import { JsAgent } from "./js-agent.mjs";
import { PyAgent } from "./py-agent.mjs";

const JS = await JsAgent.start();
const AGENTS = [
  { sdk: "JavaScript", remote: JS, line: /^a2a:\/\/research — Research Agent v1\.2\.3: Does what it is told\.$/m },
  {
    sdk: "Python",
    remote: await PyAgent.start(),
    line: /^a2a:\/\/research — Python Agent v1\.0\.0: Does what it is told\.$/m,
  },
];

for (const { sdk, remote, line } of AGENTS) {
  const plane = await Deployment.start({ vars: remoteVars({ RESEARCH: remote.url }, ["research"]) });
  const alice = plane.as("alice");
  const resident = plane.resident();

  /** The state of a task, as the agent itself tells it. */
  const stateThere = async (taskId) => {
    const answer = await fetch(`${remote.url}/a2a/tasks/${taskId}`, { headers: { "A2A-Version": "1.0" } });
    return (await answer.json()).status.state;
  };

  test(`${sdk}: what a turn reads first has one line of each enabled agent, and neither URL nor secret`, async () => {
    await alice.submit("what is there?");
    const turn = await resident.turn();
    const text = await turn.text();
    assert.match(text, line);
    assert.doesNotMatch(text, /127\.0\.0\.1/);
    await turn.complete("seen");
    await turn.end();
  });

  test(`${sdk}: a direct message makes a message resource and no task`, async () => {
    await alice.submit("say hello");
    const turn = await resident.turn();
    const sent = await delegate(turn, "a2a://research", "hello");
    assert.match(sent.address, /^a2a:\/\/research\/messages\//);
    assert.equal(sent.settled, true);
    assert.equal(sent.state, undefined);
    const read = await turn.tool("a2a_read_agent", { address: sent.address });
    assert.match(read.json.text, /^\| hello yourself$/m);
    const exact = await turn.tool("a2a_read_agent", { address: sent.address, format: "json" });
    assert.equal(exact.json.resource.parts[0].text, "hello yourself");
    await turn.complete("done");
    assert.equal(await turn.end(), "settled");
  });

  test(`${sdk}: a task that goes on wakes the task that asked once, when it has settled`, async () => {
    const task = await alice.submit("delegate");
    const turn = await resident.turn();
    const sent = await delegate(turn, "a2a://research", "wait one");
    assert.equal(sent.settled, false);
    assert.equal(await turn.end(), "awaiting_agents");
    assert.equal(await alice.state(task.id), "TASK_STATE_WORKING");
    assert.equal(await resident.take(500), undefined);
    if (remote === JS) {
      await until("a stream is open", () => remote.requests.some(({ path }) => path.endsWith(":subscribe")));
      const looks = remote.count("GET", `/tasks/${sent.address.split("/").at(-1)}`);
      assert.ok(looks <= 2, `${looks} looks beside the stream`);
    }
    await until("the agent waits", () => remote.release("one"));
    const next = await resident.turn();
    assert.equal(next.taskId, task.id);
    const text = await next.text();
    assert.ok(text.includes(`${sent.address} TASK_STATE_COMPLETED`), text);
    const read = await next.tool("a2a_read_agent", { address: `${sent.address}/artifacts/result`, format: "json" });
    assert.equal(read.json.resource.parts[0].text, "waited for one");
    await next.complete("done");
    assert.equal(await next.end(), "settled");
    assert.equal(await resident.take(300), undefined);
  });

  test(`${sdk}: a question is answered under the same ids`, async () => {
    const task = await alice.submit("delegate");
    const turn = await resident.turn();
    const sent = await delegate(turn, "a2a://research", "ask");
    await turn.end();
    const asked = sent.settled ? turn : await resident.turn();
    const question = await asked.tool("a2a_read_agent", { address: sent.address });
    assert.match(question.json.text, /Which colour\?/);
    const answered = await delegate(asked, sent.address, "blue");
    assert.equal(answered.address, sent.address);
    if (!answered.settled) await asked.end();
    const done = answered.settled ? asked : await resident.turn();
    const read = await done.tool("a2a_read_agent", { address: `${sent.address}/artifacts/result` });
    assert.match(read.json.text, /answered blue/);
    await done.complete("done");
    await done.end();
    assert.equal(await alice.state(task.id), "TASK_STATE_COMPLETED");
  });

  test(`${sdk}: several artifacts stay several, and several tasks may share one context`, async () => {
    await alice.submit("delegate");
    let turn = await resident.turn();
    const first = await delegate(turn, "a2a://research", "two");
    const second = await delegate(turn, "a2a://research", "do it", { contextId: first.contextId });
    assert.equal(second.contextId, first.contextId);
    assert.notEqual(second.address, first.address);
    for (const [name, text] of [
      ["one", "the first"],
      ["two", "the second"],
    ]) {
      await until("the task is done", async () => {
        const read = await turn.tool("a2a_read_agent", {
          address: `${first.address}/artifacts/${name}`,
          format: "json",
        });
        return read.json.resource?.parts[0].text === text;
      });
    }
    await turn.complete("done");
    await turn.end();
  });

  test(`${sdk}: canceling the task that asked cancels what it asked for`, async () => {
    const task = await alice.submit("delegate");
    const turn = await resident.turn();
    const sent = await delegate(turn, "a2a://research", "wait forever");
    await turn.end();
    await alice.cancel(task.id);
    const remoteId = decodeURIComponent(sent.address.split("/").at(-1));
    await until("the agent has canceled it", async () => (await stateThere(remoteId)) === "TASK_STATE_CANCELED");
    assert.equal(await resident.take(300), undefined);
  });

  test(`${sdk}: a tool cancels a task of another agent`, async () => {
    await alice.submit("delegate");
    const turn = await resident.turn();
    const sent = await delegate(turn, "a2a://research", "wait on");
    const canceled = await turn.tool("a2a_cancel_agent", { address: sent.address });
    assert.equal(canceled.json.state, "TASK_STATE_CANCELED", canceled.text);
    assert.equal(canceled.json.settled, true);
    await turn.complete("done");
    await turn.end();
  });

  test(`${sdk}: an unknown alias, a disabled one and an unknown address are told apart by nothing but their names`, async () => {
    await alice.submit("delegate");
    const turn = await resident.turn();
    const unknown = await turn.tool("a2a_send_agent", { address: "a2a://nobody", text: "x" });
    assert.equal(unknown.status, 404);
    assert.equal(unknown.json.error.details[0].metadata.problem, "agent-not-configured");
    const missing = await turn.tool("a2a_read_agent", { address: "a2a://research/tasks/none" });
    assert.equal(missing.status, 404);
    await turn.complete("done");
    await turn.end();
  });
}
