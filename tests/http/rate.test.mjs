// The optional limit on how often a principal may call. workerd has no rate limiter of its own, so the front gives one
// that counts as Cloudflare's does, without a period.

import assert from "node:assert/strict";
import { test } from "node:test";

import { assertNothingInternal } from "../support/contract.mjs";
import { Deployment, message } from "../support/deployment.mjs";
import { frontOf } from "./front.mjs";

const LIMIT = 3;
const COUNTING = `{
  RATE_LIMITER: {
    counts: new Map(),
    async limit({ key }) {
      const count = (this.counts.get(key) ?? 0) + 1;
      this.counts.set(key, count);
      console.log("limit " + key);
      return { success: count <= ${LIMIT} };
    },
  },
}`;

function assertOver(answer) {
  assert.equal(answer.status, 429, answer.text);
  assert.equal(answer.headers["content-type"], "application/a2a+json");
  assert.match(answer.headers["retry-after"], /^[1-9]\d*$/);
  const { error } = answer.json;
  assert.equal(error.code, 429);
  assert.equal(error.status, "RESOURCE_EXHAUSTED");
  assert.equal(error.details[0].reason, "RESOURCE_EXHAUSTED");
  assertNothingInternal(answer);
}

test("over its limit a principal is told when to come again, and others are not affected", async () => {
  const agent = await Deployment.start({ entry: frontOf({ bindings: COUNTING }) });
  const [alice, bob] = [agent.as("alice"), agent.as("bob")];
  for (let n = 0; n < LIMIT; n += 1) assert.equal((await alice.call("GET", "/tasks")).status, 200);
  assertOver(await alice.call("GET", "/tasks"));
  assertOver(await alice.send("hello"));
  assertOver(await alice.call("GET", "/tasks/t-1:subscribe"));
  assert.equal((await bob.call("GET", "/tasks")).status, 200);
  assert.equal((await agent.call("GET", "/.well-known/agent-card.json")).status, 200);
});

test("all tokens of a principal count together, by a hash of its name and whatever their role", async () => {
  const tokens = { client: "client-token-of-alice", trusted: "trusted-token-of-alice" };
  const document = {
    credentials: [
      { token: tokens.client, principal: "alice" },
      { token: tokens.trusted, principal: "alice", role: "trusted" },
    ],
  };
  const agent = await Deployment.start({
    vars: { A2A_CREDENTIALS: JSON.stringify(document) },
    entry: frontOf({ bindings: COUNTING }),
  });
  for (const token of [tokens.client, tokens.trusted, tokens.client]) {
    assert.equal((await agent.call("GET", "/tasks", { token })).status, 200);
  }
  assertOver(await agent.call("GET", "/tasks", { token: tokens.trusted }));
  const keys = [...agent.log.matchAll(/^limit (.*)$/gm)].map(([, key]) => key);
  assert.equal(new Set(keys).size, 1);
  assert.match(keys[0], /^[0-9a-f]{64}$/);
});

test("what is refused before does not count, and the body is not looked at before the limit", async () => {
  const agent = await Deployment.start({ entry: frontOf({ bindings: COUNTING }) });
  const alice = agent.as("alice");
  for (let n = 0; n < LIMIT + 1; n += 1) {
    assert.equal((await agent.call("GET", "/tasks")).status, 401);
    assert.equal((await alice.call("GET", "/unknown")).status, 404);
    assert.equal((await alice.call("OPTIONS", "/tasks")).status, 204);
    assert.equal((await alice.call("GET", "/tasks", { headers: { "a2a-version": "0.3" } })).status, 400);
    assert.equal((await alice.call("POST", "/resident/v1/wakes:take", { body: {} })).status, 403);
  }
  for (let n = 0; n < LIMIT; n += 1) assert.equal((await alice.call("GET", "/tasks")).status, 200);
  assertOver(await alice.call("POST", "/message:send", { body: "not json" }));
});

test("a forged token of a turn uses up nobody's limit", async () => {
  const agent = await Deployment.start({ entry: frontOf({ bindings: COUNTING }) });
  const resident = agent.tokens.resident;
  const heartbeat = (token, turnId) =>
    agent.call("POST", `/resident/v1/turns/${turnId}:heartbeat`, { token, body: {} });
  for (let n = 0; n < LIMIT; n += 1) {
    const { status } = await heartbeat("turn~default~t-1~0123456789abcdef0123456789abcdef", "t-1");
    assert.equal(status, 409);
  }
  assertOver(await heartbeat("turn~default~t-1~0123456789abcdef0123456789abcdef", "t-1"));
  assert.equal((await heartbeat("turn~default~t-2~0123456789abcdef0123456789abcdef", "t-2")).status, 409);
  const take = { token: resident, body: { session: "s-1", waitMs: 0 } };
  assert.equal((await agent.call("POST", "/resident/v1/wakes:take", take)).status, 204);
});

test("a limiter that fails lets the request pass, and the log says so", async () => {
  const failing = `{ RATE_LIMITER: { async limit() { throw new Error("no counter today"); } } }`;
  const agent = await Deployment.start({ entry: frontOf({ bindings: failing }) });
  const body = { message: message("hello"), configuration: { returnImmediately: true } };
  assert.equal((await agent.as("alice").call("POST", "/message:send", { body })).status, 200);
  assert.match(agent.log, /"rate_limiter_failed".*no counter today/);
});
