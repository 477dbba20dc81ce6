// Sections 3.5 to 3.7: how updates arrive, versions, and what messages and artifacts are for.

import assert from "node:assert/strict";

import { assertError, statesOf } from "../../support/contract.mjs";
import { message } from "../../support/deployment.mjs";
import { BECAUSE, applies, diverges, excluded } from "../table.mjs";
import { CARD } from "../world.mjs";

/** A task that waits for its answer, and that many subscriptions to it, each past its first frame. */
async function watched(world, count) {
  const { id } = await world.asked();
  const subscriptions = [];
  for (let n = 0; n < count; n += 1) {
    const subscription = await world.alice.subscribe(id);
    await subscription.next();
    subscriptions.push(subscription);
  }
  return { id, subscriptions };
}

const STREAMS = [
  applies("3.5.2", "MUST", "events arrive in the order in which they came about", async (world) => {
    const frames = await (await world.alice.sendStreaming("report this")).rest();
    assert.deepEqual(statesOf(frames), ["TASK_STATE_SUBMITTED", "TASK_STATE_WORKING", "TASK_STATE_COMPLETED"]);
    const times = frames.flatMap((frame) => (frame.statusUpdate ?? frame.task)?.status.timestamp ?? []);
    assert.deepEqual(times, times.toSorted());
  }),
  applies("3.5.2", "MUST NOT", "events change places on their way", async ({ alice }) => {
    const frames = await (await alice.sendStreaming("report this")).rest();
    const artifacts = frames.flatMap(({ artifactUpdate }) => artifactUpdate?.artifact ?? []);
    assert.deepEqual((await alice.task(frames[0].task.id)).artifacts, artifacts);
  }),
  applies("3.5.2", "MUST", "every stream of a task gets each event", async (world) => {
    const { id, subscriptions } = await watched(world, 2);
    await world.settled(message("this one", { taskId: id }));
    for (const subscription of subscriptions) {
      assert.equal(statesOf(await subscription.rest()).at(-1), "TASK_STATE_COMPLETED");
    }
  }),
  applies("3.5.2", "MUST", "every stream of a task gets the same events in the same order", async (world) => {
    const { id, subscriptions } = await watched(world, 3);
    await world.settled(message("report this", { taskId: id }));
    const [first, ...others] = await Promise.all(subscriptions.map((subscription) => subscription.rest()));
    assert.ok(first.length >= 4);
    for (const other of others) assert.deepEqual(other, first);
  }),
  applies("3.5.2", "MUST NOT", "closing one stream affects the others", async (world) => {
    const { id, subscriptions } = await watched(world, 2);
    subscriptions[0].abandon();
    await world.settled(message("this one", { taskId: id }));
    assert.equal(statesOf(await subscriptions[1].rest()).at(-1), "TASK_STATE_COMPLETED");
  }),
];

const version = (world, value) => world.carol.call("GET", "/tasks?pageSize=1", { headers: { "a2a-version": value } });

const VERSIONS = [
  applies("3.6", "SHOULD NOT", "a patch version stands in the card or an answer", async ({ agent }) => {
    const { supportedInterfaces } = (await agent.call("GET", CARD)).json;
    assert.deepEqual(
      supportedInterfaces.map(({ protocolVersion }) => protocolVersion),
      ["1.0"],
    );
  }),
  diverges(
    "3.6",
    "MUST NOT",
    "a patch version counts when the version is negotiated",
    {
      does: "`1.0` is the only value served; `1.0.1` is not supported.",
      because: "A patch version has no place in a request, and what is not exactly known fails by name, not by guess.",
    },
    async (world) => {
      assertError(await version(world, "1.0.1"), "VERSION_NOT_SUPPORTED");
    },
  ),
  excluded("3.6.1", "MUST", "clients send their version with each request", BECAUSE.client),
  diverges(
    "3.6.1",
    "defines",
    "a request without a version is taken for one of version 0.3",
    {
      does: "A request without a version is served as 1.0; an empty version is 0.3, and refused.",
      because: "0.3 is not served in any case, and leaving the header out is the commonest slip of a 1.0 client.",
    },
    async ({ carol }) => {
      assert.equal((await carol.call("GET", "/tasks?pageSize=1")).status, 200);
    },
  ),
  applies("3.6.2", "MUST", "a request is served by the rules of the version it names", async (world) => {
    assert.equal((await version(world, "1.0")).status, 200);
    assert.equal((await world.carol.call("GET", "/tasks?pageSize=1&A2A-Version=1.0")).status, 200);
  }),
  applies("3.6.2", "MUST", "a version that is not served is refused as such", async (world) => {
    for (const value of ["0.3", "1.1", "2.0"]) assertError(await version(world, value), "VERSION_NOT_SUPPORTED");
    assertError(await world.carol.call("GET", "/tasks?A2A-Version=0.3"), "VERSION_NOT_SUPPORTED");
  }),
  applies("3.6.2", "MUST", "the empty version is 0.3", async (world) => {
    assertError(await version(world, ""), "VERSION_NOT_SUPPORTED");
  }),
  excluded("3.6.3", "MUST", "libraries help clients to negotiate the version", "It is a duty of client libraries."),
];

const CONTENT = [
  applies("3.7", "SHOULD NOT", "a message carries what the task has produced", async (world) => {
    const { status, history } = await world.completed();
    assert.equal(status.message, undefined);
    assert.ok(history.every(({ role }) => role === "ROLE_USER"));
  }),
  applies("3.7", "SHOULD", "results are artifacts of the task", async (world) => {
    const [output, response] = (await world.completed()).artifacts;
    assert.deepEqual(output.parts[0].data, { pages: 3 });
    assert.equal(response.parts[0].text, "done: report this");
  }),
  excluded("3.7", "MUST NOT", "messages are relied on for critical information", BECAUSE.client),
  excluded("3.7", "MUST NOT", "clients rely on every message being in the history", BECAUSE.client),
];

export const DELIVERY = [...STREAMS, ...VERSIONS, ...CONTENT];
