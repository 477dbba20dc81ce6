// Which web pages may call.

import assert from "node:assert/strict";
import { test } from "node:test";

import { assertError } from "../support/contract.mjs";
import { Deployment } from "../support/deployment.mjs";

const PAGE = "https://app.example";
const STRANGER = "https://evil.example";
const EXPOSED = ["A2A-Extensions", "X-Request-Id", "WWW-Authenticate", "Retry-After"];

const closed = await Deployment.start();
const open = await Deployment.start({
  vars: { A2A_ALLOWED_ORIGINS: `${PAGE}, http://localhost:3000`, A2A_TICK_MS: "200" },
});
const alice = open.as("alice");

function list(value) {
  return (value ?? "").split(", ");
}

function assertAllowed(answer, origin = PAGE) {
  assert.equal(answer.headers["access-control-allow-origin"], origin);
  assert.equal(answer.headers.vary, "Origin");
  assert.equal(answer.headers["access-control-allow-credentials"], undefined);
  const exposed = list(answer.headers["access-control-expose-headers"]);
  for (const name of EXPOSED) assert.ok(exposed.includes(name), name);
}

function assertNotAllowed(answer) {
  const names = Object.keys(answer.headers).filter((name) => name.startsWith("access-control-"));
  assert.deepEqual(names, []);
}

function preflight(agent, path, origin, method = "POST") {
  const headers = {
    origin,
    "access-control-request-method": method,
    "access-control-request-headers": "authorization,content-type",
  };
  return agent.call("OPTIONS", path, { headers });
}

const PATHS = [
  ["/message:send", "POST"],
  ["/message:stream", "POST"],
  ["/tasks", "GET, HEAD"],
  ["/tasks/t-1", "GET, HEAD"],
  ["/tasks/t-1:cancel", "POST"],
  ["/tasks/t-1:subscribe", "GET, HEAD, POST"],
  ["/tasks/t-1/pushNotificationConfigs", "POST, GET, HEAD, PUT, PATCH, DELETE"],
  ["/extendedAgentCard", "GET, HEAD"],
  ["/resident/v1/wakes:take", "POST"],
  ["/resident/v1/wakes", "GET, HEAD"],
  ["/operator/v1/queues/default", "GET, HEAD"],
  ["/mcp", "POST"],
  ["/healthz", "GET, HEAD"],
  ["/openapi.json", "GET, HEAD"],
  ["/.well-known/agent-card.json", "GET, HEAD"],
];

test("OPTIONS needs no token and tells the methods of every path that exists", async () => {
  for (const [path, methods] of PATHS) {
    for (const agent of [open, closed]) {
      const answer = await agent.call("OPTIONS", path);
      assert.equal(answer.status, 204, path);
      assert.equal(answer.text, "");
      assert.equal(answer.headers.allow, `${methods}, OPTIONS`, path);
    }
  }
});

test("OPTIONS of a path that does not exist is 404", async () => {
  for (const path of ["/", "/unknown", "/tasks/t-1:unknown", "/acme/tasks"]) {
    assertError(await open.call("OPTIONS", path), "NOT_FOUND");
    assertError(await preflight(open, path, PAGE), "NOT_FOUND");
  }
});

test("a preflight of an allowed page names the methods of its path and the headers that clients send", async () => {
  for (const [path, methods] of PATHS.slice(0, -1)) {
    for (const origin of [PAGE, "http://localhost:3000"]) {
      const answer = await preflight(open, path, origin);
      assert.equal(answer.status, 204);
      assertAllowed(answer, origin);
      assert.equal(answer.headers["access-control-allow-methods"], methods);
      const headers = list(answer.headers["access-control-allow-headers"]).map((name) => name.toLowerCase());
      for (const name of [
        "authorization",
        "content-type",
        "a2a-version",
        "a2a-extensions",
        "accept",
        "last-event-id",
        "x-request-id",
        "traceparent",
      ]) {
        assert.ok(headers.includes(name), name);
      }
      assert.match(answer.headers["access-control-max-age"], /^\d+$/);
    }
  }
});

test("a preflight of any other page is answered and allows nothing", async () => {
  for (const [path] of PATHS.slice(0, -1)) {
    for (const origin of [STRANGER, "null", `${PAGE}.evil.example`, "http://app.example", `${PAGE}:8443`]) {
      const answer = await preflight(open, path, origin);
      assert.equal(answer.status, 204);
      assertNotAllowed(answer);
    }
    assertNotAllowed(await preflight(closed, path, PAGE));
  }
});

test("an allowed page may read every answer: a task, a list, and each kind of refusal", async () => {
  const headers = { origin: PAGE };
  const answers = [
    await alice.send("hello", { returnImmediately: true }, { headers }),
    await alice.call("GET", "/tasks", { headers }),
    await alice.call("GET", "/tasks/t-1", { headers }),
    await alice.call("GET", "/unknown", { headers }),
    await alice.call("DELETE", "/tasks", { headers }),
    await alice.call("POST", "/message:send", { headers, body: "not json" }),
    await open.call("GET", "/tasks", { headers }),
    await open.call("GET", "/tasks", { headers, token: open.tokens.resident }),
  ];
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 404, 404, 405, 400, 401, 403],
  );
  for (const answer of answers) assertAllowed(answer);
});

test("an allowed page may read a stream", async () => {
  const task = await alice.submit("hello");
  const stream = await alice.subscribe(task.id, { headers: { origin: PAGE } });
  assertAllowed(stream);
  assert.equal((await stream.next()).task.id, task.id);
  stream.abandon();
});

test("another page may read none of them, and caches keep the two apart", async () => {
  const task = await alice.submit("hello");
  for (const path of ["/tasks", `/tasks/${task.id}`, "/unknown"]) {
    for (const headers of [{ origin: STRANGER }, {}]) {
      const answer = await alice.call("GET", path, { headers });
      assertNotAllowed(answer);
      assert.equal(answer.headers.vary, "Origin");
    }
  }
});

test("unset, no page may read anything but the card", async () => {
  const headers = { origin: PAGE };
  for (const path of ["/tasks", "/tasks/t-1", "/healthz", "/openapi.json", "/unknown"]) {
    assertNotAllowed(await closed.as("alice").call("GET", path, { headers }));
  }
  assertNotAllowed(await preflight(closed, "/openapi.json", PAGE, "GET"));
  const card = "/.well-known/agent-card.json";
  assert.equal((await closed.call("GET", card, { headers })).headers["access-control-allow-origin"], "*");
  const answer = await preflight(closed, card, PAGE, "GET");
  assert.equal(answer.headers["access-control-allow-origin"], "*");
  assert.equal(answer.headers["access-control-allow-methods"], "GET, HEAD");
});

test("a star allows any page, without credentials", async () => {
  const agent = await Deployment.start({ vars: { A2A_ALLOWED_ORIGINS: "*" } });
  const answer = await agent.as("alice").call("GET", "/tasks", { headers: { origin: STRANGER } });
  assert.equal(answer.headers["access-control-allow-origin"], "*");
  assert.equal(answer.headers["access-control-allow-credentials"], undefined);
  assert.equal((await preflight(agent, "/tasks", STRANGER)).headers["access-control-allow-origin"], "*");
});

test("a malformed var allows nothing, and the log says what is wrong", async () => {
  const agent = await Deployment.start({ vars: { A2A_ALLOWED_ORIGINS: `${PAGE}, ${PAGE}/` } });
  assertNotAllowed(await preflight(agent, "/tasks", PAGE));
  assertNotAllowed(await agent.as("alice").call("GET", "/tasks", { headers: { origin: PAGE } }));
  assert.match(agent.log, /"allowed_origins_not_configured".*A2A_ALLOWED_ORIGINS: entry 1 /);
});
