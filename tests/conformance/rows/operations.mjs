// Section 3.1: the operations.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";

import { assertError, assertTask, kindsOf, statesOf } from "../../support/contract.mjs";
import { message } from "../../support/deployment.mjs";
import { BECAUSE, applies, excluded } from "../table.mjs";

const TEXT = { headers: { "content-type": "text/plain" }, body: "hello" };

async function pushIsOff(world) {
  const { id } = await world.completed();
  const operations = world.pushOperations((...request) => world.alice.call(...request), id);
  for (const ask of Object.values(operations)) assertError(await ask(), "PUSH_NOTIFICATION_NOT_SUPPORTED");
}

const SEND = [
  applies("3.1.1", "MUST", "a send is answered with a task or a message", async ({ alice, limited }) => {
    const work = await alice.send("hello", { returnImmediately: true });
    assert.deepEqual(Object.keys(work.json), ["task"]);
    const direct = await limited.as("bob").send("direct please");
    assert.deepEqual(Object.keys(direct.json), ["message"]);
    assert.equal(direct.json.message.role, "ROLE_AGENT");
  }),
  applies("3.1.1", "defines", "a message of a media type that is not served is refused as such", async ({ alice }) => {
    assertError(await alice.call("POST", "/message:send", TEXT), "CONTENT_TYPE_NOT_SUPPORTED");
  }),
  applies(
    "3.1.1",
    "defines",
    "a message to a task in any terminal state is an unsupported operation",
    async (world) => {
      for (const [task, owner] of await world.terminal()) {
        assertError(await owner.send(message("more", { taskId: task.id })), "UNSUPPORTED_OPERATION");
      }
    },
  ),
  applies("3.1.1", "defines", "a message to a task that does not exist finds no task", async ({ alice }) => {
    assertError(await alice.send(message("more", { taskId: randomUUID() })), "TASK_NOT_FOUND");
  }),
];

const STREAM = [
  applies("3.1.2", "MUST", "a streaming send opens a stream", async ({ alice }) => {
    const stream = await alice.sendStreaming("hello");
    assert.match(stream.headers["content-type"], /^text\/event-stream\b/);
    await stream.rest();
  }),
  applies(
    "3.1.2",
    "MUST",
    "a stream that answers with a message holds that message alone, and closes",
    async (world) => {
      const stream = await world.limited.as("bob").sendStreaming("direct please");
      const frames = await stream.rest();
      assert.deepEqual(kindsOf(frames), ["message"]);
      assert.deepEqual(frames[0].message.parts, [{ text: "Good day." }]);
    },
  ),
  applies(
    "3.1.2",
    "MUST",
    "a stream that answers with a task begins with it, and only updates follow",
    async (world) => {
      const [first, ...others] = await (await world.alice.sendStreaming("report this")).rest();
      assertTask(first.task, "TASK_STATE_SUBMITTED");
      assert.deepEqual(kindsOf(others), ["statusUpdate", "artifactUpdate", "artifactUpdate", "statusUpdate"]);
    },
  ),
  applies(
    "3.1.2",
    "MUST",
    "a stream closes when its task reaches a terminal state",
    async ({ alice, carol, limited }) => {
      for (const [word, state] of [
        ["report", "TASK_STATE_COMPLETED"],
        ["reject", "TASK_STATE_REJECTED"],
      ]) {
        const frames = await (await alice.sendStreaming(`${word} this`)).rest();
        assert.equal(statesOf(frames).at(-1), state);
      }
      const stream = await carol.sendStreaming("hello");
      const { task } = await stream.next();
      await carol.cancel(task.id);
      assert.equal(statesOf(await stream.rest()).at(-1), "TASK_STATE_CANCELED");
      const failed = await (await limited.as("bob").sendStreaming("fail at once")).rest();
      assert.equal(statesOf(failed).at(-1), "TASK_STATE_FAILED");
    },
  ),
  applies("3.1.2", "MUST", "the client hears of its task before any work is done", async ({ carol }) => {
    const stream = await carol.sendStreaming("nobody works on this");
    const { task } = await stream.next();
    assertTask(task, "TASK_STATE_SUBMITTED");
    stream.abandon();
    await carol.cancel(task.id);
  }),
  applies("3.1.2", "defines", "what cannot be streamed is refused as what cannot be sent is", async (world) => {
    const { alice } = world;
    assertError(await alice.call("POST", "/message:stream", TEXT), "CONTENT_TYPE_NOT_SUPPORTED");
    const stream = (taskId) =>
      alice.call("POST", "/message:stream", { body: { message: message("more", { taskId }) } });
    assertError(await stream(randomUUID()), "TASK_NOT_FOUND");
    assertError(await stream((await world.completed()).id), "UNSUPPORTED_OPERATION");
  }),
];

const GET = [
  applies("3.1.3", "defines", "a read gives the task as it is now, with its artifacts", async (world) => {
    const completed = await world.completed();
    assert.deepEqual(await world.alice.task(completed.id), completed);
    assert.equal(completed.artifacts.length, 2);
  }),
  applies("3.1.3", "defines", "a read of a task that does not exist finds no task", async ({ alice }) => {
    assertError(await alice.call("GET", `/tasks/${randomUUID()}`), "TASK_NOT_FOUND");
  }),
];

/** Three tasks of Carol's in a context of their own, oldest first. */
const listed = (world) =>
  world.once("listed", async () => {
    const first = await world.carol.submit("one");
    const others = [];
    for (const text of ["two", "three"]) {
      others.push(await world.carol.submit(message(text, { contextId: first.contextId })));
    }
    return [first, ...others];
  });

const LIST = [
  applies("3.1.4", "MUST", "unless a list asks for artifacts, no task in it has the field", async (world) => {
    const { contextId } = await world.completed();
    for (const query of ["", "&includeArtifacts=false"]) {
      const { tasks } = (await world.alice.call("GET", `/tasks?contextId=${contextId}${query}`)).json;
      assert.ok(tasks.length > 0 && tasks.every((task) => !("artifacts" in task)));
    }
  }),
  applies("3.1.4", "SHOULD", "a list that asks for artifacts has them", async (world) => {
    const { id, contextId, artifacts } = await world.completed();
    const answer = await world.alice.call("GET", `/tasks?contextId=${contextId}&includeArtifacts=true`);
    assert.deepEqual(answer.json.tasks.find((task) => task.id === id).artifacts, artifacts);
  }),
  applies("3.1.4", "MUST", "a page always has a token, and the last page the empty one", async (world) => {
    const [{ contextId }] = await listed(world);
    const page = async (token) =>
      (await world.carol.call("GET", `/tasks?contextId=${contextId}&pageSize=2&pageToken=${token}`)).json;
    const first = await page("");
    assert.notEqual(first.nextPageToken, "");
    assert.equal((await page(first.nextPageToken)).nextPageToken, "");
    assert.equal((await world.carol.call("GET", `/tasks?contextId=${randomUUID()}`)).json.nextPageToken, "");
  }),
  applies("3.1.4", "MUST", "a list holds what its caller may see and nothing else", async (world) => {
    const [{ contextId }] = await listed(world);
    const { json } = await world.bob.call("GET", `/tasks?contextId=${contextId}`);
    assert.deepEqual([json.tasks, json.totalSize], [[], 0]);
  }),
  applies("3.1.4", "MUST", "pages are cut by a cursor: a task made meanwhile shifts none of them", async (world) => {
    const [oldest, ...newer] = await listed(world);
    const query = `/tasks?contextId=${oldest.contextId}&pageSize=2`;
    const first = (await world.carol.call("GET", query)).json;
    const { id } = await world.carol.submit(message("meanwhile", { contextId: oldest.contextId }));
    const second = (await world.carol.call("GET", `${query}&pageToken=${first.nextPageToken}`)).json;
    const ids = [...first.tasks, ...second.tasks].map((task) => task.id);
    await world.carol.cancel(id);
    assert.deepEqual(ids, [newer[1].id, newer[0].id, oldest.id]);
  }),
  applies("3.1.4", "MUST", "the task whose status changed last comes first", async (world) => {
    const { carol } = world;
    const older = await carol.submit("older");
    const newer = await carol.submit(message("newer", { contextId: older.contextId }));
    const ids = async () =>
      (await carol.call("GET", `/tasks?contextId=${older.contextId}`)).json.tasks.map(({ id }) => id);
    assert.deepEqual(await ids(), [newer.id, older.id]);
    await carol.cancel(older.id);
    assert.deepEqual(await ids(), [older.id, newer.id]);
  }),
];

const CANCEL = [
  applies("3.1.5", "defines", "a cancel gives the task, canceled", async ({ carol }) => {
    const { id } = await carol.submit("hello");
    const { json } = await carol.cancel(id);
    assertTask(json, "TASK_STATE_CANCELED");
    assert.equal(json.id, id);
  }),
  applies("3.1.5", "defines", "a task in any terminal state is not cancelable", async (world) => {
    for (const [task, owner] of await world.terminal()) {
      assertError(await owner.cancel(task.id), "TASK_NOT_CANCELABLE");
    }
  }),
  applies("3.1.5", "defines", "a cancel of a task that does not exist finds no task", async ({ alice }) => {
    assertError(await alice.cancel(randomUUID()), "TASK_NOT_FOUND");
  }),
];

const SUBSCRIBE = [
  applies("3.1.6", "MUST", "a subscription ends when the task reaches a terminal state", async (world) => {
    const { id } = await world.asked();
    const subscription = await world.alice.subscribe(id);
    await world.alice.send(message("this one", { taskId: id }));
    assert.equal(statesOf(await subscription.rest()).at(-1), "TASK_STATE_COMPLETED");
  }),
  applies("3.1.6", "MUST", "a subscription begins with the task as it is at that moment", async (world) => {
    const task = await world.asked();
    const subscription = await world.alice.subscribe(task.id);
    assert.deepEqual(await subscription.next(), { task: await world.alice.task(task.id) });
    subscription.abandon();
  }),
  applies(
    "3.1.6",
    "defines",
    "a subscription to a task in any terminal state is an unsupported operation",
    async (world) => {
      for (const [task, owner] of await world.terminal()) {
        assertError(await owner.call("POST", `/tasks/${task.id}:subscribe`), "UNSUPPORTED_OPERATION");
      }
    },
  ),
  applies("3.1.6", "defines", "a subscription to a task that does not exist finds no task", async ({ alice }) => {
    assertError(await alice.call("POST", `/tasks/${randomUUID()}:subscribe`), "TASK_NOT_FOUND");
  }),
];

const PUSH = [
  excluded("3.1.7", "MUST", "creating a configuration sets up a webhook", BECAUSE.push, pushIsOff),
  excluded("3.1.7", "MUST", "a configuration lasts until its task is complete or it is deleted", BECAUSE.push),
  excluded("3.1.8", "MUST", "reading a configuration gives its URL and settings", BECAUSE.push),
  excluded("3.1.8", "MUST", "reading fails where there is no configuration, or not for this client", BECAUSE.push),
  excluded("3.1.9", "MUST", "listing gives every active configuration of the task", BECAUSE.push),
  excluded("3.1.10", "MUST", "deleting removes the configuration for good", BECAUSE.push),
  excluded("3.1.10", "MUST", "deleting twice is as deleting once", BECAUSE.push),
];

const EXTENDED_CARD = [
  applies("3.1.11", "MUST", "the extended card is asked for with a credential of a declared scheme", async (world) => {
    assertError(await world.agent.call("GET", "/extendedAgentCard"), "UNAUTHENTICATED");
  }),
  excluded("3.1.11", "SHOULD", "an extended card replaces the public one in a client's cache", BECAUSE.client),
];

export const OPERATIONS = [...SEND, ...STREAM, ...GET, ...LIST, ...CANCEL, ...SUBSCRIBE, ...PUSH, ...EXTENDED_CARD];
