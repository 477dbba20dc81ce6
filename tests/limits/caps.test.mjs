// What one principal may have at once: unfinished tasks, and streams.

import assert from "node:assert/strict";
import { test } from "node:test";

import { assertError } from "../support/contract.mjs";
import { Deployment, message } from "../support/deployment.mjs";
import { until } from "../support/until.mjs";

const agent = await Deployment.start({
  vars: { A2A_MAX_OPEN_TASKS: "2", A2A_MAX_WATCHERS: "2", A2A_TICK_MS: "100" },
});

test("over the cap on unfinished tasks a new one is refused by the cap's name, and nothing is stored", async () => {
  const alice = agent.as("alice");
  const first = await alice.submit("one");
  await alice.submit("two");
  const third = message("three");
  const refused = await alice.send(third, { returnImmediately: true });
  assert.equal(refused.status, 429);
  const { metadata } = assertError(refused, "RESOURCE_EXHAUSTED");
  assert.equal(metadata.cap, "A2A_MAX_OPEN_TASKS");
  assert.equal(metadata.max, "2");
  await alice.cancel(first.id);
  const accepted = await alice.send(third, { returnImmediately: true });
  assert.equal(accepted.status, 200);
  const list = await alice.call("GET", "/tasks");
  assert.equal(list.json.totalSize, 3);
});

test("the cap is each principal's own", async () => {
  const bob = agent.as("bob");
  await bob.submit("one");
  await bob.submit("two");
});

test("a send that would have to be watched is refused before it is accepted, and nothing is stored", async () => {
  const another = await Deployment.start({ vars: { A2A_MAX_WATCHERS: "2" } });
  const bob = another.as("bob");
  const { id } = await bob.submit("watched");
  const streams = [await bob.subscribe(id), await bob.subscribe(id)];
  const blocking = message("wait for me");
  for (const refused of [
    await bob.send(blocking),
    await bob.call("POST", "/message:stream", { body: { message: message("stream me") } }),
  ]) {
    assert.equal(refused.status, 429);
    assert.equal(assertError(refused, "RESOURCE_EXHAUSTED").metadata.cap, "A2A_MAX_WATCHERS");
  }
  assert.equal((await bob.call("GET", "/tasks")).json.totalSize, 1);
  const accepted = await bob.submit(blocking);
  const duplicate = await bob.send(blocking);
  assert.equal(duplicate.status, 200);
  assert.equal(duplicate.json.task.id, accepted.id);
  const frames = await (await bob.sendStreaming(blocking)).rest();
  assert.deepEqual(
    frames.map(({ task }) => task.id),
    [accepted.id],
  );
  for (const stream of streams) stream.abandon();
});

test("over the cap on watchers a stream is refused as JSON, until another ends", async () => {
  const carol = agent.as("carol");
  const { id } = await carol.submit("watched");
  const first = await carol.subscribe(id);
  await carol.subscribe(id);
  const refused = await carol.call("GET", `/tasks/${id}:subscribe`);
  assert.equal(refused.status, 429);
  const { metadata } = assertError(refused, "RESOURCE_EXHAUSTED");
  assert.equal(metadata.cap, "A2A_MAX_WATCHERS");
  first.abandon();
  const stream = await until("a place is free", async () => {
    const stream = await carol.subscribe(id).catch(() => undefined);
    return stream;
  });
  stream.abandon();
});
