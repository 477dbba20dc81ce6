// The answer by mail: sent at most once, whatever breaks on the way.

import assert from "node:assert/strict";
import { test } from "node:test";

import { change } from "../support/storage.mjs";
import { until } from "../support/until.mjs";
import { EmailWorld, PERSON } from "./email-world.mjs";
import { newMessageId } from "./mails.mjs";

const world = await EmailWorld.start();

const DELIVERED = 2;
const FAILED = 3;
const AMBIGUOUS = 4;

/** The task's only delivery, once it is in this state. */
const deliveryIn = (taskId, state) =>
  until(`the delivery is in state ${state}`, async () => {
    const query = "SELECT * FROM deliveries WHERE task_id = ?";
    const [delivery, ...more] = await world.agent.rows("PrincipalObject", query, taskId);
    assert.equal(more.length, 0);
    return delivery?.state === state && delivery;
  });

/** The plane has nothing more to tell about this task. */
const isTold = (taskId) =>
  until("the adapter has taken the settlement", async () => {
    const query = "SELECT due_ms FROM settlements WHERE task_id = ?";
    const rows = await world.agent.rows("PrincipalObject", query, taskId);
    return rows.length > 0 && rows.every(({ due_ms: due }) => due === null);
  });

test("a completed task's answer is one mail, and its Message-ID is the delivery's", async () => {
  const { taskId } = await world.accepted({ text: "please" });
  await world.complete(taskId, "Here it is.");
  const delivery = await deliveryIn(taskId, DELIVERED);
  const [mail, ...more] = world.service.sent;
  assert.equal(more.length, 0);
  assert.equal(mail.to, PERSON);
  assert.equal(delivery.provider_response_id, mail.messageId);
  assert.equal(mail.headers["X-A2A-Delivery"], delivery.delivery_id);
});

test("a mail whose answer was lost is ambiguous: no second one goes out, and the evidence says that a person must look", async () => {
  for (const sent of [true, false]) {
    const before = world.service.sent.length;
    world.service.order({ cut: true, sent });
    const { taskId } = await world.accepted({ text: "please" });
    await world.complete(taskId, `perhaps (${sent})`);
    await deliveryIn(taskId, AMBIGUOUS);
    await isTold(taskId);
    assert.equal(world.service.sent.length, before + (sent ? 1 : 0));
    const kinds = (await world.evidence(`&taskId=${taskId}`)).map(({ kind }) => kind);
    assert.ok(kinds.includes("UNHEALTHY"), kinds.join());
  }
});

test("an adapter that dies while the mail goes out leaves it ambiguous: no second one goes out", async () => {
  const before = world.service.sent.length;
  world.service.order({ hold: true });
  const { taskId } = await world.accepted({ text: "please" });
  await world.complete(taskId, "gone out");
  await until("the mail goes out", () => world.service.held === 1);
  await world.agent.kill();
  const past = "UPDATE deliveries SET held_until_ms = 0; UPDATE settlements SET due_ms = 1 WHERE due_ms IS NOT NULL";
  await change(world.agent.folder, "PrincipalObject", past);
  await world.agent.restart();
  await world.alice.task(taskId);
  await deliveryIn(taskId, AMBIGUOUS);
  await isTold(taskId);
  assert.equal(world.service.sent.length, before + 1);
  const kinds = (await world.evidence(`&taskId=${taskId}`)).map(({ kind }) => kind);
  assert.ok(kinds.includes("UNHEALTHY"), kinds.join());
});

test("a refusal that passes is tried again, and the mail goes out once", async () => {
  const before = world.service.sent.length;
  world.service.order({ refuse: "E_RATE_LIMIT_EXCEEDED" });
  const { taskId } = await world.accepted({ text: "please" });
  await world.complete(taskId, "patience");
  const { attempts } = await deliveryIn(taskId, DELIVERED);
  assert.equal(attempts, 2);
  assert.equal(world.service.sent.length, before + 1);
});

test("a refusal for good is recorded, and not tried again", async () => {
  const before = world.service.sent.length;
  world.service.order({ refuse: "E_RECIPIENT_SUPPRESSED" });
  const { taskId } = await world.accepted({ text: "please" });
  await world.complete(taskId, "unwanted");
  const { reason } = await deliveryIn(taskId, FAILED);
  assert.match(reason, /^E_RECIPIENT_SUPPRESSED/);
  await isTold(taskId);
  assert.equal(world.service.sent.length, before);
});

test("an answer in a long conversation names its root and its latest mails, within what a header may hold", async () => {
  const references = Array.from({ length: 60 }, () => newMessageId());
  const messageId = newMessageId();
  const { taskId } = await world.accepted({ messageId, text: "please", references, inReplyTo: references.at(-1) });
  await world.complete(taskId, "done");
  await deliveryIn(taskId, DELIVERED);
  const listed = world.service.sent.at(-1).headers.References.split(" ");
  assert.equal(listed[0], references[0]);
  assert.deepEqual(listed.slice(-3), [...references.slice(-2), messageId]);
});
