import assert from "node:assert/strict";
import { test } from "node:test";

import { assertError } from "../support/contract.mjs";
import { Deployment, message } from "../support/deployment.mjs";

const agent = await Deployment.start();
const body = { message: message("hello") };

test("without a known bearer token every operation is 401 and names the scheme", async () => {
  for (const authorization of [
    undefined,
    "Bearer",
    "Bearer ",
    "Bearer wrong-token-of-some-length",
    `Basic ${agent.tokens.alice}`,
    agent.tokens.alice,
    `Bearer ${agent.tokens.alice} ${agent.tokens.alice}`,
    `Bearer ${agent.tokens.alice.slice(0, -1)}`,
  ]) {
    const headers = authorization === undefined ? {} : { authorization };
    for (const [method, path, options] of [
      ["POST", "/message:send", { body }],
      ["POST", "/message:stream", { body }],
      ["GET", "/tasks/t-1", {}],
      ["POST", "/tasks/t-1:cancel", {}],
      ["GET", "/tasks/t-1:subscribe", {}],
      ["POST", "/resident/v1/wakes:take", { body: { session: "s-1" } }],
    ]) {
      const answer = await agent.call(method, path, { headers, ...options });
      assertError(answer, "UNAUTHENTICATED");
      assert.match(answer.headers["www-authenticate"], /^Bearer\b/);
    }
  }
  assert.deepEqual(await agent.storedObjects(), []);
});

test("what only looks like a turn's token opens nothing", async () => {
  for (const [token, reason] of [
    ["turn~default~t-1~0123456789abcdef0123456789abcdef", "TURN_NOT_LIVE"],
    ["turn~nobody~t-1~0123456789abcdef0123456789abcdef", "UNAUTHENTICATED"],
    ["turn~default~t-1", "UNAUTHENTICATED"],
    ["turn~", "UNAUTHENTICATED"],
  ]) {
    const call = (path, fields) => agent.call("POST", `/resident/v1/${path}`, { token, body: fields });
    assertError(await call("turns/t-1:heartbeat", {}), reason);
    assertError(await call("tools/a2a_read_task", { turnId: "t-1", taskId: "t-1" }), reason);
    const elsewhere = reason === "TURN_NOT_LIVE" ? "PERMISSION_DENIED" : reason;
    assertError(await call("wakes:take", { session: "s-1" }), elsewhere);
    assertError(await call("turns/t-1:end", { outcome: "ended" }), elsewhere);
    assertError(await agent.call("POST", "/message:send", { token, body }), elsewhere);
  }
});

test("the scheme's name is matched in any case", async () => {
  const headers = { authorization: `bEARER ${agent.tokens.alice}` };
  assert.equal((await agent.call("GET", "/tasks/t-1", { headers })).status, 404);
});

test("a resident's token opens no operation of a client", async () => {
  for (const [method, path, options] of [
    ["POST", "/message:send", { body }],
    ["GET", "/tasks/t-1", {}],
    ["POST", "/tasks/t-1:cancel", {}],
  ]) {
    assertError(await agent.call(method, path, { token: agent.tokens.resident, ...options }), "PERMISSION_DENIED");
  }
});

test("a body is not looked at before the caller is known", async () => {
  const answer = await agent.call("POST", "/message:send", { body: "not json" });
  assertError(answer, "UNAUTHENTICATED");
});

test("no token is ever logged or answered", () => {
  for (const token of Object.values(agent.tokens)) assert.ok(!agent.log.includes(token));
});
