// What the objects have stored, read beside the running workerd.

import { copyFile, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const SUFFIX = ".sqlite";

/** The objects' database files in a deployment's folder, as `Class/id.sqlite`. */
export async function databases(folder) {
  return (await files(folder)).map(({ name }) => name).sort();
}

/**
 * The rows that a query finds in all objects of a class. Each database is read from a copy: the original belongs to
 * workerd, which locks it.
 */
export async function rows(folder, type, query, parameters) {
  // Here, so that Node's warning that this module is experimental does not stand before every test.
  const { DatabaseSync } = await import("node:sqlite");
  const found = [];
  for (const { name, path } of await files(folder)) {
    if (!name.startsWith(`${type}/`)) continue;
    const copies = await mkdtemp(join(tmpdir(), "a2a-rows-"));
    try {
      const copy = join(copies, "copy.sqlite");
      await copyFile(path, copy);
      await copyFile(`${path}-wal`, `${copy}-wal`).catch(ignoreMissing);
      const database = new DatabaseSync(copy);
      found.push(...database.prepare(query).all(...parameters));
      database.close();
    } finally {
      await rm(copies, { recursive: true, force: true });
    }
  }
  return found;
}

/** Each object's database: a folder per class, named after the Worker and the class. */
async function files(folder) {
  const objects = join(folder, "objects");
  const entries = await readdir(objects, { recursive: true });
  return entries
    .filter((path) => path.endsWith(SUFFIX) && !path.endsWith(`metadata${SUFFIX}`))
    .map((path) => ({ name: path.replace(/^main-/, ""), path: join(objects, path) }));
}

function ignoreMissing(error) {
  if (error.code !== "ENOENT") throw error;
}

/** Runs a statement in the databases of all objects of a class. Nothing may serve from the folder meanwhile. */
export async function change(folder, type, statement) {
  const { DatabaseSync } = await import("node:sqlite");
  for (const { name, path } of await files(folder)) {
    if (!name.startsWith(`${type}/`)) continue;
    const database = new DatabaseSync(path);
    database.exec(statement);
    database.close();
  }
}
