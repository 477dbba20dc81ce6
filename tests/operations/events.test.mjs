// Every event name in the source stands in docs/troubleshooting.md, and no other does.

import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** Where an event is named: a call that logs, a core's event, a line written in JavaScript, and the request's own. */
const NAMED = [
  /\b(?:log::(?:info|error)|fault|LogEvent::new|log_turn|into_answer)\(\s*"([a-z_]+)"/g,
  /\bevent: "([a-z_]+)"/g,
];

/** Names in code that is not part of the product: tests stand at the end of a file. */
function served(text) {
  return text.split("#[cfg(test)]")[0];
}

async function eventsOfSource() {
  const events = new Set();
  for (const folder of ["src", "durable-objects/src"]) {
    for (const file of await readdir(join(ROOT, folder), { recursive: true })) {
      if (!/\.(rs|js|mjs)$/.test(file)) continue;
      const text = served(await readFile(join(ROOT, folder, file), "utf8"));
      for (const pattern of NAMED) for (const [, event] of text.matchAll(pattern)) events.add(event);
    }
  }
  return events;
}

test("each event that the source logs is explained, and each that is explained is logged", async () => {
  const page = await readFile(join(ROOT, "docs/troubleshooting.md"), "utf8");
  const rows = page.split("\n").filter((line) => line.startsWith("| `"));
  const explained = new Set(
    rows.flatMap((row) => [...row.split("|")[1].matchAll(/`([a-z_]+)`/g)].map(([, event]) => event)),
  );
  const logged = await eventsOfSource();
  assert.ok(logged.size > 40, String(logged.size));
  assert.deepEqual([...explained].sort(), [...logged].sort());
});
