// What wrangler.toml and .dev.vars say, for everything here that runs the Worker without wrangler.

import { readFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import * as util from "node:util";
import { parse as parseToml } from "smol-toml";

/** The repository's folder. */
export const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");

/** Where local secrets are kept, as wrangler keeps them. */
export const DEV_VARS = path.join(ROOT, ".dev.vars");

/**
 * @typedef {object} WorkerSettings
 * @property {string} compatibilityDate
 * @property {string[]} compatibilityFlags
 * @property {Record<string, string>} objects binding name → class name, each with its own SQLite storage
 * @property {Record<string, string>} vars what is deployed with the Worker; no secrets
 */

/** @returns {Promise<WorkerSettings>} */
export async function readWorkerSettings() {
  const toml = /** @type {any} */ (parseToml(await readFile(path.join(ROOT, "wrangler.toml"), "utf8")));
  return {
    compatibilityDate: toml.compatibility_date,
    compatibilityFlags: toml.compatibility_flags ?? [],
    objects: Object.fromEntries(toml.durable_objects.bindings.map((binding) => [binding.name, binding.class_name])),
    vars: Object.fromEntries(Object.entries(toml.vars ?? {}).map(([name, value]) => [name, textOf(value)])),
  };
}

/** What .dev.vars holds; nothing where there is no such file. @returns {Promise<Record<string, string>>} */
export async function readDevVars(file = DEV_VARS) {
  if (util.parseEnv === undefined) {
    throw new Error(`Node ${process.version} can't read .dev.vars: run it with node_modules/.bin/node`);
  }
  try {
    return /** @type {Record<string, string>} */ (util.parseEnv(await readFile(file, "utf8")));
  } catch (error) {
    if (error.code === "ENOENT") return {};
    throw error;
  }
}

/** wrangler binds what is not a string as JSON; the Worker reads every var as text. */
function textOf(value) {
  return typeof value === "string" ? value : JSON.stringify(value);
}
