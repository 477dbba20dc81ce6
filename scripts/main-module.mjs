// Whether a module was started by name, as in `node scripts/tokens.mjs`, and not imported.

import { existsSync, realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** `import.meta.filename` and `import.meta.main` would say it, but Node 18 has neither. */
export function isMain(url) {
  const started = process.argv[1];
  return started !== undefined && existsSync(started) && realpathSync(started) === fileURLToPath(url);
}
