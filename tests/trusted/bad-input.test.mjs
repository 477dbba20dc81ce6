// Bad input is refused by the field that is wrong, and nothing of it is stored.

import assert from "node:assert/strict";
import { test } from "node:test";

import { assertError } from "../support/contract.mjs";
import { askForEvidence, delivery, digestOf, drain, event, evidenceOf, start } from "./intake.mjs";
import { ROUTES, WITH_BODY } from "./routes.mjs";

const { agent, source, platform, bobsSource } = await start();

const KIB = 1024;
const soon = (ms) => new Date(Date.now() + ms).toISOString();

/** Asserts that Alice's object was never made: it is made by the first command that reaches it. */
async function assertNothingReached() {
  const objects = (await agent.storedObjects()).filter((path) => path.startsWith("PrincipalObject/"));
  assert.deepEqual(objects, []);
}

/** What is wrong with an event, and the field that the refusal names. */
const WRONG = {
  "a digest that does not match the parts": ["contentDigest", { contentDigest: digestOf([{ text: "other" }]) }],
  "a digest of another form": ["contentDigest", { contentDigest: "md5:0" }],
  "no digest": ["contentDigest", { contentDigest: undefined }],
  "a locator without fields": ["nativeLocator", { nativeLocator: {} }],
  "no locator": ["nativeLocator", { nativeLocator: undefined }],
  "a locator's value over 4096 characters": ["nativeLocator.channel", { nativeLocator: { channel: "x".repeat(4097) } }],
  "a locator's field outside the pattern": ['nativeLocator["a b"]', { nativeLocator: { "a b": "x" } }],
  "an identifier outside its pattern": ["providerEventId", { providerEventId: "a/b" }],
  "a dedupe key outside its pattern": ["dedupeKey", { dedupeKey: " " }],
  "a conversation key outside its pattern": ["conversationKey", { conversationKey: "#general" }],
  "a source outside its pattern": ["source", { source: "the chat" }],
  "the source a2a": ["source", { source: "a2a" }],
  "the source agents": ["source", { source: "agents" }],
  "a received-at that is no time": ["receivedAt", { receivedAt: "yesterday" }],
  "a received-at without an offset": ["receivedAt", { receivedAt: "2025-10-28T10:30:00" }],
  "a received-at more than five minutes ahead": ["receivedAt", { receivedAt: soon(6 * 60_000) }],
  "a part with two contents": ["parts[0]", { parts: [{ text: "a", url: "https://b.example/" }] }],
  "no parts": ["parts", { parts: [] }],
  "a display URL that is none": ["displayUrl", { displayUrl: "javascript:alert(1)" }],
  "an evidence locator over 4096 bytes": ["evidenceLocator", { evidenceLocator: "x".repeat(4097) }],
  "a reply to what no provider names": ["replyTo", { replyTo: "a b" }],
  "an unknown field": ["metadata", { metadata: {} }],
  "a context and a conversation": ["contextId", { contextId: "c-1", conversationKey: "k-1" }],
};

for (const [what, [field, fields]] of Object.entries(WRONG)) {
  test(`${what} is refused by ${field}`, async () => {
    for (const intake of [source, platform]) {
      assertError(await intake.tryAccept(event("hello", fields)), "INVALID_REQUEST", field);
    }
    await assertNothingReached();
  });
}

test("a source that names a task is refused, whatever else it says", async () => {
  for (const fields of [{ taskId: "t-1" }, { taskId: 7 }, { taskId: "t-1", source: "a2a" }]) {
    assertError(await source.tryAccept(event("hello", fields)), "PERMISSION_DENIED", "taskId");
  }
  assertError(await platform.tryAccept(event("a", { taskId: "t-1", replyTo: "r" })), "INVALID_REQUEST", "replyTo");
  await assertNothingReached();
});

test("a principal that the credential may not act for is refused", async () => {
  for (const operation of WITH_BODY) {
    const [method, path, body] = ROUTES[operation]();
    const refused = await source.call(method, path, { ...body, principal: "bob" });
    assertError(refused, "PERMISSION_DENIED", "principal");
  }
  await assertNothingReached();
});

test("everything that is wrong with a body is said at once", async () => {
  assertError(await source.tryAccept({}), "INVALID_REQUEST", [
    "source",
    "providerEventId",
    "dedupeKey",
    "nativeLocator",
    "receivedAt",
    "contentDigest",
    "parts",
  ]);
  await assertNothingReached();
});

test("a checkpoint over 64 KiB is too large, and so are parts over 256 KiB and a body over 1 MiB", async () => {
  const checkpoint = { checkpoint: "x".repeat(64 * KIB), covers: [] };
  assertError(await source.call("PUT", "sources/chat/checkpoint", checkpoint), "PAYLOAD_TOO_LARGE", "checkpoint");
  assertError(await source.tryAccept(event("x".repeat(256 * KIB))), "PAYLOAD_TOO_LARGE", "parts");
  assertError(await source.tryAccept(event("x".repeat(1024 * KIB))), "PAYLOAD_TOO_LARGE", "body");
  await assertNothingReached();
});

for (const [operation, field, fields] of [
  ["DeclareSource", "continuation[0]", { continuation: ["THREAD"] }],
  ["DeclareSource", "continuation", { continuation: undefined }],
  ["AdvanceCheckpoint", "covers", { covers: undefined }],
  ["AdvanceCheckpoint", "covers", { covers: Array(1001).fill("a") }],
  ["AdvanceCheckpoint", "covers[1]", { covers: ["a", "b c"] }],
  ["AdvanceCheckpoint", "checkpoint", { checkpoint: undefined }],
  ["AdvanceCheckpoint", "version", { version: -1 }],
  ["ResolveLocator", "nativeLocator", { nativeLocator: {} }],
  ["RecordAnchor", "providerResponseId", { providerResponseId: "ä" }],
  ["RecordAnchor", "taskId", { taskId: "a/b" }],
  ["BeginDelivery", "payloadDigest", { payloadDigest: "sha256:0" }],
  ["BeginDelivery", "recovery", { recovery: "RETRY" }],
  ["BeginDelivery", "payloadPolicy", { payloadPolicy: "OPEN" }],
  ["BeginDelivery", "holder", { holder: "a b" }],
  ["BeginDelivery", "attempt", { attempt: "a b" }],
  ["BeginDelivery", "canReconcile", { canReconcile: "yes" }],
  ["BeginDelivery", "operationId", { operationId: undefined }],
  ["SettleDelivery", "outcome", { outcome: "SENT" }],
  ["SettleDelivery", "attempt", { attempt: undefined }],
  ["SettleDelivery", "reason", { reason: "x".repeat(1001) }],
  ["SettleDelivery", "providerResponseId", { outcome: "REFUSED", providerResponseId: "r-1" }],
  ["ReconcileDelivery", "outcome", { outcome: "REFUSED" }],
  ["RecordEvidence", "kind", { kind: "lower" }],
  ["RecordEvidence", "aggregation", { aggregation: "SUM" }],
  ["RecordEvidence", "detail.a", { detail: { a: "x".repeat(1025) } }],
]) {
  test(`${operation} refuses ${field}: ${JSON.stringify(fields).slice(0, 60)}`, async () => {
    const [method, path, body] = ROUTES[operation]();
    assertError(await source.call(method, path, { ...body, ...fields }), "INVALID_REQUEST", field);
    await assertNothingReached();
  });
}

test("every body must be a JSON object without repeated or unknown fields, of a JSON media type", async () => {
  for (const operation of WITH_BODY) {
    const [method, path, body] = ROUTES[operation]();
    const send = (content, type = "application/json") =>
      source.call(method, path, content, { headers: { "content-type": type } });
    assertError(await send("[]"), "INVALID_REQUEST", "body");
    assertError(await send('{"a":'), "INVALID_REQUEST");
    assertError(await send('{"source":"a","source":"b"}'), "INVALID_REQUEST", "source");
    assertError(await source.call(method, path), "INVALID_REQUEST", "body");
    assertError(await send(JSON.stringify(body), "text/plain"), "CONTENT_TYPE_NOT_SUPPORTED", "Content-Type");
    assertError(await send(JSON.stringify({ ...body, extra: 1 })), "INVALID_REQUEST", "extra");
  }
  await assertNothingReached();
});

test("an id in a path, and a query's parameters, are held to their patterns", async () => {
  for (const [method, path, field, body] of [
    ["GET", "tasks/a%2Fb", "id"],
    ["GET", "tasks/%zz", "id"],
    ["GET", "sources/a2a", "source"],
    ["GET", "sources/a%20b", "source"],
    ["PUT", "sources/agents", "source", { continuation: [] }],
    ["PUT", "sources/a2a/checkpoint", "source", { checkpoint: 1, covers: [] }],
    ["POST", "deliveries/a%2Fb:settle", "deliveryId", { attempt: "a", outcome: "REFUSED" }],
    ["GET", "settlements", "source"],
    ["GET", "settlements?source=a2a", "source"],
    ["GET", "settlements?source=chat&after=-1", "after"],
    ["GET", "settlements?source=chat&after=9007199254740992", "after"],
    ["GET", "settlements?source=chat&pageSize=101", "pageSize"],
    ["GET", "settlements?source=chat&source=mail", "source"],
  ]) {
    assertError(await source.call(method, path, body), "INVALID_REQUEST", field);
  }
  for (const [query, field] of [
    ["", "principal"],
    ["principal=a%2Fb", "principal"],
    ["principal=alice&taskId=a%2Fb", "taskId"],
    ["principal=alice&kind=woken", "kind"],
    ["principal=alice&from=now", "from"],
    ["principal=alice&before=1", "before"],
    ["principal=alice&pageSize=0", "pageSize"],
    ["principal=alice&pageToken=x", "pageToken"],
    ["principal=alice&pageToken=9223372036854775807", "pageToken"],
  ]) {
    assertError(await askForEvidence(agent, query), "INVALID_REQUEST", field);
  }
  await assertNothingReached();
});

test("what an object refuses leaves it as it was, and what the contract wants as evidence is evidence", async () => {
  await source.declare(["REPLY_ANCHOR"]);
  const { taskId } = await source.accept("settled twice");
  await drain(agent.resident());
  const { deliveryId, attempt } = await source.begin(taskId);
  await source.settle(deliveryId, { attempt, outcome: "DELIVERED" });
  const [evidence, state] = [await evidenceOf(agent, "alice"), await source.read(taskId)];

  const settle = (outcome) => source.call("POST", `deliveries/${deliveryId}:settle`, { attempt, outcome });
  assertError(await settle("REFUSED"), "DELIVERY_SETTLED", "outcome");
  const ahead = { checkpoint: 1, covers: ["never-accepted"] };
  assertError(await source.call("PUT", "sources/chat/checkpoint", ahead), "CHECKPOINT_AHEAD", "covers[0]");
  assertError(await platform.tryAccept(event("a", { taskId })), "UNSUPPORTED_OPERATION");
  assertError(await platform.tryAccept(event("b", { contextId: "unknown" })), "CONTEXT_NOT_FOUND", "contextId");
  const unknown = await source.call("POST", "deliveries", delivery("unknown"));
  assertError(unknown, "TASK_NOT_FOUND");

  assert.deepEqual(await evidenceOf(agent, "alice"), evidence);
  assert.deepEqual(await source.read(taskId), state);
  assert.equal((await source.done("GET", "sources/chat")).version, 0);
});

test("after all of it the next request is served", async () => {
  const served = await bobsSource.accept("the next request");
  assert.equal(served.disposition, "created");
});
