// What a principal's size costs on workerd: send, get, list page and cancel with 1,000 tasks and with 100,000. The tasks are
// copied inside the object's database while workerd is down. This Worker alone.

import { randomUUID } from "node:crypto";
import { readdir } from "node:fs/promises";
import path from "node:path";
import { serve } from "../scripts/serve.mjs";
import { Connection } from "./connection.mjs";
import { figure } from "./report.mjs";
import * as requests from "./requests.mjs";
import { median } from "./statistics.mjs";

/** How many tasks the principals have, the larger first. */
const SIZES = [100_000, 1_000];
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

const HOST = "127.0.0.1";

/** How a principal's figures are headed. */
export const SIZE_NAMES = SIZES.map((size) => `${size.toLocaleString("en")} tasks`);

/**
 * @param {string} state the folder for the objects' storage
 * @returns {Promise<import("./report.mjs").Figure[]>} with the large principal's value and the small one's
 */
export async function measureGrowth(state) {
  const tokens = SIZES.map((size) => `principal-of-${size}-tasks`);
  const credentials = [
    ...tokens.map((token) => ({ token, principal: token })),
    { token: "the-token-of-the-resident", role: "resident" },
  ];
  const vars = {
    A2A_CREDENTIALS: JSON.stringify({ credentials }),
    A2A_REQUEST_LOG: "off",
    A2A_MAX_OPEN_TASKS: "1000000",
  };
  const server = await serve({ state, vars });
  try {
    const connection = await Connection.open(HOST, server.port);
    for (const token of tokens) await connection.exchange(requests.send(token, randomUUID()));
    connection.close();
    await server.stop();
    await fillAll(path.join(state, "objects"));
    await server.restart();
    const bySize = await sorted(server.port, tokens);
    const measured = SIZES.map(() => ({ send: [], get: [], list: [], cancel: [] }));
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const index of round % 2 === 0 ? [0, 1] : [1, 0]) {
        await operations(server.port, bySize[index], measured[index]);
      }
    }
    return ["send", "get", "list", "cancel"].map((operation) =>
      figure(measured, `${operation}, p50`, "ms", "less", (took) => median(took[operation])),
    );
  } finally {
    await server.stop();
  }
}

async function fillAll(folder) {
  const files = (await readdir(folder, { recursive: true }))
    .filter((file) => /PrincipalObject.*\.sqlite$/.test(file) && !file.includes("metadata"))
    .map((file) => path.join(folder, file));
  if (files.length !== SIZES.length) throw new Error(`${files.length} objects`);
  // Here, so that Node's warning that this module is experimental stands before no other figure.
  const { DatabaseSync } = await import("node:sqlite");
  files.forEach((file, index) => fill(new DatabaseSync(file), SIZES[index]));
}

/** The principals, the larger first. Which file was whose is not known: the totals say it. */
async function sorted(port, tokens) {
  const connection = await Connection.open(HOST, port);
  const totals = [];
  for (const token of tokens) {
    const { body } = await connection.exchange(requests.list(token));
    totals.push([token, JSON.parse(body).totalSize]);
  }
  connection.close();
  totals.sort(([, one], [, other]) => other - one);
  if (totals[0][1] < Math.max(...SIZES)) throw new Error(`the larger principal has ${totals[0][1]} tasks`);
  return totals.map(([token]) => token);
}

async function operations(port, token, took) {
  const connection = await Connection.open(HOST, port);
  const timed = async (request) => {
    const began = performance.now();
    const { status, body } = await connection.exchange(request);
    if (status !== 200) throw new Error(`${status} ${body}`);
    return [performance.now() - began, body];
  };
  for (let index = 0; index < OPERATIONS; index += 1) {
    const [sendMs, body] = await timed(requests.send(token, randomUUID()));
    const { id } = JSON.parse(body).task;
    took.send.push(sendMs);
    took.get.push((await timed(requests.get(token, id)))[0]);
    took.list.push((await timed(requests.list(token)))[0]);
    took.cancel.push((await timed(requests.cancel(token, id)))[0]);
  }
  connection.close();
}

/** Copies the one task of a database until it has `size` of them. */
function fill(database, size) {
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
