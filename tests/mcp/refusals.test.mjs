// MCP requests that are none: each refused in the form that its client understands, and nothing is changed.

import assert from "node:assert/strict";
import { test } from "node:test";

import { assertNothingInternal } from "../support/contract.mjs";
import { Deployment } from "../support/deployment.mjs";
import { McpAgent } from "../support/mcp-agent.mjs";

const PAGE = "https://app.example";

const PARSE_ERROR = -32700;
const INVALID_REQUEST = -32600;
const METHOD_NOT_FOUND = -32601;
const INVALID_PARAMS = -32602;
const INTERNAL_ERROR = -32603;

const agent = await Deployment.start({ vars: { A2A_ALLOWED_ORIGINS: PAGE } });
const alice = agent.as("alice");
const mcp = await McpAgent.connect(agent);
const { id } = await alice.submit("work");
const turn = await mcp.turn();
const session = mcp.transport.sessionId;

/** A message as the client would send it; what is given replaces that. */
function post(body, { headers = {}, token = agent.tokens.resident } = {}) {
  return agent.call("POST", "/mcp", {
    token,
    headers: { "content-type": "application/json", "mcp-session-id": session, ...headers },
    body,
  });
}

const request = (method, params) => ({ jsonrpc: "2.0", id: 7, method, params });
const callTool = (name, fields) => request("tools/call", { name, arguments: fields });

/** Asserts that the answer is a JSON-RPC error, and to which request. */
function assertRpcError(answer, status, code, answers) {
  assert.equal(answer.status, status, answer.text);
  assert.equal(answer.headers["content-type"], "application/json");
  const { error, ...rest } = answer.json;
  assert.deepEqual(rest, { jsonrpc: "2.0", id: answers }, answer.text);
  assert.equal(error.code, code, answer.text);
  assert.notEqual(error.message, "");
  assertNothingInternal(answer);
}

/** Asserts that the request was refused before its message was read, and for which reason. */
function assertRefused(answer, status, reason, code = INVALID_REQUEST) {
  assertRpcError(answer, status, code, null);
  assert.equal(answer.json.error.data.reason, reason);
}

test("what is no JSON-RPC message is refused by its code", async () => {
  const ping = request("ping");
  for (const [body, code, answers] of [
    ["", PARSE_ERROR, null],
    ["{", PARSE_ERROR, null],
    ["nonsense", PARSE_ERROR, null],
    ['{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', PARSE_ERROR, null],
    ["7", INVALID_REQUEST, null],
    ["{}", INVALID_REQUEST, null],
    [[ping], INVALID_REQUEST, null],
    [[], INVALID_REQUEST, null],
    [{ ...ping, jsonrpc: "1.0" }, INVALID_REQUEST, null],
    [{ ...ping, id: {} }, INVALID_REQUEST, null],
    [{ ...ping, id: null }, INVALID_REQUEST, null],
    [{ ...ping, method: 1 }, INVALID_REQUEST, 7],
    [{ jsonrpc: "2.0", id: 7 }, INVALID_REQUEST, 7],
    [{ ...ping, params: [] }, INVALID_PARAMS, 7],
  ]) {
    assertRpcError(await post(body), 400, code, answers);
  }
});

test("a version that is not spoken is refused, and one that is may be named or left out", async () => {
  const versioned = (version) => post(request("ping"), { headers: { "mcp-protocol-version": version } });
  for (const version of ["2024-11-05", "1.0", "", "2025-11-25, 2025-06-18"]) {
    const answer = await versioned(version);
    assertRpcError(answer, 400, INVALID_REQUEST, 7);
    assert.match(answer.json.error.message, /2025-11-25, 2025-06-18, 2025-03-26/);
  }
  for (const version of ["2025-11-25", "2025-06-18", "2025-03-26"]) {
    assert.deepEqual((await versioned(version)).json.result, {}, version);
  }
  assert.deepEqual((await post(request("ping"))).json.result, {});
});

test("every request but the first needs the session that it was given", async () => {
  for (const method of ["ping", "tools/list", "tools/call"]) {
    for (const bad of ["", "no identifier", "x".repeat(129)]) {
      assertRpcError(await post(request(method), { headers: { "mcp-session-id": bad } }), 400, INVALID_REQUEST, 7);
    }
  }
});

test("an unknown method, an unknown tool and a call that is none are protocol errors", async () => {
  for (const method of ["tools/unknown", "resources/list", "prompts/list", ""]) {
    assertRpcError(await post(request(method)), 200, METHOD_NOT_FOUND, 7);
  }
  for (const body of [
    callTool("a2a_delete_task", {}),
    callTool("", {}),
    callTool(undefined, {}),
    callTool(1, {}),
    callTool("a2a_read_task", []),
    callTool("a2a_read_task", "x"),
    request("tools/call"),
  ]) {
    assertRpcError(await post(body), 200, INVALID_PARAMS, 7);
  }
});

test("what wants no answer gets none", async () => {
  for (const body of [
    { jsonrpc: "2.0", method: "notifications/initialized" },
    { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 7 } },
    { jsonrpc: "2.0", id: 7, result: {} },
  ]) {
    const answer = await post(body);
    assert.equal(answer.status, 202);
    assert.equal(answer.text, "");
  }
});

test("the server offers no stream of its own and ends no session: only POST is answered", async () => {
  for (const method of ["GET", "DELETE", "PUT", "HEAD"]) {
    const answer = await agent.call(method, "/mcp", {
      token: agent.tokens.resident,
      headers: { accept: "text/event-stream", "mcp-session-id": session },
    });
    assert.equal(answer.status, 405, method);
    assert.equal(answer.headers.allow, "POST, OPTIONS");
    if (method !== "HEAD") assertRefused(answer, 405, "METHOD_NOT_ALLOWED");
  }
});

test("only a resident and the bearer of a turn get in, and others are told in JSON-RPC's form", async () => {
  const nobody = await agent.call("POST", "/mcp", { body: request("ping") });
  assertRefused(nobody, 401, "UNAUTHENTICATED");
  assert.equal(nobody.headers["www-authenticate"], 'Bearer realm="a2a"');
  for (const token of ["a-token-nobody-has", "turn~nobody~t-1~secret"]) {
    const unknown = await post(request("ping"), { token });
    assertRefused(unknown, 401, "UNAUTHENTICATED");
    assert.equal(unknown.headers["www-authenticate"], 'Bearer realm="a2a", error="invalid_token"');
  }
  for (const name of ["alice", "operator"]) {
    assertRefused(await post(request("ping"), { token: agent.tokens[name] }), 403, "PERMISSION_DENIED");
  }
});

test("a deployment without credentials says so in JSON-RPC's form, as a fault of its own", async () => {
  const bare = await Deployment.start({ vars: { A2A_CREDENTIALS: undefined } });
  const answer = await bare.call("POST", "/mcp", { token: "a-token-nobody-has", body: request("ping") });
  assertRefused(answer, 503, "CREDENTIALS_NOT_CONFIGURED", INTERNAL_ERROR);
});

test("a web page is refused unless its origin is allowed", async () => {
  const from = (origin) => post(request("ping"), { headers: { origin } });
  for (const origin of ["https://evil.example", "null", `${PAGE}:8443`, "http://app.example", agent.url]) {
    const refused = await from(origin);
    assertRefused(refused, 403, "PERMISSION_DENIED");
  }
  const allowed = await from(PAGE);
  assert.deepEqual(allowed.json.result, {});
  assert.equal(allowed.headers["access-control-allow-origin"], PAGE);
  assert.match(allowed.headers["access-control-expose-headers"], /Mcp-Session-Id/);
  const preflight = await agent.call("OPTIONS", "/mcp", { headers: { origin: PAGE } });
  assert.match(preflight.headers["access-control-allow-headers"], /Mcp-Session-Id, MCP-Protocol-Version/);
});

test("a body of another type or over 1 MiB is refused before it is read, in JSON-RPC's form", async () => {
  for (const type of ["text/plain", "", "application/jsonx", "text/event-stream"]) {
    const typed = await post(JSON.stringify(request("ping")), { headers: { "content-type": type } });
    assertRefused(typed, 400, "CONTENT_TYPE_NOT_SUPPORTED");
  }
  const response = "x".repeat(1024 * 1024);
  const large = await post(callTool("a2a_complete_task", { turnId: turn.turnId, taskId: turn.taskId, response }));
  assertRpcError(large, 413, INVALID_REQUEST, null);
  assert.deepEqual(large.json.error.data, {
    reason: "PAYLOAD_TOO_LARGE",
    fields: { body: "must be at most 1048576 bytes" },
  });
});

test("after all of it the turn is live and its task unchanged", async () => {
  const task = await alice.task(id);
  assert.equal(task.status.state, "TASK_STATE_WORKING");
  assert.equal(task.artifacts, undefined);
  assert.equal(await turn.complete("done"), "TASK_STATE_COMPLETED");
});
