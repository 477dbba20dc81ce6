// An id of another principal's is as unknown on the trusted surface as one that nobody has: to the byte.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";

import { drain, event, start } from "./intake.mjs";
import { ROUTES } from "./routes.mjs";

const { agent, source, platform, bobsSource, bobsPlatform } = await start();
await source.declare(["REPLY_ANCHOR", "TASK_ID"]);
await bobsSource.declare(["REPLY_ANCHOR", "TASK_ID"]);
const hers = await source.accept("hers", { conversationKey: "hers" });
const delivery = await source.begin(hers.taskId);
const before = await source.read(hers.taskId);

const route = (operation) => (intake, id) => intake.call(...ROUTES[operation](id));

const QUESTIONS = {
  "a task to read": [hers.taskId, route("ReadNativeTask")],
  "a task to anchor a response to": [hers.taskId, route("RecordAnchor")],
  "a task to deliver for": [hers.taskId, route("BeginDelivery")],
  "a task to continue": [hers.taskId, (intake, id) => intake.tryAccept(event("mine", { taskId: id }))],
  "a context to create in": [hers.contextId, (intake, id) => intake.tryAccept(event("mine", { contextId: id }))],
  "a delivery to settle": [delivery.deliveryId, route("SettleDelivery")],
  "a delivery to reconcile": [delivery.deliveryId, route("ReconcileDelivery")],
};

for (const [what, [foreign, ask]] of Object.entries(QUESTIONS)) {
  test(`${what}: foreign and unknown are answered alike`, async () => {
    const unknown = foreign.startsWith("delivery.") ? `delivery.${"0".repeat(64)}` : randomUUID();
    for (const intake of [bobsSource, bobsPlatform]) {
      const [toForeign, toUnknown] = [await ask(intake, foreign), await ask(intake, unknown)];
      assert.ok(toForeign.status >= 400, toForeign.text);
      assert.equal(toForeign.status, toUnknown.status);
      assert.equal(toForeign.text.replaceAll(foreign, "ID"), toUnknown.text.replaceAll(unknown, "ID"));
      for (const answer of [toForeign, toUnknown]) {
        for (const name of ["date", "x-request-id", "content-length"]) delete answer.headers[name];
      }
      assert.deepEqual(toForeign.headers, toUnknown.headers);
    }
  });
}

test("the same keys of two principals are two events, two conversations, two sources and two anchors", async () => {
  const same = event("the same", { conversationKey: "hers" });
  const [alices, bobs] = [await source.accept(same), await bobsSource.accept(same)];
  assert.equal(bobs.disposition, "created");
  assert.notEqual(bobs.taskId, alices.taskId);
  assert.notEqual(bobs.contextId, alices.contextId);
  await source.anchor(alices.taskId, "<same@chat.example>");
  await bobsSource.anchor(bobs.taskId, "<same@chat.example>");
  await source.done("PUT", "sources/chat/checkpoint", { checkpoint: "alice's", covers: [same.dedupeKey] });
  assert.equal((await bobsSource.done("GET", "sources/chat")).checkpoint, undefined);
});

test("what was asked about is as it was", async () => {
  assert.deepEqual(await platform.read(hers.taskId), before);
  const held = await source.begin(hers.taskId);
  assert.equal(held.disposition, "HELD");
  await drain(agent.resident());
});
