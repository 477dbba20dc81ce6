// HEAD is answered wherever GET is, with the same status and headers and no body.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Deployment } from "../support/deployment.mjs";

const agent = await Deployment.start();
const alice = agent.as("alice");

const SAME = ["content-type", "cache-control", "www-authenticate", "allow", "etag"];

async function assertAlike(path, status, options) {
  const get = await agent.call("GET", path, options);
  const head = await agent.call("HEAD", path, options);
  assert.equal(get.status, status, path);
  assert.equal(head.status, status, path);
  assert.equal(head.text, "", path);
  for (const name of SAME) assert.equal(head.headers[name], get.headers[name], `${name} of ${path}`);
}

test("HEAD of a task, a list, the public routes and of every refusal is GET without the body", async () => {
  const task = await alice.submit("hello");
  const token = agent.tokens.alice;
  await assertAlike(`/tasks/${task.id}`, 200, { token });
  await assertAlike("/tasks", 200, { token });
  await assertAlike("/tasks/t-1", 404, { token });
  await assertAlike("/tasks?pageSize=0", 400, { token });
  await assertAlike("/tasks", 401, {});
  await assertAlike("/tasks", 403, { token: agent.tokens.resident });
  await assertAlike("/extendedAgentCard", 400, { token });
  await assertAlike("/tasks/t-1/pushNotificationConfigs", 501, { token });
  await assertAlike("/tasks/t-1:subscribe", 404, { token });
  await assertAlike("/healthz", 200, {});
  await assertAlike("/openapi.json", 200, {});
  await assertAlike("/unknown", 404, {});
  await assertAlike("/message:send", 405, { token });
});

test("HEAD of a subscription tells that there would be a stream, and opens none", async () => {
  const task = await alice.submit("hello");
  const head = await alice.call("HEAD", `/tasks/${task.id}:subscribe`);
  assert.equal(head.status, 200);
  assert.equal(head.text, "");
  assert.equal(head.headers["content-type"], "text/event-stream");
  await alice.cancel(task.id);
  assert.equal((await alice.call("HEAD", `/tasks/${task.id}:subscribe`)).status, 400);
});
