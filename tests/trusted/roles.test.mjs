// Who may call the trusted surface, and as whom.

import assert from "node:assert/strict";
import { test } from "node:test";

import { assertError } from "../support/contract.mjs";
import { askForEvidence, drain, event, Intake, start } from "./intake.mjs";
import { ROUTES, WITH_BODY } from "./routes.mjs";

const { agent, source, platform } = await start();
const STRANGERS = ["alice", "resident", "second", "operator"];

/** The route's answer to whoever has this token. */
const call = (operation, token, options) => {
  const [method, path, body] = ROUTES[operation]();
  return new Intake(agent, token).call(method, path, body, options);
};

for (const operation of Object.keys(ROUTES)) {
  test(`${operation} is for sources and platforms, and for nobody else`, async () => {
    for (const name of STRANGERS) assertError(await call(operation, agent.tokens[name]), "PERMISSION_DENIED");
    assertError(await call(operation, undefined), "UNAUTHENTICATED");
    assertError(await call(operation, "a-token-that-nobody-has"), "UNAUTHENTICATED");
    for (const intake of [source, platform]) {
      const { status } = await call(operation, intake.token);
      assert.ok([200, 404].includes(status), `${status}`);
    }
  });
}

test("a turn's token is no source's", async () => {
  await source.accept("for a turn");
  const turn = await agent.resident().turn();
  for (const operation of Object.keys(ROUTES)) assertError(await call(operation, turn.token), "PERMISSION_DENIED");
  await turn.complete("done");
  await turn.end();
});

test("evidence is the operator's to read, and nobody else's", async () => {
  assert.equal((await askForEvidence(agent, "principal=alice")).status, 200);
  for (const token of [...STRANGERS.slice(0, 3).map((name) => agent.tokens[name]), source.token, platform.token]) {
    assertError(await askForEvidence(agent, "principal=alice", token), "PERMISSION_DENIED");
  }
  assertError(await askForEvidence(agent, "principal=alice", "a-token-that-nobody-has"), "UNAUTHENTICATED");
});

test("a source is no client and no resident; a platform is a client, too", async () => {
  const message = { body: { message: event("x") } };
  for (const [method, path, options] of [
    ["POST", "/message:send", message],
    ["GET", "/tasks"],
    ["POST", "/resident/v1/wakes:take", { body: { session: "s-1" } }],
    ["GET", "/operator/v1/queues/default"],
  ]) {
    assertError(await agent.call(method, path, { token: source.token, ...options }), "PERMISSION_DENIED");
  }
  const spoken = await agent.call("POST", "/mcp", { token: source.token, body: {} });
  assert.equal(spoken.status, 403);
  assert.equal(spoken.json.error.data.reason, "PERMISSION_DENIED");
  assert.equal((await agent.call("GET", "/tasks", { token: platform.token })).status, 200);
});

test("a body speaks for the credential's principal, and for no other", async () => {
  for (const operation of WITH_BODY) {
    const [method, path, body] = ROUTES[operation]();
    for (const intake of [source, platform]) {
      const refused = await intake.call(method, path, { ...body, principal: "bob" });
      assertError(refused, "PERMISSION_DENIED", "principal");
      const { status } = await intake.call(method, path, { ...body, principal: "alice" });
      assert.ok([200, 404].includes(status), `${operation} ${status}`);
    }
  }
  const stored = await agent.rows("PrincipalObject", "SELECT DISTINCT source FROM claims");
  assert.equal(stored.length, 1, "Alice's object alone");
  await drain(agent.resident());
});

test("no version of A2A is asked for", async () => {
  const headers = { "a2a-version": "0.3" };
  for (const operation of ["ReadSource", "AcceptActivation"]) {
    assert.equal((await call(operation, source.token, { headers })).status, 200);
  }
});

test("another method is 405 and names those there are, and OPTIONS and HEAD answer as everywhere", async () => {
  for (const [path, allow, methods] of [
    ["activations", "POST, OPTIONS", ["GET", "PUT", "DELETE"]],
    ["sources/chat", "PUT, GET, HEAD, OPTIONS", ["POST", "DELETE", "PATCH"]],
    ["sources/chat/checkpoint", "PUT, OPTIONS", ["GET", "POST"]],
    ["tasks/t-1", "GET, HEAD, OPTIONS", ["POST", "DELETE"]],
    ["deliveries/d-1:settle", "POST, OPTIONS", ["GET", "PUT"]],
  ]) {
    for (const method of methods) {
      const answer = await source.call(method, path);
      assertError(answer, "METHOD_NOT_ALLOWED");
      assert.equal(answer.headers.allow, allow, `${method} ${path}`);
    }
    const options = await agent.call("OPTIONS", `/trusted/v1/${path}`);
    assert.equal(options.status, 204);
    assert.equal(options.headers.allow, allow);
  }
  for (const path of ["", "activations/", "sources", "sources/a/b", "deliveries/d-1", "deliveries/d-1:send", "tasks"]) {
    assertError(await source.call("POST", path), "NOT_FOUND");
  }
  const [get, head] = [await source.call("GET", "sources/chat"), await source.call("HEAD", "sources/chat")];
  assert.equal(head.status, 200);
  assert.equal(head.text, "");
  assert.equal(head.headers["content-type"], get.headers["content-type"]);
});

test("a page that is allowed may call with PUT", async () => {
  const open = await start({ vars: { A2A_ALLOWED_ORIGINS: "https://app.example" } });
  const answer = await open.agent.call("OPTIONS", "/trusted/v1/sources/chat", {
    headers: {
      origin: "https://app.example",
      "access-control-request-method": "PUT",
      "access-control-request-headers": "authorization,content-type",
    },
  });
  assert.equal(answer.status, 204);
  assert.match(answer.headers["access-control-allow-methods"], /\bPUT\b/);
});

test("the log names the operation and shows no more than a pseudonym", async () => {
  for (const operation of Object.keys(ROUTES)) {
    const headers = { "x-request-id": `line-${operation}` };
    await call(operation, source.token, { headers });
    const [line] = await agent.logged(new RegExp(`{[^\\n]*"requestId":"line-${operation}"[^\\n]*}`));
    const record = JSON.parse(line);
    assert.equal(record.operation, operation);
    assert.match(record.principal, /^[0-9a-f]{16}$/);
  }
  await drain(agent.resident());
});
