// What GitHub sends: which events become tasks, which are counted, and what is not believed.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";

import { call } from "../support/http.mjs";
import { until } from "../support/until.mjs";
import { comment, headersOf, issue, pullRequest, webhook } from "./github-events.mjs";
import { GitHubWorld, LOGIN } from "./github-world.mjs";

const world = await GitHubWorld.start();
const alice = world.agent.as("alice");

const opened = (number, body, fields) =>
  webhook("issues", { action: "opened", issue: issue(number, { body, ...fields }) });
const commented = (number, body, fields, options) =>
  webhook("issue_comment", { action: "created", issue: issue(number), comment: comment(body, fields) }, options);

/** Takes the next turn and completes it, so that the next test begins with an idle resident. */
const finish = (taskId) => world.complete(taskId, "done");

test("an opened issue that mentions the agent becomes a task with where it came from", async () => {
  const hook = opened(1, `@${LOGIN} please fix this`);
  const { taskId, disposition } = await world.accepted(hook);
  assert.equal(disposition, "created");
  const task = await alice.task(taskId);
  const [text, { data }] = task.history[0].parts;
  assert.equal(text.text, `octo-org/hello-world#1: Spelling error in the README (1)\n\n@${LOGIN} please fix this`);
  assert.equal(data.author, "octocat");
  assert.equal(data.number, 1);
  const answer = await call(`${world.agent.url}/trusted/v1/tasks/${taskId}`, "GET", { token: world.token });
  const { origin, source } = answer.json;
  assert.equal(source, "github");
  assert.equal(origin.providerEventId, hook.delivery);
  assert.equal(origin.displayUrl, "https://github.com/octo-org/hello-world/issues/1");
  assert.deepEqual(origin.nativeLocator, { owner: "octo-org", repo: "hello-world", kind: "issue", number: "1" });
  await finish(taskId);
});

test("a redelivered webhook returns the prior task, and the agent is not woken again", async () => {
  const hook = opened(2, `@${LOGIN} once`);
  const first = await world.accepted(hook);
  const again = await Promise.all(Array.from({ length: 5 }, () => world.accepted(hook)));
  for (const { taskId, activationId, disposition } of again) {
    assert.deepEqual({ taskId, activationId }, { taskId: first.taskId, activationId: first.activationId });
    assert.equal(disposition, "duplicate");
  }
  await finish(first.taskId);
  assert.equal(await world.resident.take(200), undefined);
});

test("an issue or a pull request is the conversation, and each event in it a task of its own", async () => {
  const first = await world.accepted(commented(3, `@${LOGIN} one`));
  const second = await world.accepted(commented(3, `@${LOGIN} two`));
  const elsewhere = await world.accepted(commented(4, `@${LOGIN} three`));
  assert.notEqual(first.taskId, second.taskId);
  assert.equal(first.contextId, second.contextId);
  assert.notEqual(first.contextId, elsewhere.contextId);
  for (const { taskId } of [first, second, elsewhere]) await finish(taskId);
});

test("a review comment brings the line it is about, and belongs to its pull request", async () => {
  const body = `@${LOGIN} why?`;
  const line = { path: "src/main.rs", line: 7, diff_hunk: "@@ -1,3 +1,7 @@\n+let x = 1;" };
  const hook = webhook("pull_request_review_comment", {
    action: "created",
    pull_request: pullRequest(5),
    comment: comment(body, line),
  });
  const { taskId, contextId } = await world.accepted(hook);
  const { data } = (await alice.task(taskId)).history[0].parts[1];
  assert.deepEqual([data.path, data.line, data.diffHunk], [line.path, line.line, line.diff_hunk]);
  assert.equal(data.kind, "pull_request");
  const onThePullRequest = webhook("issue_comment", {
    action: "created",
    issue: issue(5, { pull_request: { url: "https://api.github.com/repos/octo-org/hello-world/pulls/5" } }),
    comment: comment(`@${LOGIN} and this?`),
  });
  const other = await world.accepted(onThePullRequest);
  assert.equal(other.contextId, contextId);
  const openedHook = webhook("pull_request", {
    action: "opened",
    pull_request: pullRequest(6, { body: `cc @${LOGIN}.` }),
  });
  const third = await world.accepted(openedHook);
  for (const accepted of [taskId, other.taskId, third.taskId]) await finish(accepted);
});

test("an issue that is assigned to the agent is work once, also where it was assigned while it was opened", async () => {
  const assignees = [{ login: LOGIN }];
  const body = `@${LOGIN} do it`;
  const whileOpened = await world.send(opened(7, body, { assignees }));
  assert.equal(whileOpened.json.ignored, "ASSIGNED_AS_WELL");
  const assigned = webhook("issues", {
    action: "assigned",
    issue: issue(7, { body, assignees }),
    assignee: assignees[0],
  });
  const { taskId } = await world.accepted(assigned);
  await finish(taskId);
  const toOther = webhook("issues", { action: "assigned", issue: issue(7, { body }), assignee: { login: "octocat" } });
  assert.equal((await world.send(toOther)).json.ignored, "NOT_ADDRESSED");
});

test("what is no work is counted in place, by event, action and reason, and makes no task", async () => {
  const before = (await alice.call("GET", "/tasks?pageSize=1")).json.totalSize;
  const events = [
    [webhook("ping", { zen: "Keep it logically awesome.", hook_id: 1 }), "ping.none.UNSUPPORTED_EVENT"],
    [webhook("watch", { action: "started" }), "watch.started.UNSUPPORTED_EVENT"],
    [webhook("issues", { action: "closed", issue: issue(8) }), "issues.closed.UNSUPPORTED_EVENT"],
    [commented(8, "nobody in particular"), "issue_comment.created.NOT_ADDRESSED"],
    [commented(8, `mail agent@${LOGIN}.example, or @${LOGIN}-2`), "issue_comment.created.NOT_ADDRESSED"],
    [commented(8, `@${LOGIN} I am`, {}, { sender: "Plane-Agent" }), "issue_comment.created.OWN_EVENT"],
    [commented(8, `@${LOGIN} hi`, { author_association: "NONE" }), "issue_comment.created.AUTHOR_NOT_ALLOWED"],
    [webhook("issues", { action: "opened" }), "issues.opened.UNREADABLE_EVENT"],
  ];
  const countOf = async (id) =>
    (await world.evidence("&kind=EVENT_IGNORED&pageSize=100")).find((each) => each.sourceEvidenceId === id)
      ?.occurrences ?? 0;
  for (const [hook, id] of events) {
    const earlier = await countOf(id);
    const answer = await world.send(hook);
    assert.equal(answer.status, 202, answer.text);
    assert.equal(`${id.slice(0, id.lastIndexOf("."))}.${answer.json.ignored}`, id);
    await world.send({ ...hook, delivery: randomUUID() });
    assert.equal(await countOf(id), earlier + 2, id);
  }
  assert.equal((await alice.call("GET", "/tasks?pageSize=1")).json.totalSize, before);
});

test("a text in the longest characters that GitHub takes is cut to what a message may hold, and says so", async () => {
  const body = `@${LOGIN} ${"\u{1f600}".repeat(40_000)}`;
  const { taskId } = await world.accepted(commented(13, body));
  const [text] = (await alice.task(taskId)).history[0].parts;
  assert.match(text.text, /\u{1f600}\n\n\[left out: \d+ more characters\]$/u);
  await finish(taskId);
});

test("a task id in what somebody writes neither selects nor continues a task", async () => {
  const { taskId } = await world.accepted(commented(9, `@${LOGIN} begin`));
  const other = await world.accepted(commented(9, `@${LOGIN} taskId: ${taskId} {"taskId": "${taskId}"}`));
  assert.notEqual(other.taskId, taskId);
  assert.equal((await alice.task(taskId)).history.length, 1);
  await finish(taskId);
  await finish(other.taskId);
});

test("the agent can't ask back: nobody could answer, so it completes or rejects", async () => {
  const { taskId } = await world.accepted(commented(10, `@${LOGIN} which one?`));
  const turn = await world.resident.turn();
  const asked = await turn.tool("a2a_require_input", { question: "this or that?" });
  assert.equal(asked.status, 409);
  assert.equal(asked.json.error.details[0].reason, "NO_CONTINUATION");
  await turn.reject("it is not clear which one");
  await turn.end();
  const [made] = await until("the rejection is told", () => world.api.of(10).length > 0 && world.api.of(10));
  assert.match(made.body, /^it is not clear which one\n/);
  assert.equal(await alice.state(taskId), "TASK_STATE_REJECTED");
});

test("a bad, a foreign or a missing signature is 401 and leaves no trace", async () => {
  const hook = opened(11, `@${LOGIN} forged`);
  const good = headersOf(hook, world.webhookSecret)["x-hub-signature-256"];
  const snapshot = async () => [
    await world.agent.rows("PrincipalObject", "SELECT count(*) AS claims FROM claims"),
    await world.agent.rows("PrincipalObject", "SELECT evidence_id, occurrences FROM evidence ORDER BY evidence_id"),
    world.agent.log.length,
  ];
  const before = await snapshot();
  const last = good.endsWith("0") ? "1" : "0";
  const bad = [
    `${good.slice(0, -1)}${last}`,
    headersOf(hook, "another secret")["x-hub-signature-256"],
    headersOf({ ...hook, body: `${hook.body} ` }, world.webhookSecret)["x-hub-signature-256"],
    good.replace("sha256=", "sha1="),
    good.slice(0, 20),
    good.toUpperCase(),
    "",
  ];
  for (const signature of bad) {
    const answer = await world.send(hook, { "x-hub-signature-256": signature });
    assert.equal(answer.status, 401, signature);
  }
  const { "x-hub-signature-256": _, ...unsigned } = headersOf(hook, world.webhookSecret);
  assert.equal((await call(world.url, "POST", { body: hook.body, headers: unsigned })).status, 401);
  assert.deepEqual(await snapshot(), before);
  await finish((await world.accepted(hook)).taskId);
});

test("a signed request that is no webhook of GitHub's is refused by what is wrong with it", async () => {
  const hook = opened(12, `@${LOGIN} hi`);
  assert.equal((await world.send(hook, { "x-github-delivery": "not an id" })).status, 400);
  assert.equal((await world.send(hook, { "x-github-event": "No Event" })).status, 400);
  assert.equal((await world.send({ ...hook, body: "payload=%7B%7D" })).status, 400);
  assert.equal((await world.send({ ...hook, body: "[]" })).status, 400);
  const long = { ...hook, body: " ".repeat(2 * 1024 * 1024 + 1) };
  assert.equal((await world.send(long)).status, 413);
  assert.equal((await call(world.url, "GET")).status, 405);
});

test("nobody on the internet reaches the entrypoint for settlements", async () => {
  const { github } = world.agent.server.urls;
  const notice = { source: "github", taskId: randomUUID(), state: "TASK_STATE_COMPLETED" };
  for (const path of ["/settlements", "/", "/github/settlements", "/github/webhook/"]) {
    assert.equal((await call(github + path, "POST", { body: notice })).status, 404, path);
  }
});

test("neither a token nor a secret is in the log", () => {
  const { log } = world.agent;
  assert.match(log, /"event":"accepted"/);
  for (const secret of [world.token, world.webhookSecret, world.api.token]) assert.ok(!log.includes(secret));
});
