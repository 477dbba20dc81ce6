// What a principal's size costs on workerd: send, get, list page and cancel with 1,000 tasks and with 100,000.
//
//   node bench/growth.mjs
//
// The tasks are copied inside the object's database while workerd is down. The Worker must have been built.

import { existsSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { randomUUID } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import { serve } from "../scripts/serve.mjs";
import { Connection } from "./connection.mjs";
import * as requests from "./requests.mjs";
import { median } from "./statistics.mjs";

const SIZES = [1_000, 100_000];
const ROUNDS = 5;
const OPERATIONS = 200;

/** The columns that a copied task has of its own; everything else is as in the task that was sent. */
const COPIES = {
  contexts: { context_id: "'copy-' || n" },
  claims: { activation_id: "activation_id + n", dedupe_key: "'copy-' || n", task_id: "'copy-' || n" },
  tasks: {
    task_id: "'copy-' || n",
    context_id: "'copy-' || n",
    activation_id: "activation_id + n",
    status_ms: "status_ms - n",
  },
  messages: { task_id: "'copy-' || n" },
  evidence: { evidence_id: "evidence_id + n", task_id: "'copy-' || n", activation_id: "activation_id + n" },
};

const state = await mkdtemp(path.join(existsSync("/dev/shm") ? "/dev/shm" : os.tmpdir(), "growth-"));
const token = (size) => `principal-of-${size}-tasks`;
const credentials = [
  ...SIZES.map((size) => ({ token: token(size), principal: `p${size}` })),
  { token: "the-token-of-the-resident", role: "resident" },
];
const server = await serve({
  state,
  vars: {
    A2A_CREDENTIALS: JSON.stringify({ credentials }),
    A2A_REQUEST_LOG: "off",
    A2A_MAX_OPEN_TASKS: "1000000",
  },
});

async function operations(size) {
  const connection = await Connection.open("127.0.0.1", server.port);
  const timed = async (request) => {
    const began = performance.now();
    const { status, body } = await connection.exchange(request);
    if (status !== 200) throw new Error(`${status} ${body}`);
    return [performance.now() - began, body];
  };
  const took = { send: [], get: [], list: [], cancel: [] };
  for (let index = 0; index < OPERATIONS; index += 1) {
    const [sendMs, body] = await timed(requests.send(token(size), randomUUID()));
    const { id } = JSON.parse(body).task;
    took.send.push(sendMs);
    took.get.push((await timed(requests.get(token(size), id)))[0]);
    took.list.push((await timed(requests.list(token(size))))[0]);
    took.cancel.push((await timed(requests.cancel(token(size), id)))[0]);
  }
  connection.close();
  return took;
}

/** Copies the one task of a database until it has `size` of them. */
function fill(file, size) {
  const database = new DatabaseSync(file);
  const columns = (table) => database.prepare(`SELECT name FROM pragma_table_info('${table}')`).all();
  database.exec("BEGIN");
  database.exec("CREATE TEMP TABLE numbers (n INTEGER PRIMARY KEY)");
  database.exec(
    `INSERT INTO numbers WITH RECURSIVE up (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM up WHERE n < ${size - 1}) ` +
      "SELECT n FROM up",
  );
  for (const [table, own] of Object.entries(COPIES)) {
    const names = columns(table).map(({ name }) => name);
    const values = names.map((name) => own[name] ?? name);
    database.exec(
      `INSERT INTO ${table} (${names.join(", ")}) SELECT ${values.join(", ")} FROM numbers, ` +
        `(SELECT * FROM ${table} LIMIT 1)`,
    );
  }
  database.exec(`UPDATE task_counts SET state_1 = ${size}`);
  database.exec("COMMIT");
  database.close();
}

try {
  for (const size of SIZES) {
    const connection = await Connection.open("127.0.0.1", server.port);
    await connection.exchange(requests.send(token(size), randomUUID()));
    connection.close();
  }
  await server.stop();
  const folder = path.join(state, "objects");
  const files = (await readdir(folder, { recursive: true }))
    .filter((file) => /PrincipalObject.*\.sqlite$/.test(file) && !file.includes("metadata"))
    .map((file) => path.join(folder, file));
  if (files.length !== SIZES.length) throw new Error(`${files.length} objects`);
  files.forEach((file, index) => fill(file, SIZES[index]));
  await server.restart();

  // Which file was whose is not known: the totals say it.
  const connection = await Connection.open("127.0.0.1", server.port);
  const sizes = new Map();
  for (const size of SIZES) {
    const { body } = await connection.exchange(requests.list(token(size)));
    sizes.set(JSON.parse(body).totalSize >= Math.max(...SIZES) ? "large" : "small", size);
  }
  connection.close();
  const rounds = { small: [], large: [] };
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const which of round % 2 === 0 ? ["small", "large"] : ["large", "small"]) {
      rounds[which].push(await operations(sizes.get(which)));
    }
  }
  for (const operation of ["send", "get", "list", "cancel"]) {
    const of = (which) => median(rounds[which].flatMap((took) => took[operation]));
    console.log(
      `${operation}: ${of("small").toFixed(2)} ms with 1,000 tasks, ${of("large").toFixed(2)} ms with 100,000, ` +
        `ratio ${(of("large") / of("small")).toFixed(2)}`,
    );
  }
} finally {
  await server.stop();
  await rm(state, { recursive: true, force: true });
}
