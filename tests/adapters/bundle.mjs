// An adapter as wrangler deploys it: its modules and their packages in one, bundled by the same esbuild.

import { fileURLToPath } from "node:url";

import { build } from "esbuild";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/**
 * @param {string} entry the text of a module whose imports are relative to the repository, such as `./adapters/…`
 * @returns {Promise<string>} the text of the bundle
 */
export async function bundled(entry) {
  const { outputFiles } = await build({
    stdin: { contents: entry, resolveDir: ROOT, sourcefile: "entry.mjs" },
    bundle: true,
    format: "esm",
    target: "es2024",
    external: ["cloudflare:*"],
    write: false,
    logLevel: "error",
  });
  return outputFiles[0].text;
}

/** An adapter as it is. */
export function adapter(name) {
  const entry = JSON.stringify(`./adapters/${name}/index.mjs`);
  return bundled(`export { default } from ${entry}; export * from ${entry};`);
}
