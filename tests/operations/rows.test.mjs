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
