// Section 3.4: contexts, tasks and their ids.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";

import { assertError } from "../../support/contract.mjs";
import { message } from "../../support/deployment.mjs";
import { BECAUSE, applies, diverges, excluded } from "../table.mjs";

const FRESH_CONTEXT = {
  does: "A `contextId` that is unknown, or another principal's, is replaced by a fresh one.",
  because:
    "An error would tell a foreign context from an unknown one; and a client may lose its context, not its work.",
};

/** What the resident was given for this task, at last. */
async function given(world, taskId) {
  return world.turns.findLast(({ task }) => task.id === taskId);
}

const CONTEXTS = [
  applies("3.4.1", "MUST", "a context that the server made is in the answer", async ({ carol, limited }) => {
    const { contextId } = await carol.submit("hello");
    assert.match(contextId, /^[0-9a-f-]{36}$/);
    assert.match((await limited.as("bob").send("direct please")).json.message.contextId, /^[0-9a-f-]{36}$/);
  }),
  diverges("3.4.1", "MUST", "a context that cannot be accepted is an error", FRESH_CONTEXT, async (world) => {
    const { contextId: foreign } = await world.completed();
    for (const contextId of [foreign, randomUUID()]) {
      const answer = await world.bob.send(message("hello", { contextId }), { returnImmediately: true });
      assert.equal(answer.status, 200);
    }
  }),
  diverges(
    "3.4.1",
    "MUST NOT",
    "the answer has a new context in place of the refused one",
    FRESH_CONTEXT,
    async (world) => {
      const { contextId: foreign } = await world.completed();
      const task = await world.bob.submit(message("hello", { contextId: foreign }));
      assert.notEqual(task.contextId, foreign);
    },
  ),
  excluded("3.4.1", "SHOULD NOT", "clients make up contexts", BECAUSE.client),
  excluded("3.4.1", "SHOULD", "clients take contexts of the server's as opaque", BECAUSE.client),
  applies("3.4.1", "SHOULD", "tasks of one context are one conversation", async ({ carol }) => {
    const first = await carol.submit("one");
    const second = await carol.submit(message("two", { contextId: first.contextId }));
    assert.equal(second.contextId, first.contextId);
    const { tasks } = (await carol.call("GET", `/tasks?contextId=${first.contextId}`)).json;
    assert.deepEqual(
      tasks.map(({ id }) => id),
      [second.id, first.id],
    );
  }),
  applies("3.4.1", "SHOULD", "how long a context is kept is documented", async () => {
    const text = await readFile(new URL("../../../docs/conformance.md", import.meta.url), "utf8");
    assert.match(text, /How long things are kept/);
  }),
];

const TASKS = [
  applies("3.4.2", "MUST", "each new task has an id of its own", async ({ carol, bob }) => {
    const ids = [];
    for (const owner of [carol, bob, carol]) ids.push((await owner.submit("hello")).id);
    assert.equal(new Set(ids).size, ids.length);
  }),
  applies("3.4.2", "MUST", "the id is in the task that the client gets", async ({ carol }) => {
    const { id } = await carol.submit("hello");
    assert.equal((await carol.task(id)).id, id);
  }),
  applies("3.4.2", "MUST", "a message may only name a task that exists", async ({ carol }) => {
    const before = (await carol.call("GET", "/tasks?pageSize=1")).json.totalSize;
    assertError(await carol.send(message("hello", { taskId: randomUUID() })), "TASK_NOT_FOUND");
    assert.equal((await carol.call("GET", "/tasks?pageSize=1")).json.totalSize, before);
  }),
  applies("3.4.2", "MUST", "a message that names a task that does not exist finds no task", async ({ bob }) => {
    assertError(await bob.send(message("hello", { taskId: randomUUID() })), "TASK_NOT_FOUND");
  }),
];

const TURNS = [
  applies("3.4.3", "MUST", "a message that names a task alone is in the task's context", async (world) => {
    const { id, contextId } = await world.asked();
    const done = await world.settled(message("this one", { taskId: id }));
    assert.equal(done.contextId, contextId);
    assert.equal(done.history.at(-1).contextId, contextId);
  }),
  applies("3.4.3", "MUST", "a context that is not the named task's is refused", async (world) => {
    const { id } = await world.asked();
    const { contextId } = await world.completed();
    for (const other of [contextId, randomUUID()]) {
      const answer = await world.alice.send(message("this one", { taskId: id, contextId: other }));
      assertError(answer, "INVALID_REQUEST", "message.contextId");
    }
  }),
  excluded("3.4.3", "SHOULD", "clients name related tasks in referenceTaskIds", BECAUSE.client),
  excluded(
    "3.4.3",
    "SHOULD",
    "the agent understands a message by the tasks it refers to",
    BECAUSE.resident,
    async (world) => {
      const referenceTaskIds = [(await world.completed()).id, randomUUID()];
      const { id, history } = await world.settled(message("like those", { referenceTaskIds }));
      assert.deepEqual(history[0].referenceTaskIds, referenceTaskIds);
      const { task } = await given(world, id);
      assert.deepEqual(task.history[0].referenceTaskIds, referenceTaskIds);
    },
  ),
  excluded("3.4.3", "SHOULD", "the agent's answers draw on the shared context", BECAUSE.resident, async (world) => {
    const { contextId } = await world.completed();
    const { id } = await world.settled(message("and this", { contextId }));
    const { grant } = await given(world, id);
    assert.equal(grant.contextId, contextId);
  }),
];

export const IDENTIFIERS = [...CONTEXTS, ...TASKS, ...TURNS];
