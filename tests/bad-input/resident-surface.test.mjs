// Bad input on the resident surface: refused by its field, and no turn, session or task is touched.

import assert from "node:assert/strict";
import { test } from "node:test";

import { assertError } from "../support/contract.mjs";
import { Deployment } from "../support/deployment.mjs";

const agent = await Deployment.start();
const resident = agent.resident();
const { id } = await agent.as("alice").submit("work");
const turn = await resident.turn();

const take = (body) => resident.call("wakes:take", body);

test("a take names a session, and waits within its bounds", async () => {
  for (const [body, field] of [
    [{}, "session"],
    [{ session: "" }, "session"],
    [{ session: "a b" }, "session"],
    [{ session: 1 }, "session"],
    [{ session: "x".repeat(129) }, "session"],
    [{ session: "s-1", waitMs: -1 }, "waitMs"],
    [{ session: "s-1", waitMs: 60_001 }, "waitMs"],
    [{ session: "s-1", waitMs: 1.5 }, "waitMs"],
    [{ session: "s-1", waitMs: "1" }, "waitMs"],
    [[], "body"],
    ["nonsense", "body"],
  ]) {
    assertError(await take(body), "INVALID_REQUEST", field);
  }
});

test("a heartbeat waits within its bounds", async () => {
  for (const waitMs of [-1, 60_001, "1", 0.5]) {
    assertError(await turn.heartbeat({ waitMs }), "INVALID_REQUEST", "waitMs");
  }
});

test("an end names its outcome, and a reason that is not too long", async () => {
  for (const [body, field] of [
    [{}, "outcome"],
    [{ outcome: "done" }, "outcome"],
    [{ outcome: 1 }, "outcome"],
    [{ outcome: "failed", reason: 1 }, "reason"],
    [{ outcome: "ended", reason: "nothing to do" }, "reason"],
    [{ outcome: "ended", reason: 1 }, "reason"],
  ]) {
    assertError(await turn.tryEnd(body), "INVALID_REQUEST", field);
  }
  const long = { outcome: "failed", reason: "x".repeat(4001) };
  assertError(await turn.tryEnd(long), "PAYLOAD_TOO_LARGE", "reason");
});

test("an unknown tool is not found", async () => {
  assertError(await turn.tool("a2a_delete_task"), "NOT_FOUND");
});

test("a tool names its turn and task, and what it needs, in the right form", async () => {
  const schema = { type: "object", properties: {} };
  for (const [tool, fields, field] of [
    ["a2a_read_task", { turnId: undefined }, "turnId"],
    ["a2a_read_task", { taskId: undefined }, "taskId"],
    ["a2a_read_task", { turnId: "a b" }, "turnId"],
    ["a2a_read_task", { taskId: 1 }, "taskId"],
    ["a2a_read_task", { format: "xml" }, "format"],
    ["a2a_read_task", { format: "" }, "format"],
    ["a2a_complete_task", {}, "response"],
    ["a2a_complete_task", { response: "x", outcome: "" }, "outcome"],
    ["a2a_complete_task", { response: "x", outcome: true }, "outcome"],
    ["a2a_complete_task", { response: "x", reason: "why not" }, "reason"],
    ["a2a_complete_task", { outcome: "rejected", reason: "no", response: "x" }, "response"],
    ["a2a_complete_task", { outcome: "rejected", reason: "no", parts: [{ text: "x" }] }, "parts"],
    ["a2a_complete_task", { outcome: "rejected", reason: "no", outputs: [{ output: "a", value: {} }] }, "outputs"],
    ["a2a_complete_task", { response: "" }, "response"],
    ["a2a_complete_task", { response: 1 }, "response"],
    ["a2a_complete_task", { response: "x", outcome: "done" }, "outcome"],
    ["a2a_complete_task", { outcome: "rejected" }, "reason"],
    ["a2a_complete_task", { response: "x", parts: [{}] }, "parts[0]"],
    ["a2a_complete_task", { response: "x", parts: "x" }, "parts"],
    ["a2a_complete_task", { response: "x", outputs: {} }, "outputs"],
    ["a2a_record_output", { value: {} }, "output"],
    ["a2a_require_input", {}, "question"],
    ["a2a_require_input", { question: "" }, "question"],
    ["a2a_require_input", { question: "x", auth: "yes" }, "auth"],
    ["a2a_require_input", { question: "x", requestedSchema: [] }, "requestedSchema"],
    ["a2a_require_input", { question: "x", requestedSchema: { ...schema, type: "array" } }, "requestedSchema.type"],
  ]) {
    const answer = await turn.tool(tool, fields);
    assertError(answer, "INVALID_REQUEST");
    const named = answer.json.error.details[1].fieldViolations.map((violation) => violation.field);
    assert.ok(named.includes(field), `${tool} ${JSON.stringify(fields)}: ${named}`);
  }
});

test("without a workflow no output can be recorded", async () => {
  const output = { output: "report", value: {} };
  assertError(await turn.tool("a2a_record_output", output), "WORKFLOW_NOT_CONFIGURED");
  const answer = await turn.tool("a2a_complete_task", { response: "x", outputs: [output] });
  assertError(answer, "WORKFLOW_NOT_CONFIGURED");
});

test("after all of it the turn is live and its task unchanged", async () => {
  assert.equal((await turn.heartbeat()).json.live, true);
  assert.equal(await agent.as("alice").state(id), "TASK_STATE_WORKING");
  await turn.complete("done");
  assert.equal(await turn.end(), "settled");
});
