// What every answer carries, and the line that every request leaves in the log.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";

import { Deployment } from "../support/deployment.mjs";
import { until } from "../support/until.mjs";
import { frontOf } from "./front.mjs";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const agent = await Deployment.start();
const alice = agent.as("alice");

/** The log's line of the request with this id. */
function lineOf(requestId, deployment = agent) {
  return until(`the line of ${requestId}`, () => {
    const lines = deployment.log
      .split("\n")
      .filter((line) => line.startsWith("{") && line.includes(`"requestId":"${requestId}"`))
      .map((line) => JSON.parse(line));
    assert.ok(lines.length <= 1, `${lines.length} lines of ${requestId}`);
    return lines[0];
  });
}

const REQUESTS = [
  ["GET", "/.well-known/agent-card.json", 200],
  ["GET", "/openapi.json", 200],
  ["GET", "/healthz", 200],
  ["OPTIONS", "/tasks", 204],
  ["GET", "/unknown", 404],
  ["DELETE", "/tasks", 405],
  ["GET", "/tasks", 200],
  ["GET", "/tasks/t-1", 404],
];

test("a request's id is the caller's where it is an identifier", async () => {
  for (const [method, path, status] of REQUESTS) {
    const id = `caller:${method}${path.replaceAll("/", ".")}`;
    const answer = await alice.call(method, path, { headers: { "x-request-id": id } });
    assert.equal(answer.status, status);
    assert.equal(answer.headers["x-request-id"], id);
    assert.equal((await lineOf(id)).status, status);
  }
});

test("a request without a usable id gets one of its own", async () => {
  const given = [undefined, "", " ", "a b", "-x", "x".repeat(129), "a/b", '"}', "a,b"];
  const made = new Set();
  for (const id of given) {
    const headers = id === undefined ? {} : { "x-request-id": id };
    const answer = await alice.call("GET", "/tasks", { headers });
    assert.match(answer.headers["x-request-id"], /^[0-9a-f-]{36}$/, id);
    made.add(answer.headers["x-request-id"]);
  }
  assert.equal(made.size, given.length);
});

test("no answer is sniffed for another type, and http promises nothing of https", async () => {
  for (const [method, path] of REQUESTS) {
    const { headers } = await alice.call(method, path);
    assert.equal(headers["x-content-type-options"], "nosniff", path);
    assert.equal(headers["strict-transport-security"], undefined, path);
  }
});

test("over https every answer asks for https from then on", async () => {
  const secure = await Deployment.start({ entry: frontOf({ origin: "https://agent.example" }) });
  for (const [method, path, status] of REQUESTS) {
    const answer = await secure.as("alice").call(method, path);
    assert.equal(answer.status, status);
    assert.match(answer.headers["strict-transport-security"], /^max-age=\d{8}$/, path);
  }
});

test("a stream carries the same headers, and its line is written when it begins", async () => {
  const task = await alice.submit("hello");
  const stream = await alice.subscribe(task.id, { headers: { "x-request-id": "stream-1" } });
  assert.equal(stream.headers["x-request-id"], "stream-1");
  assert.equal(stream.headers["x-content-type-options"], "nosniff");
  const line = await lineOf("stream-1");
  assert.equal(line.operation, "SubscribeToTask");
  assert.equal(line.status, 200);
  stream.abandon();
});

test("the log's line names the operation, the principal's pseudonym, the trace, and why it was refused", async () => {
  const headers = { "x-request-id": "line-1", traceparent: `00-${TRACE}-00f067aa0ba902b7-01` };
  await alice.call("GET", "/tasks/t-1", { headers });
  const { ms, ...line } = await lineOf("line-1");
  assert.deepEqual(line, {
    event: "request",
    requestId: "line-1",
    traceId: TRACE,
    operation: "GetTask",
    principal: createHash("sha256").update("alice").digest("hex").slice(0, 16),
    status: 404,
    reason: "TASK_NOT_FOUND",
  });
  assert.ok(Number.isInteger(ms) && ms >= 0);
});

test("a caller that is not known, a path that does not exist and an invalid trace are left out", async () => {
  const traceparent = `00-${"0".repeat(32)}-00f067aa0ba902b7-01`;
  await agent.call("GET", "/unknown", { headers: { "x-request-id": "line-2", traceparent } });
  const { ms, ...line } = await lineOf("line-2");
  assert.deepEqual(line, { event: "request", requestId: "line-2", status: 404, reason: "NOT_FOUND" });
  await agent.call("GET", "/tasks", { headers: { "x-request-id": "line-3" }, token: "a-token-nobody-has" });
  const refused = await lineOf("line-3");
  assert.equal(refused.operation, "ListTasks");
  assert.equal(refused.principal, undefined);
  assert.equal(refused.reason, "UNAUTHENTICATED");
});

test("the log holds no principal's name and no token", async () => {
  await alice.call("GET", "/tasks", { headers: { "x-request-id": "line-4" } });
  await lineOf("line-4");
  const lines = agent.log.split("\n").filter((line) => line.includes('"event":"request"'));
  assert.ok(lines.length > 0);
  for (const line of lines) assert.doesNotMatch(line, /alice|bob|carol/);
  for (const token of Object.values(agent.tokens)) assert.ok(!agent.log.includes(token));
});

test("a 401 names the scheme, and whether a token was sent that is not good", async () => {
  const challenge = async (headers) => (await agent.call("GET", "/tasks", { headers })).headers["www-authenticate"];
  assert.equal(await challenge({}), 'Bearer realm="a2a"');
  assert.equal(await challenge({ authorization: "Basic YTpi" }), 'Bearer realm="a2a"');
  const invalid = 'Bearer realm="a2a", error="invalid_token"';
  assert.equal(await challenge({ authorization: "Bearer a-token-nobody-has" }), invalid);
  assert.equal(await challenge({ authorization: "Bearer turn~nobody~t-1~0123456789abcdef0123456789abcdef" }), invalid);
});
