// The answer at GitHub: one comment for each settled task, whatever breaks on the way.

import assert from "node:assert/strict";
import { test } from "node:test";

import { change } from "../support/storage.mjs";
import { until } from "../support/until.mjs";
import { comment, issue, webhook } from "./github-events.mjs";
import { GitHubWorld, LOGIN } from "./github-world.mjs";

const world = await GitHubWorld.start();
const MARKER = /^<!-- a2a-delivery:([A-Za-z0-9._:-]+) -->$/;

/** Somebody asks the agent something in this issue. */
const asked = (number) =>
  world.accepted(
    webhook("issue_comment", { action: "created", issue: issue(number), comment: comment(`@${LOGIN} please`) }),
  );

/** The task's deliveries as they are stored. */
const deliveries = (taskId) =>
  world.agent.rows(
    "PrincipalObject",
    "SELECT delivery_id, state, attempts, provider_response_id, reason FROM deliveries WHERE task_id = ?",
    taskId,
  );

const DELIVERED = 2;
const FAILED = 3;

const delivered = (taskId) =>
  until("the delivery is delivered", async () => {
    const [delivery] = await deliveries(taskId);
    return delivery?.state === DELIVERED && delivery;
  });

/** Ends workerd, and starts it when what was held is free: as if the minute that an attempt is held had passed. */
async function crash(meanwhile) {
  await world.agent.kill();
  meanwhile?.();
  const past = "UPDATE deliveries SET held_until_ms = 0; UPDATE settlements SET due_ms = 1 WHERE due_ms IS NOT NULL";
  await change(world.agent.folder, "PrincipalObject", past);
  await world.agent.restart();
  // The object is awake once it has been asked something.
  await world.agent.as("alice").call("GET", "/tasks?pageSize=1");
}

test("a completed task's answer is a comment under the issue, with the delivery's marker as its last line", async () => {
  const { taskId } = await asked(1);
  await world.complete(taskId, "It is **fixed**.");
  const delivery = await delivered(taskId);
  const [made, ...more] = world.api.of(1);
  assert.equal(more.length, 0);
  const lines = made.body.split("\n");
  assert.deepEqual(lines.slice(0, -1), ["It is **fixed**.", ""]);
  assert.equal(MARKER.exec(lines.at(-1))?.[1], delivery.delivery_id);
  assert.equal(delivery.provider_response_id, String(made.id));
});

test("a comment whose answer was lost is found by its marker, and not made again", async () => {
  world.api.order({ cut: true, made: true });
  const { taskId } = await asked(2);
  await world.complete(taskId, "made, and then the line went dead");
  const delivery = await delivered(taskId);
  assert.equal(world.api.of(2).length, 1);
  assert.equal(delivery.provider_response_id, String(world.api.of(2)[0].id));
});

test("the comment is found on a later page, and among others that look like it", async () => {
  for (let count = 0; count < 230; count += 1) world.api.add(3, `noise ${count}`);
  world.api.order({ cut: true, made: true });
  const { taskId } = await asked(3);
  await world.complete(taskId, "far down");
  const delivery = await delivered(taskId);
  const ours = world.api.of(3).filter(({ user }) => user.login === LOGIN);
  assert.equal(ours.length, 1);
  assert.equal(delivery.provider_response_id, String(ours[0].id));
  assert.ok(world.api.requests.some((request) => /page=3/.test(request)));
});

test("an adapter that dies while GitHub makes the comment finds it afterwards: there is one", async () => {
  world.api.order({ hold: true });
  const { taskId } = await asked(4);
  await world.complete(taskId, "made while nobody waited");
  await until("GitHub is asked", () => world.api.held === 1);
  await crash(() => world.api.proceed());
  const delivery = await delivered(taskId);
  assert.equal(world.api.of(4).length, 1);
  assert.equal(delivery.provider_response_id, String(world.api.of(4)[0].id));
});

test("an adapter that dies before GitHub has made the comment looks for it and then makes it: there is one", async () => {
  world.api.order({ cut: true, made: false });
  world.api.order({ hold: true });
  const { taskId } = await asked(5);
  const before = world.api.requests.length;
  await world.complete(taskId, "made at last");
  await until("GitHub was asked", () => world.api.requests.slice(before).some((each) => each.startsWith("POST")));
  await crash();
  await until("GitHub is asked again", () => world.api.held === 1);
  world.api.proceed();
  await delivered(taskId);
  assert.equal(world.api.of(5).length, 1);
});

test("while an attempt may still be under way nothing is sent, and nothing is looked up", async () => {
  world.api.order({ hold: true });
  const { taskId } = await asked(12);
  await world.complete(taskId, "one at a time");
  await until("GitHub is asked", () => world.api.held === 1);
  await world.agent.kill();
  await world.agent.restart();
  await world.agent.as("alice").call("GET", "/tasks?pageSize=1");
  await world.agent.logged(new RegExp(`"event":"reply","taskId":"${taskId}"[^\\n]*"state":"HELD"`));
  assert.equal(world.api.requests.filter((request) => request.includes("/issues/12/")).length, 1);
  await crash(() => world.api.proceed());
  await delivered(taskId);
  assert.equal(world.api.of(12).length, 1);
});

test("somebody else's comment with the marker is not ours", async () => {
  world.api.order({ hold: true });
  const { taskId } = await asked(6);
  await world.complete(taskId, "ours");
  await until("GitHub is asked", () => world.api.held === 1);
  const [{ delivery_id: deliveryId }] = await deliveries(taskId);
  world.api.add(6, `copied\n\n<!-- a2a-delivery:${deliveryId} -->`, "mallory");
  await crash();
  const delivery = await delivered(taskId);
  const ours = world.api.of(6).filter(({ user }) => user.login === LOGIN);
  assert.equal(ours.length, 1);
  assert.equal(delivery.provider_response_id, String(ours[0].id));
});

test("a refusal that passes is tried again, and the comment is made once", async () => {
  world.api.order({ refuse: 429 });
  const { taskId } = await asked(7);
  await world.complete(taskId, "patience");
  const { attempts } = await delivered(taskId);
  assert.equal(attempts, 2);
  assert.equal(world.api.of(7).length, 1);
  await world.agent.logged(/"settlement_not_taken"/);
});

test("a refusal for good is recorded, and not tried again", async () => {
  world.api.order({ refuse: 422 });
  const { taskId } = await asked(8);
  await world.complete(taskId, "nobody wants to hear it");
  const [delivery] = await until("the delivery has failed", async () => {
    const rows = await deliveries(taskId);
    return rows[0]?.state === FAILED && rows;
  });
  assert.equal(delivery.reason, "GitHub answered 422");
  const due = "SELECT due_ms FROM settlements WHERE task_id = ?";
  await until("the plane need not tell it again", async () => {
    const rows = await world.agent.rows("PrincipalObject", due, taskId);
    return rows.length === 1 && rows[0].due_ms === null;
  });
  assert.equal(world.api.of(8).length, 0);
});

test("no text of the agent's can pass for another delivery's marker", async () => {
  const { taskId } = await asked(9);
  await world.complete(taskId, "look:\n<!-- a2a-delivery:d-1 -->");
  await delivered(taskId);
  const [made] = world.api.of(9);
  assert.equal(made.body.match(/<!-- a2a-delivery:/g).length, 1);
  assert.match(made.body, /^look:\n<!-- d-1 -->\n/);
});

test("an answer that is longer than a comment may be is cut, and says so", async () => {
  const { taskId } = await asked(10);
  await world.complete(taskId, "ä".repeat(70_000));
  await delivered(taskId);
  const [made] = world.api.of(10);
  assert.ok(made.body.length <= 65_536);
  assert.match(made.body, /\[10000 more characters were cut off\]\n/);
});

test("a task that was canceled is told to nobody", async () => {
  const { taskId } = await asked(11);
  await world.agent.as("alice").cancel(taskId);
  const due = "SELECT due_ms FROM settlements WHERE task_id = ?";
  await until("the adapter has taken it", async () => {
    const rows = await world.agent.rows("PrincipalObject", due, taskId);
    return rows.length === 1 && rows[0].due_ms === null;
  });
  assert.equal(world.api.of(11).length, 0);
});
