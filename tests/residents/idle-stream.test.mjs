// A stream on which nothing happens proves that it lives, every 15 seconds.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Deployment } from "../support/deployment.mjs";
import { EventStream } from "../support/event-stream.mjs";

test("a comment comes after 15 seconds, on a stream of wakes as on one of a task", async () => {
  const agent = await Deployment.start();
  const { id } = await agent.as("carol").submit("idle");
  const wakes = await EventStream.open(`${agent.url}/resident/v1/wakes`, "GET", { token: agent.tokens.resident });
  const task = await agent.as("carol").subscribe(id);
  await task.next();
  const begun = Date.now();
  await Promise.all([wakes, task].map((stream) => stream.comment(1, 25_000)));
  const elapsed_ms = Date.now() - begun;
  assert.ok(elapsed_ms > 13_000 && elapsed_ms < 20_000, `${elapsed_ms} ms`);
  assert.deepEqual([wakes.frames.length, task.frames.length], [0, 1]);
  for (const stream of [wakes, task]) stream.abandon();
});
