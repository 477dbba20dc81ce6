// Deliveries: one provider mutation per delivery, whoever begins it and however often.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";

import { assertError } from "../support/contract.mjs";
import { delivery, digestOf, drain, evidenceOf, start } from "./intake.mjs";

const { agent, source, platform, bobsSource } = await start();
await source.declare(["REPLY_ANCHOR"]);
const { taskId } = await source.accept("deliver my answer");
await drain(agent.resident());

/** A delivery of an operation of its own. */
const operation = (fields) => ({ operationId: randomUUID(), ...fields });

const settleAnyhow = (deliveryId, fields) => source.call("POST", `deliveries/${deliveryId}:settle`, fields);
const reconcileAnyhow = (deliveryId, fields) => source.call("POST", `deliveries/${deliveryId}:reconcile`, fields);

test("whoever begins first is told to send, and everybody else who holds it", async () => {
  const reply = operation({ holder: "worker-1" });
  const begun = await Promise.all(
    Array.from({ length: 20 }, (_, index) => source.begin(taskId, { ...reply, holder: `worker-${index}` })),
  );
  const [first, ...others] = begun.sort(
    (a, b) => (a.disposition === "SEND" ? -1 : 0) - (b.disposition === "SEND" ? -1 : 0),
  );
  assert.deepEqual(Object.keys(first).sort(), ["attempt", "deliveryId", "disposition"]);
  for (const { retryAfterMs, heldBy, ...other } of others) {
    assert.deepEqual(other, { deliveryId: first.deliveryId, disposition: "HELD" });
    assert.match(heldBy, /^worker-\d+$/);
    assert.ok(retryAfterMs > 0 && retryAfterMs <= 60_000, `${retryAfterMs} ms`);
  }
  assert.equal(new Set(others.map(({ heldBy }) => heldBy)).size, 1);
  const delivered = { attempt: first.attempt, outcome: "DELIVERED", providerResponseId: "<one@chat.example>" };
  const settled = { deliveryId: first.deliveryId, state: "DELIVERED" };
  assert.deepEqual(await source.settle(first.deliveryId, delivered), settled);
  assert.deepEqual(await source.settle(first.deliveryId, delivered), settled, "said again");
  assert.deepEqual(await platform.begin(taskId, reply), {
    deliveryId: first.deliveryId,
    disposition: "DELIVERED",
    providerResponseId: "<one@chat.example>",
  });
});

test("a begin whose answer was lost is said again under the attempt's name, and is the same attempt", async () => {
  const named = operation({ recovery: "AMBIGUOUS", attempt: randomUUID() });
  const first = await source.begin(taskId, named);
  assert.equal(first.attempt, named.attempt);
  assert.deepEqual(await source.begin(taskId, named), first);
  assert.equal((await source.begin(taskId, { ...named, attempt: randomUUID() })).disposition, "HELD");
});

test("another payload is another delivery, unless the operation is bound to one", async () => {
  const open = operation();
  const other = { ...open, payloadDigest: digestOf("another") };
  const [one, two] = [await source.begin(taskId, open), await source.begin(taskId, other)];
  assert.notEqual(one.deliveryId, two.deliveryId);
  assert.equal(two.disposition, "SEND");
  const fixed = operation({ payloadPolicy: "FIXED" });
  await source.begin(taskId, fixed);
  const changed = await source.call("POST", "deliveries", delivery(taskId, { ...fixed, payloadDigest: digestOf("x") }));
  assertError(changed, "DELIVERY_CONFLICT", "payloadDigest");
  assert.equal((await source.begin(taskId, fixed)).disposition, "HELD");
});

test("what the provider refused may be begun again", async () => {
  const reply = operation({ recovery: "AMBIGUOUS" });
  const first = await source.begin(taskId, reply);
  const refused = { attempt: first.attempt, outcome: "REFUSED", reason: "422: too long" };
  assert.deepEqual(await source.settle(first.deliveryId, refused), { deliveryId: first.deliveryId, state: "FAILED" });
  const second = await source.begin(taskId, reply);
  assert.equal(second.deliveryId, first.deliveryId);
  assert.equal(second.disposition, "SEND");
  assert.notEqual(second.attempt, first.attempt);
});

test("an idempotent delivery of unknown outcome is sent again", async () => {
  const reply = operation();
  const first = await source.begin(taskId, reply);
  const unknown = await source.settle(first.deliveryId, { attempt: first.attempt, outcome: "INDETERMINATE" });
  assert.equal(unknown.state, "FAILED");
  assert.equal((await source.begin(taskId, reply)).disposition, "SEND");
});

test("a delivery that can be looked up is looked up, and sent where it is absent", async () => {
  const reply = operation({ recovery: "LOOKUP", canReconcile: true });
  const first = await source.begin(taskId, reply);
  const unknown = await source.settle(first.deliveryId, { attempt: first.attempt, outcome: "INDETERMINATE" });
  assert.equal(unknown.state, "SENDING");
  const second = await source.begin(taskId, reply);
  assert.equal(second.disposition, "RECONCILE");
  const absent = await source.settle(second.deliveryId, { attempt: second.attempt, outcome: "ABSENT" });
  assert.deepEqual(absent, { deliveryId: first.deliveryId, state: "SENDING", disposition: "SEND" });
  const delivered = { attempt: second.attempt, outcome: "DELIVERED" };
  assert.equal((await source.settle(second.deliveryId, delivered)).state, "DELIVERED");
});

test("a lookup that nobody can do fails closed, with unhealthy evidence", async () => {
  const reply = operation({ recovery: "LOOKUP" });
  const first = await source.begin(taskId, reply);
  await source.settle(first.deliveryId, { attempt: first.attempt, outcome: "INDETERMINATE" });
  assert.equal((await source.begin(taskId, reply)).disposition, "AMBIGUOUS");
  const able = await source.begin(taskId, { ...reply, canReconcile: true });
  assert.equal(able.disposition, "AMBIGUOUS", "for good");
  const unhealthy = await evidenceOf(agent, "alice", `&taskId=${taskId}&kind=UNHEALTHY`);
  assert.ok(unhealthy.some(({ detail }) => detail.includes(first.deliveryId)));
});

for (const [outcome, fields, again] of [
  ["DELIVERED", { providerResponseId: "<by.hand@chat.example>" }, "DELIVERED"],
  ["ABSENT", {}, "SEND"],
]) {
  test(`an ambiguous delivery is resolved by hand: ${outcome}`, async () => {
    const reply = operation({ recovery: "AMBIGUOUS", payloadPolicy: "FIXED" });
    const { deliveryId, attempt } = await source.begin(taskId, reply);
    assertError(await reconcileAnyhow(deliveryId, { outcome }), "DELIVERY_NOT_HELD");
    const unknown = await source.settle(deliveryId, { attempt, outcome: "INDETERMINATE" });
    assert.equal(unknown.state, "AMBIGUOUS");
    assert.equal((await source.begin(taskId, reply)).disposition, "AMBIGUOUS");
    const state = outcome === "ABSENT" ? "FAILED" : "DELIVERED";
    assert.deepEqual(await source.reconcile(deliveryId, { outcome, ...fields }), { deliveryId, state });
    assert.deepEqual(await source.reconcile(deliveryId, { outcome, ...fields }), { deliveryId, state });
    assert.equal((await source.begin(taskId, reply)).disposition, again);
  });
}

test("a delivery settled twice with different outcomes stays as it was", async () => {
  const { deliveryId, attempt } = await source.begin(taskId, operation());
  await source.settle(deliveryId, { attempt, outcome: "DELIVERED", providerResponseId: "<first@chat.example>" });
  for (const other of [
    { outcome: "REFUSED" },
    { outcome: "INDETERMINATE" },
    { outcome: "DELIVERED", providerResponseId: "<second@chat.example>" },
  ]) {
    assertError(await settleAnyhow(deliveryId, { attempt, ...other }), "DELIVERY_SETTLED", "outcome");
  }
  assertError(await reconcileAnyhow(deliveryId, { outcome: "ABSENT" }), "DELIVERY_SETTLED", "outcome");
  const rows = await agent.rows("PrincipalObject", "SELECT * FROM deliveries WHERE delivery_id = ?", deliveryId);
  assert.equal(rows[0].provider_response_id, "<first@chat.example>");
});

test("only the attempt that was told to send may say how it went", async () => {
  const reply = operation();
  const first = await source.begin(taskId, reply);
  await source.settle(first.deliveryId, { attempt: first.attempt, outcome: "REFUSED" });
  const second = await source.begin(taskId, reply);
  for (const attempt of [first.attempt, "unknown"]) {
    const stale = await settleAnyhow(first.deliveryId, { attempt, outcome: "DELIVERED" });
    assertError(stale, "DELIVERY_NOT_HELD", "attempt");
  }
  await source.settle(second.deliveryId, { attempt: second.attempt, outcome: "DELIVERED" });
});

test("a delivery is for a task of that source", async () => {
  const begin = (fields) => source.call("POST", "deliveries", delivery(taskId, fields));
  assertError(await begin({ source: "mail" }), "INVALID_REQUEST", "source");
  assertError(await begin({ taskId: "unknown" }), "TASK_NOT_FOUND");
  assertError(await bobsSource.call("POST", "deliveries", delivery(taskId)), "TASK_NOT_FOUND");
});

test("every outcome is evidence of its task", async () => {
  const { deliveryId, attempt } = await source.begin(taskId, operation());
  await source.settle(deliveryId, { attempt, outcome: "REFUSED", reason: "the room is archived" });
  const evidence = await evidenceOf(agent, "alice", `&taskId=${taskId}`);
  const failed = evidence.find(({ kind, detail }) => kind === "DELIVERY_FAILED" && detail.startsWith(deliveryId));
  assert.match(failed.detail, /the room is archived/);
  assert.ok(evidence.some(({ kind }) => kind === "DELIVERED"));
});

test("a delivery in sending survives a crash: it is held, and nobody sends it twice", async () => {
  const reply = operation({ holder: "worker-1" });
  const { deliveryId, attempt } = await source.begin(taskId, reply);
  await agent.kill();
  await agent.restart();
  const again = await source.begin(taskId, reply);
  assert.equal(again.disposition, "HELD");
  assert.equal(again.heldBy, "worker-1");
  assert.equal((await source.settle(deliveryId, { attempt, outcome: "DELIVERED" })).state, "DELIVERED");
});

test("an attempt that says nothing for 60 seconds counts as crashed: what becomes of it is as its recovery says", async () => {
  const kinds = {
    idempotent: operation({ recovery: "IDEMPOTENT" }),
    lookup: operation({ recovery: "LOOKUP", canReconcile: true }),
    blindLookup: operation({ recovery: "LOOKUP" }),
    ambiguous: operation({ recovery: "AMBIGUOUS" }),
  };
  const begin = async () =>
    Object.fromEntries(
      await Promise.all(Object.entries(kinds).map(async ([name, reply]) => [name, await source.begin(taskId, reply)])),
    );
  const dispositions = async () =>
    Object.fromEntries(Object.entries(await begin()).map(([name, { disposition }]) => [name, disposition]));
  const first = await begin();
  await agent.letPass(45_000);
  assert.deepEqual(await dispositions(), {
    idempotent: "HELD",
    lookup: "HELD",
    blindLookup: "HELD",
    ambiguous: "HELD",
  });
  await agent.letPass(16_000);
  // Nobody has asked: the alarm has found it out.
  await agent.logged(new RegExp(`"${first.ambiguous.deliveryId}","event":"delivery_ambiguous"`));
  assert.deepEqual(await dispositions(), {
    idempotent: "SEND",
    lookup: "RECONCILE",
    blindLookup: "AMBIGUOUS",
    ambiguous: "AMBIGUOUS",
  });
  const late = { attempt: first.idempotent.attempt, outcome: "DELIVERED" };
  assertError(await settleAnyhow(first.idempotent.deliveryId, late), "DELIVERY_NOT_HELD", "attempt");
  const unhealthy = await evidenceOf(agent, "alice", `&taskId=${taskId}&kind=UNHEALTHY`);
  for (const { deliveryId } of [first.blindLookup, first.ambiguous]) {
    assert.ok(
      unhealthy.some(({ detail }) => detail.includes(deliveryId)),
      deliveryId,
    );
  }
});
