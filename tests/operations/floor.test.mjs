// The benchmark's floor writes the rows that this Worker writes, or what it is compared with is another piece of work.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { isDeepStrictEqual } from "node:util";

import { Connection } from "../../bench/connection.mjs";
import { startFloor, startWorker } from "../../bench/contestants.mjs";
import * as requests from "../../bench/requests.mjs";
import { rows } from "../support/storage.mjs";

/** How long what follows an answer may take: the queue is told, and the outbox emptied. */
const LIMIT_MS = 10_000;

const CLASSES = ["PrincipalObject", "WakeQueueObject"];

/** What the start of a resident's session leaves, once, and the number that the schema has. */
const ONCE = ["keys", "sessions", "schema_version"];

/** Columns that say nothing of how much is written: what a session's start sets, and a digest of what was said. */
const OPEN = { principals: ["assigned"], claims: ["digest"], turn: ["secret_sha256"] };

const folder = await mkdtemp(join(tmpdir(), "a2a-floor-"));
const started = [];
after(async () => {
  for (const { contestant, connection } of started) {
    connection.close();
    await contestant.stop();
  }
  await rm(folder, { recursive: true, force: true });
});
for (const start of [startWorker, startFloor]) {
  const state = join(folder, start.name);
  const contestant = await start(state, 1);
  started.push({ state, contestant, connection: await Connection.open("127.0.0.1", contestant.port) });
}

/** Ids by the order in which they appear, times as such: what differs from run to run. */
function plain(value, ids) {
  if (typeof value === "number") return value > 1e12 ? "a time" : value;
  return value?.replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, (id) => {
    if (!ids.has(id)) ids.set(id, `id ${ids.size}`);
    return ids.get(id);
  });
}

/** Every row of both objects, by table. Ids are named in the order of the claims and contexts, which come first. */
async function written(state) {
  const found = {};
  const ids = new Map();
  for (const type of CLASSES) {
    const tables = await rows(
      state,
      type,
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_cf%' ESCAPE '\\' ORDER BY name",
      [],
    );
    for (const { name } of tables.filter(({ name }) => !ONCE.includes(name))) {
      const order = { claims: " ORDER BY activation_id", contexts: " ORDER BY last_event_ms" }[name] ?? "";
      const all = await rows(state, type, `SELECT * FROM ${name}${order}`, []);
      const shown = all.map((row) =>
        Object.entries(row)
          .filter(([column]) => !OPEN[name]?.includes(column))
          .map(([column, value]) => `${column}: ${plain(value, ids)}`)
          .join(", "),
      );
      found[`${type} ${name}`] = shown.sort();
    }
  }
  return found;
}

/** Compares what both have stored, once what follows their answers is done. */
async function assertSameRows() {
  const until = Date.now() + LIMIT_MS;
  for (;;) {
    const [worker, floor] = [await written(started[0].state), await written(started[1].state)];
    const owes = [worker, floor].some((of) => of["PrincipalObject outbox"].length > 0);
    if (!owes && isDeepStrictEqual(floor, worker)) return;
    if (Date.now() > until) return assert.deepEqual(floor, worker);
  }
}

/** Waits until this Worker's queue has asked its principal what is open, as it does when a session begins. */
async function assertAsked() {
  const until = Date.now() + LIMIT_MS;
  for (;;) {
    const principals = await rows(started[0].state, "WakeQueueObject", "SELECT replay_due_ms FROM principals", []);
    if (principals.length === 1 && principals[0].replay_due_ms === null) return;
    assert.ok(Date.now() < until, "the principal was asked");
  }
}

async function sent({ contestant, connection }) {
  const { status, body } = await connection.exchange(requests.send(contestant.tokens[0], randomUUID()));
  assert.equal(status, 200, body);
  return JSON.parse(body).task.id;
}

async function canceled({ contestant, connection }, taskId) {
  const { status, body } = await connection.exchange(requests.cancel(contestant.tokens[0], taskId));
  assert.equal(status, 200, body);
}

async function asked({ contestant, connection }, path, content) {
  const { status, body } = await connection.exchange(requests.resident(contestant.residents[0], path, content));
  assert.equal(status, 200, body);
  return JSON.parse(body);
}

test("the floor leaves the rows of this Worker: send, cancel, and each step of a whole task", async (t) => {
  const both = (work) => Promise.all(started.map(work));
  // The session begins before there is work, so that its start asks for none.
  const session = randomUUID();
  await both(async ({ contestant, connection }) => {
    const take = requests.resident(contestant.residents[0], "wakes:take", { session, waitMs: 1 });
    assert.equal((await connection.exchange(take)).status, 204);
  });
  await assertAsked();
  await t.test("a send", async () => {
    const ids = await both(sent);
    await assertSameRows();
    started.forEach((each, index) => (each.taskId = ids[index]));
  });
  await t.test("a cancel", async () => {
    await both((each) => canceled(each, each.taskId));
    await assertSameRows();
  });
  await t.test("a turn that is taken", async () => {
    await both(sent);
    await assertSameRows();
    await both(async (each) => {
      const { turn } = await asked(each, "wakes:take", { session, waitMs: 5_000 });
      each.turn = { turnId: turn.turnId, taskId: turn.taskId };
    });
    await assertSameRows();
  });
  await t.test("a task that is read", async () => {
    await both((each) => asked(each, "tools/a2a_read_task", each.turn));
    await assertSameRows();
  });
  await t.test("a task that is completed", async () => {
    await both((each) => asked(each, "tools/a2a_complete_task", { ...each.turn, response: "done" }));
    await assertSameRows();
  });
  await t.test("a turn that has ended", async () => {
    await both((each) => asked(each, `turns/${each.turn.turnId}:end`, { outcome: "ended" }));
    await assertSameRows();
  });
});
