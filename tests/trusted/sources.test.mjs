// What a source says of itself, keeps here, and asks about its tasks.

import assert from "node:assert/strict";
import { test } from "node:test";

import { assertError, TIMESTAMP } from "../support/contract.mjs";
import { ask, askForEvidence, drain, event, evidenceOf, start, turnOf } from "./intake.mjs";

const { agent, source, platform, bobsSource } = await start();
const alice = agent.as("alice");
const resident = agent.resident();
const read = (name) => source.done("GET", `sources/${name}`);
const advance = (name, body) => source.call("PUT", `sources/${name}/checkpoint`, body);

test("a source that nobody declared has no continuation and no checkpoint", async () => {
  assert.deepEqual(await read("new"), { source: "new", continuation: [], version: 0 });
});

test("a declaration replaces the one before and leaves the checkpoint", async () => {
  assert.deepEqual((await source.declare(["TASK_ID", "REPLY_ANCHOR"], "forge")).continuation, [
    "REPLY_ANCHOR",
    "TASK_ID",
  ]);
  await source.done("PUT", "sources/forge/checkpoint", { checkpoint: 1, covers: [] });
  const declared = await source.done("PUT", "sources/forge", { principal: "alice", continuation: ["TASK_ID"] });
  const { updatedAt, ...rest } = declared;
  assert.deepEqual(rest, { source: "forge", continuation: ["TASK_ID"], checkpoint: 1, version: 1 });
  assert.match(updatedAt, TIMESTAMP);
  assert.deepEqual(await read("forge"), declared);
  assert.deepEqual(await bobsSource.done("GET", "sources/forge"), { source: "forge", continuation: [], version: 0 });
});

test("a checkpoint advances only past what was accepted", async () => {
  const [first, second] = [event("first"), event("second")];
  await source.accept(first);
  const covers = [first.dedupeKey, second.dedupeKey];
  assertError(await advance("chat", { checkpoint: { cursor: 2 }, covers }), "CHECKPOINT_AHEAD", "covers[1]");
  assert.equal((await read("chat")).checkpoint, undefined);
  await source.accept(second);
  const kept = await source.done("PUT", "sources/chat/checkpoint", { checkpoint: { cursor: 2 }, covers });
  assert.deepEqual(kept.checkpoint, { cursor: 2 });
  assert.equal(kept.version, 1);
  assertError(await advance("mail", { checkpoint: 1, covers }), "CHECKPOINT_AHEAD", "covers[0]");
  await drain(resident);
});

test("a checkpoint that somebody else has advanced is not overwritten unseen", async () => {
  const put = (checkpoint, version) => advance("feed", { checkpoint, covers: [], version });
  assert.equal((await put("a", 0)).json.version, 1);
  assertError(await put("b", 0), "CHECKPOINT_MOVED", "version");
  assertError(await put("b", 2), "CHECKPOINT_MOVED", "version");
  assert.equal((await put("b", 1)).json.version, 2);
  const racing = await Promise.all(Array.from({ length: 10 }, (_, index) => put(`c${index}`, 2)));
  assert.equal(racing.filter(({ status }) => status === 200).length, 1);
  assert.equal((await read("feed")).version, 3);
  assert.equal((await put("d")).json.version, 4);
});

test("a checkpoint is any JSON value, and comes back as it was", async () => {
  for (const checkpoint of [null, "", 0, false, [1.5, { a: null }], "ä\u2028"]) {
    const kept = await source.done("PUT", "sources/values/checkpoint", { checkpoint, covers: [] });
    assert.deepEqual(kept.checkpoint, checkpoint);
    assert.deepEqual((await read("values")).checkpoint, checkpoint);
  }
});

test("an integer of 64 bits comes back as it was sent, and one that has no place in them is refused by its path", async () => {
  const put = (cursor) =>
    source.call("PUT", "sources/numbers/checkpoint", `{"checkpoint":{"cursor":${cursor}},"covers":[]}`, {
      headers: { "content-type": "application/json" },
    });
  for (const cursor of ["9007199254740993", "18446744073709551615", "-9223372036854775808"]) {
    assert.match((await put(cursor)).text, new RegExp(`"cursor":${cursor}}`));
  }
  assertError(await put("18446744073709551616"), "INVALID_REQUEST", "checkpoint.cursor");
});

test("a locator leads to its task only while the task's turn is live", async () => {
  await source.declare(["TASK_ID"]);
  const nativeLocator = { channel: "C-7", thread: "1" };
  const resolve = (locator, intake = source) =>
    intake.call("POST", "locators:resolve", { source: "chat", nativeLocator: locator });
  const notActive = async (locator, intake) => assertError(await resolve(locator, intake), "LOCATOR_NOT_ACTIVE");
  await notActive(nativeLocator);
  const { taskId, contextId } = await source.accept("work", { nativeLocator });
  await notActive(nativeLocator);
  const turn = await turnOf(resident, taskId);
  const active = await resolve({ thread: "1", channel: "C-7" });
  assert.deepEqual(active.json, { taskId, contextId });
  await notActive({ channel: "C-7" });
  await notActive({ ...nativeLocator, extra: "x" });
  await notActive(nativeLocator, bobsSource);
  const elsewhere = { source: "mail", nativeLocator };
  assertError(await source.call("POST", "locators:resolve", elsewhere), "LOCATOR_NOT_ACTIVE");
  await turn.ask("which?");
  await notActive(nativeLocator);
  await turn.end();
  await platform.accept("this one", { taskId, nativeLocator });
  const second = await turnOf(resident, taskId);
  assert.equal((await resolve(nativeLocator)).json.taskId, taskId);
  await second.complete("done");
  await second.end();
  await notActive(nativeLocator);
});

test("settled and interrupted tasks of a source are told in order, once each, page by page", async () => {
  await source.declare(["TASK_ID"], "feed");
  const feed = (query) => source.done("GET", `settlements?source=feed${query}`);
  assert.deepEqual(await feed(""), { settlements: [], next: 0 });
  const [done, asked, canceled] = [
    await source.accept("done", { source: "feed" }),
    await source.accept("asked", { source: "feed" }),
    await source.accept("canceled", { source: "feed" }),
  ];
  const turn = await turnOf(resident, done.taskId);
  await turn.complete("done");
  await turn.end();
  await ask(resident, asked.taskId);
  await alice.cancel(canceled.taskId);
  await drain(resident);
  await alice.submit("not a native task");
  await drain(resident);

  const { settlements, next } = await feed("");
  const told = settlements.map(({ taskId, contextId, source: name, state }) => ({ taskId, contextId, name, state }));
  const expect = (accepted, state) => ({
    taskId: accepted.taskId,
    contextId: accepted.contextId,
    name: "feed",
    state: `TASK_STATE_${state}`,
  });
  assert.deepEqual(told, [expect(done, "COMPLETED"), expect(asked, "INPUT_REQUIRED"), expect(canceled, "CANCELED")]);
  for (const { settledAt } of settlements) assert.match(settledAt, TIMESTAMP);
  assert.equal(next, settlements[2].settlementId);
  assert.deepEqual(await feed(`&after=${next}`), { settlements: [], next });

  const paged = [];
  for (let after = 0; ;) {
    const page = await feed(`&after=${after}&pageSize=1`);
    if (page.settlements.length === 0) break;
    paged.push(...page.settlements);
    after = page.next;
  }
  assert.deepEqual(paged, settlements);
  assert.deepEqual((await bobsSource.done("GET", "settlements?source=feed")).settlements, []);
  await alice.cancel(asked.taskId);
});

test("evidence of a source's own is recorded once by its id, or counted in place", async () => {
  const record = (fields) => source.done("POST", "evidence", { source: "chat", kind: "UNSUPPORTED_EVENT", ...fields });
  const detail = { type: "message_edited" };
  for (const _ of ["once", "again"]) {
    assert.deepEqual(await record({ evidenceId: "edit-1", detail }), { evidenceId: "edit-1" });
  }
  const counting = { evidenceId: "edits", aggregation: "COUNTER" };
  const counted = await Promise.all(Array.from({ length: 20 }, () => record(counting)));
  const counts = counted.map(({ occurrences }) => occurrences).sort((a, b) => a - b);
  assert.deepEqual(
    counts,
    Array.from({ length: 20 }, (_, index) => index + 1),
  );

  const evidence = await evidenceOf(agent, "alice", "&kind=UNSUPPORTED_EVENT");
  assert.equal(evidence.length, 2);
  const [counter, once] = evidence;
  assert.equal(counter.occurrences, 20);
  assert.equal(counter.sourceEvidenceId, "edits");
  assert.equal(once.sourceEvidenceId, "edit-1");
  assert.equal(once.source, "chat");
  assert.equal(once.occurrences, undefined);
  assert.deepEqual(JSON.parse(once.detail), detail);
});

test("operators page through evidence, newest first, and by time", async () => {
  const all = await evidenceOf(agent, "alice");
  assert.ok(all.length > 10);
  const ids = all.map(({ evidenceId }) => evidenceId);
  assert.deepEqual(
    ids,
    ids.toSorted((a, b) => b - a),
  );
  for (const { at } of all) assert.match(at, TIMESTAMP);

  const paged = [];
  let token = "";
  do {
    const answer = await askForEvidence(agent, `principal=alice&pageSize=3&pageToken=${token}`);
    paged.push(...answer.json.evidence);
    token = answer.json.nextPageToken;
  } while (token !== "");
  assert.deepEqual(paged, all);

  const moment = all[5].at;
  const since = await evidenceOf(agent, "alice", `&from=${moment}`);
  const before = await evidenceOf(agent, "alice", `&before=${moment}`);
  assert.deepEqual([...since, ...before], all);
  assert.ok(since.every(({ at }) => at >= moment) && before.every(({ at }) => at < moment));
});

test("the evidence of a principal that no credential names is not there, and asking makes nothing", async () => {
  const before = await agent.storedObjects();
  for (const name of ["nobody", "operator", "Alice"]) {
    assertError(await askForEvidence(agent, `principal=${name}`), "NOT_FOUND");
  }
  assert.deepEqual(await agent.storedObjects(), before);
});
