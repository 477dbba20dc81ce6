// What an operation costs in storage, as Cloudflare bills it: rows read and rows written, indexes included. Each is an
// upper bound that a change must not exceed unknowingly; docs/cost.md reckons with them.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Deployment, message } from "../support/deployment.mjs";

/** Rows that the answering object reads and writes before it answers, on a principal that has tasks already. */
const MOST = {
  SendMessage: [6, 15],
  "SendMessage, a duplicate": [4, 0],
  GetTask: [4, 0],
  // A page of five: each task's row, its messages and artifacts twice (their sizes first), and the totals.
  ListTasks: [40, 0],
  CancelTask: [8, 10],
};

const agent = await Deployment.start();
const alice = agent.as("alice");

/** The line that the request left in the log. */
async function lineOf(requestId) {
  const [line] = await agent.logged(new RegExp(`\\{"event":"request","requestId":"${requestId}".*\\}`));
  return JSON.parse(line);
}

let requests = 0;

async function costOf(ask) {
  const requestId = `rows-${(requests += 1)}`;
  const answer = await ask({ headers: { "x-request-id": requestId } });
  assert.equal(answer.status, 200, answer.text);
  const { operation, rowsRead = 0, rowsWritten = 0 } = await lineOf(requestId);
  return { operation, rows: [rowsRead, rowsWritten], answer };
}

function assertWithin([read, written], [mostRead, mostWritten], name) {
  assert.ok(read <= mostRead, `${name} reads ${read} rows`);
  assert.ok(written <= mostWritten, `${name} writes ${written} rows`);
  assert.ok(read + written > 0, `${name} is counted`);
}

test("no operation reads or writes more rows than it needs, and the log says how many", async (t) => {
  for (let n = 0; n < 5; n += 1) await alice.submit(`task ${n}`);
  await alice.call("GET", "/tasks");
  const content = message("counted");
  const now = { returnImmediately: true };
  const sent = await costOf((options) => alice.send(content, now, options));
  const again = await costOf((options) => alice.send(content, now, options));
  const { id } = sent.answer.json.task;
  const measured = {
    SendMessage: sent,
    "SendMessage, a duplicate": again,
    GetTask: await costOf((options) => alice.call("GET", `/tasks/${id}`, options)),
    ListTasks: await costOf((options) => alice.call("GET", "/tasks?pageSize=5", options)),
    CancelTask: await costOf((options) => alice.cancel(id, options)),
  };
  for (const [name, { operation, rows }] of Object.entries(measured)) {
    t.diagnostic(`${name}: ${rows[0]} rows read, ${rows[1]} written`);
    assert.equal(operation, name.split(",")[0]);
    assertWithin(rows, MOST[name], name);
  }
});

test("who polls a task that stays as it is reads no row, and whatever changes it is seen", async () => {
  const { id } = await alice.submit("polled");
  const poll = (path = `/tasks/${id}`) => costOf((options) => alice.call("GET", path, options));
  const first = await poll();
  const again = await poll();
  assert.ok(first.rows[0] > 0);
  assert.deepEqual(again.rows, [0, 0]);
  assert.deepEqual(again.answer.json, first.answer.json);
  const short = await poll(`/tasks/${id}?historyLength=0`);
  assert.ok(short.rows[0] > 0, "less of it is another answer");
  assert.equal(short.answer.json.history, undefined);
  for (const change of [() => alice.submit("of another task"), () => agent.resident().turn(), () => alice.cancel(id)]) {
    await poll();
    await change();
    const { rows, answer } = await poll();
    assert.ok(rows[0] > 0, `read anew after ${change}`);
    assert.deepEqual(answer.json.status, (await poll(`/tasks/${id}?historyLength=1`)).answer.json.status);
  }
  assert.equal((await poll()).answer.json.status.state, "TASK_STATE_CANCELED");
});

test("a task that one principal polls is not found by another", async () => {
  const { id } = await alice.submit("alice's");
  for (let n = 0; n < 2; n += 1) assert.equal((await alice.call("GET", `/tasks/${id}`)).status, 200);
  assert.equal((await agent.as("bob").call("GET", `/tasks/${id}`)).status, 404);
});
