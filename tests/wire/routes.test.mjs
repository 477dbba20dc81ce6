import assert from "node:assert/strict";
import { test } from "node:test";

import { assertError } from "../support/contract.mjs";
import { Deployment } from "../support/deployment.mjs";

const agent = await Deployment.start();
const alice = agent.as("alice");

test("an unknown path is 404 as JSON, whatever the method", async () => {
  for (const path of [
    "/",
    "/unknown",
    "/tasks/",
    "/tasks/t-1/",
    "/tasks/t-1:unknown",
    "/tasks/t-1:cancel:cancel",
    "/tasks/:cancel",
    "/message:send/",
    "/message",
    "/v1/message:send",
    "/acme/message:send",
    "/resident/v1",
    "/resident/v1/wake",
    "//tasks/t-1",
    "/tasks/t-1/unknown",
    `/${"a".repeat(4000)}`,
  ]) {
    for (const method of ["GET", "POST", "DELETE"]) {
      assertError(await alice.call(method, path), "NOT_FOUND");
    }
  }
});

test("another method on a known path is 405 and names those allowed", async () => {
  for (const [path, allow, methods] of [
    ["/message:send", "POST, OPTIONS", ["GET", "PUT", "DELETE", "PATCH"]],
    ["/message:stream", "POST, OPTIONS", ["GET", "PUT"]],
    ["/tasks/t-1", "GET, HEAD, OPTIONS", ["POST", "PUT", "DELETE"]],
    ["/tasks/t-1:cancel", "POST, OPTIONS", ["GET", "DELETE"]],
    ["/tasks/t-1:subscribe", "GET, HEAD, POST, OPTIONS", ["PUT", "DELETE"]],
    ["/.well-known/agent-card.json", "GET, HEAD, OPTIONS", ["POST", "DELETE"]],
    ["/resident/v1/wakes:take", "POST, OPTIONS", ["GET", "DELETE"]],
    ["/resident/v1/tools/a2a_read_task", "POST, OPTIONS", ["GET"]],
  ]) {
    for (const method of methods) {
      const answer = await alice.call(method, path);
      assertError(answer, "METHOD_NOT_ALLOWED");
      assert.equal(answer.headers.allow, allow, `${method} ${path}`);
    }
  }
});

test("no Accept header is refused", async () => {
  for (const accept of ["text/html", "application/xml", "image/png, */*;q=0", "nonsense"]) {
    const { status } = await alice.send("hello", { returnImmediately: true }, { headers: { accept } });
    assert.equal(status, 200, accept);
  }
});

test("push notifications are off on every verb, for callers that are known", async () => {
  for (const path of ["/tasks/t-1/pushNotificationConfigs", "/tasks/t-1/pushNotificationConfigs/c-1"]) {
    for (const method of ["GET", "POST", "PUT", "DELETE"]) {
      assertError(await alice.call(method, path), "PUSH_NOTIFICATION_NOT_SUPPORTED");
      assertError(await agent.call(method, path), "UNAUTHENTICATED");
    }
  }
});

test("there is no extended card", async () => {
  assertError(await alice.call("GET", "/extendedAgentCard"), "UNSUPPORTED_OPERATION");
});
