// The storage that an older release has left, as workerd keeps it. tests/fixtures/populate.mjs made it.

import { mkdir, readdir, readFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const FIXTURES = fileURLToPath(new URL("../fixtures/", import.meta.url));

/** workerd keeps alarms in nanoseconds. */
const ALARMS = [
  ["_cf_ALARM", "scheduled_time"],
  ["_cf_METADATA", "value"],
];

/**
 * Writes a release's databases into a deployment's folder, as if they had been stored `agoMs` ago, and gives what
 * callers were answered then: `caller`, `content`, `state` and `answer`. Timestamps in answers are those of that day.
 *
 * @param {string} release a folder of tests/fixtures
 * @param {string} folder the deployment's
 * @param {number} agoMs
 */
export async function restore(release, folder, agoMs) {
  // Here, so that Node's warning that this module is experimental does not stand before every test.
  const { DatabaseSync } = await import("node:sqlite");
  const source = join(FIXTURES, release);
  const { storedMs, found } = JSON.parse(await readFile(join(source, "found.json"), "utf8"));
  const laterMs = Date.now() - agoMs - storedMs;
  const files = (await readdir(source, { recursive: true })).filter((path) => path.endsWith(".sql"));
  for (const file of files) {
    const target = join(folder, "objects", dirname(file));
    await mkdir(target, { recursive: true });
    const database = new DatabaseSync(join(target, `${basename(file, ".sql")}.sqlite`));
    database.exec("PRAGMA journal_mode = WAL");
    database.exec(await readFile(join(source, file), "utf8"));
    moveTimes(database, laterMs);
    database.close();
  }
  return found;
}

/**
 * Moves every time that a deployment's objects have stored, while it is stopped: the same as moving the clock the other
 * way.
 *
 * @param {string} folder the deployment's
 * @param {number} laterMs
 */
export async function moveStorage(folder, laterMs) {
  const { DatabaseSync } = await import("node:sqlite");
  const objects = join(folder, "objects");
  for (const file of await readdir(objects, { recursive: true })) {
    if (!file.endsWith(".sqlite")) continue;
    const database = new DatabaseSync(join(objects, file));
    moveTimes(database, laterMs);
    database.close();
  }
}

/** Every time that a database holds, so much later. */
function moveTimes(database, laterMs) {
  const columns = database
    .prepare(
      "SELECT tables.name AS tableName, columns.name AS columnName FROM sqlite_schema AS tables, " +
        "pragma_table_info(tables.name) AS columns WHERE tables.type = 'table'",
    )
    .all();
  for (const { tableName, columnName } of columns) {
    const isAlarm = ALARMS.some(([table, column]) => table === tableName && column === columnName);
    if (!isAlarm && !columnName.endsWith("_ms")) continue;
    const by = isAlarm ? BigInt(laterMs) * 1_000_000n : BigInt(laterMs);
    database.prepare(`UPDATE ${tableName} SET ${columnName} = ${columnName} + ?`).run(by);
  }
}
