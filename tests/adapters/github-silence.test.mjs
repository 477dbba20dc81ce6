// A GitHub that takes longer than it may: the answer is lost, and the comment comes late.

import assert from "node:assert/strict";
import { test } from "node:test";

import { until } from "../support/until.mjs";
import { comment, issue, webhook } from "./github-events.mjs";
import { GitHubWorld, LOGIN } from "./github-world.mjs";

const world = await GitHubWorld.start({ GITHUB_TIMEOUT_MS: "400" });

const asked = (number, of = world) =>
  of.accepted(
    webhook("issue_comment", { action: "created", issue: issue(number), comment: comment(`@${LOGIN} please`) }),
  );

/** The task's delivery, once it is as asked for. */
const delivery = (taskId, isIt, of = world) =>
  until("the delivery is as expected", async () => {
    const query = "SELECT state, outcome, attempts, provider_response_id FROM deliveries WHERE task_id = ?";
    const [row] = await of.agent.rows("PrincipalObject", query, taskId);
    return row && isIt(row) && row;
  });

const DELIVERED = ({ state }) => state === 2;
const IN_DOUBT = ({ state, outcome }) => state === 1 && outcome === 3;

test("a comment that GitHub makes after the answer was given up is found, and there is one", async () => {
  world.api.order({ hold: true });
  const { taskId } = await asked(1);
  await world.complete(taskId, "late");
  await until("the adapter has stopped waiting and looks", () =>
    world.api.requests.some((request) => request.startsWith("GET") && request.includes("/issues/1/")),
  );
  world.api.proceed();
  const { provider_response_id: id } = await delivery(taskId, DELIVERED);
  assert.deepEqual(
    world.api.of(1).map((each) => String(each.id)),
    [id],
  );
});

test("a comment that comes when the attempt was left in doubt is found by the next one, and there is one", async () => {
  world.api.order({ hold: true });
  const { taskId } = await asked(2);
  await world.complete(taskId, "very late");
  await delivery(taskId, IN_DOUBT);
  world.api.proceed();
  await delivery(taskId, DELIVERED);
  assert.equal(world.api.of(2).length, 1);
});

test("a comment that GitHub has lost is made by the next attempt, and there is one", async () => {
  world.api.order({ cut: true, made: false });
  const { taskId } = await asked(3);
  await world.complete(taskId, "lost");
  await delivery(taskId, DELIVERED);
  const requests = world.api.requests.filter((request) => request.includes("/issues/3/"));
  assert.equal(requests.filter((request) => request.startsWith("POST")).length, 2);
  assert.ok(
    requests.indexOf(requests.find((request) => request.startsWith("GET"))) < requests.lastIndexOf(requests[0]),
  );
  assert.equal(world.api.of(3).length, 1);
});

test("a cut connection is no end: GitHub is looked at as long as it may be making the comment, and no other attempt begins", async () => {
  const patient = await GitHubWorld.start({ GITHUB_TIMEOUT_MS: "4000" });
  patient.api.order({ cut: true, made: "later" });
  const { taskId } = await asked(4, patient);
  await patient.complete(taskId, "later than the cut");
  const looks = () => patient.api.requests.filter((request) => request.startsWith("GET")).length;
  await until("the adapter has looked twice", () => looks() >= 2);
  patient.api.proceed();
  const { attempts } = await delivery(taskId, DELIVERED, patient);
  assert.equal(attempts, 1);
  assert.equal(patient.api.of(4).length, 1);
});
