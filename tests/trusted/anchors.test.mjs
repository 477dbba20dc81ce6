// Reply anchors: the conditions under which a direct reply continues a task. Each that fails makes a new task, and never
// a refusal.

import assert from "node:assert/strict";
import { test } from "node:test";

import { assertError } from "../support/contract.mjs";
import { ask, drain, event, start, turnOf } from "./intake.mjs";

const { agent, source, platform, bobsSource } = await start();
const alice = agent.as("alice");
const resident = agent.resident();
await source.declare(["REPLY_ANCHOR"]);
await source.declare(["REPLY_ANCHOR"], "mail");
await bobsSource.declare(["REPLY_ANCHOR"]);

let responses = 0;

/** A task that waits for the answer to a response of ours. */
async function waiting(fields) {
  const asked = await source.accept("do it", { conversationKey: `c-${(responses += 1)}`, ...fields });
  await ask(resident, asked.taskId);
  const response = `<response.${responses}@chat.example>`;
  await source.anchor(asked.taskId, response, fields?.source);
  return { ...asked, response };
}

/** Asserts that the reply is a new task. */
async function assertNew(reply, asked) {
  const accepted = await source.accept(reply);
  assert.equal(accepted.disposition, "created");
  assert.notEqual(accepted.taskId, asked.taskId);
  return accepted;
}

test("a reply to a task that works, or is settled, is a new task in the conversation's context", async () => {
  const asked = await source.accept("do it", { conversationKey: "working" });
  await source.anchor(asked.taskId, "r-working");
  const reply = () => event("and", { conversationKey: "working", replyTo: "r-working" });
  const submitted = await assertNew(reply(), asked);
  assert.equal(submitted.contextId, asked.contextId);
  const turn = await turnOf(resident, asked.taskId);
  assert.equal((await assertNew(reply(), asked)).contextId, asked.contextId);
  await turn.complete("done");
  await turn.end();
  assert.equal((await assertNew(reply(), asked)).contextId, asked.contextId);
  await drain(resident);
});

test("a reply to a response that was never recorded is a new task", async () => {
  const asked = await waiting();
  await assertNew(event("and", { replyTo: "<somebody.else@chat.example>" }), asked);
  await assertNew(event("and", { replyTo: asked.response.toUpperCase() }), asked);
  await alice.cancel(asked.taskId);
  await drain(resident);
});

test("a reply at another source is a new task", async () => {
  const asked = await waiting();
  await assertNew(event("and", { source: "mail", replyTo: asked.response }), asked);
  await alice.cancel(asked.taskId);
  await drain(resident);
});

test("a second reply to the same response is a new task: the question is answered", async () => {
  const asked = await waiting();
  const first = await source.accept("the answer", { replyTo: asked.response });
  assert.equal(first.disposition, "continued");
  await assertNew(event("another answer", { replyTo: asked.response }), asked);
  await drain(resident);
});

test("a duplicate of the reply is no second answer", async () => {
  const asked = await waiting();
  const reply = event("the answer", { replyTo: asked.response });
  const replies = await Promise.all(Array.from({ length: 20 }, () => source.accept(reply)));
  assert.equal(replies.filter(({ disposition }) => disposition === "continued").length, 1);
  assert.ok(replies.every(({ taskId }) => taskId === asked.taskId));
  const { task } = await source.read(asked.taskId);
  assert.deepEqual(task.history.at(-1).parts, [{ text: "the answer" }]);
  assert.equal(task.history.filter(({ role }) => role === "ROLE_USER").length, 2);
  await drain(resident);
});

test("a reply of a source that no longer declares anchors is a new task", async () => {
  const asked = await waiting({ source: "mail" });
  await source.declare(["TASK_ID"], "mail");
  await assertNew(event("and", { source: "mail", replyTo: asked.response }), asked);
  await source.declare(["REPLY_ANCHOR"], "mail");
  const reply = await source.accept("the answer", { source: "mail", replyTo: asked.response });
  assert.equal(reply.disposition, "continued");
  await drain(resident);
});

test("an anchor is recorded once, and never moves to another task", async () => {
  const [one, other] = [await source.accept("one"), await source.accept("other")];
  const anchor = { source: "chat", providerResponseId: "r-once", taskId: one.taskId };
  assert.deepEqual(await source.done("POST", "anchors", { principal: "alice", ...anchor }), anchor);
  assert.deepEqual(await platform.done("POST", "anchors", anchor), anchor);
  const moved = await source.call("POST", "anchors", { ...anchor, taskId: other.taskId });
  assertError(moved, "ANCHOR_TAKEN", "providerResponseId");
  await drain(resident);
});

test("an anchor is for a task of that source, which has declared anchors", async () => {
  const { taskId } = await source.accept("hello");
  const anchor = { source: "chat", providerResponseId: "r-x", taskId };
  assertError(await source.call("POST", "anchors", { ...anchor, source: "mail" }), "INVALID_REQUEST", "source");
  assertError(await source.call("POST", "anchors", { ...anchor, taskId: "unknown" }), "TASK_NOT_FOUND");
  assertError(await bobsSource.call("POST", "anchors", anchor), "TASK_NOT_FOUND");
  const undeclared = await source.accept("hello", { source: "forge" });
  const refused = await source.call("POST", "anchors", { ...anchor, source: "forge", taskId: undeclared.taskId });
  assertError(refused, "NO_CONTINUATION", "source");
  await drain(resident);
});

test("a delivery that is delivered records its response as the anchor", async () => {
  const asked = await source.accept("do it");
  await ask(resident, asked.taskId);
  const { deliveryId, attempt } = await source.begin(asked.taskId);
  const delivered = { attempt, outcome: "DELIVERED", providerResponseId: "<sent@chat.example>" };
  assert.deepEqual(await source.settle(deliveryId, delivered), { deliveryId, state: "DELIVERED" });
  const reply = await source.accept("the answer", { replyTo: "<sent@chat.example>" });
  assert.equal(reply.disposition, "continued");
  assert.equal(reply.taskId, asked.taskId);
  await drain(resident);
});
