// Every event name in the source stands in docs/troubleshooting.md, and no other does; and each is looked for by a test.

import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** Where an event is named: a call that logs, a core's event, a line written in JavaScript, and the request's own. */
const NAMED = [
  /\b(?:log::(?:info|error)|fault|LogEvent::new|log_turn|into_answer)\(\s*"([a-z0-9_]+)"/g,
  /\bevent: "([a-z0-9_]+)"/g,
  /\b[A-Z_]+_EVENT: &str =\s*"([a-z0-9_]+)"/g,
];

/** What only a mistake in the code itself could log: a type of ours that can't be written, a response that can't be made. */
const UNPROVOKED = ["answer_not_written", "message_not_written", "response_not_built"];

/** Names in code that is not part of the product: tests stand at the end of a file. */
function served(text) {
  return text.split("#[cfg(test)]")[0];
}

async function eventsOfSource() {
  const events = new Set();
  for (const folder of ["src", "durable-objects/src", "protocol/src"]) {
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
    rows.flatMap((row) => [...row.split("|")[1].matchAll(/`([a-z0-9_]+)`/g)].map(([, event]) => event)),
  );
  const logged = await eventsOfSource();
  assert.ok(logged.size > 40, String(logged.size));
  assert.deepEqual([...explained].sort(), [...logged].sort());
});

test("each event is looked for by a test, but for those that no test can provoke", async () => {
  const sought = new Set();
  for (const folder of ["tests", "durable-objects/tests"]) {
    for (const file of await readdir(join(ROOT, folder), { recursive: true })) {
      if (!/\.(rs|mjs)$/.test(file) || file === "operations/events.test.mjs") continue;
      const text = await readFile(join(ROOT, folder, file), "utf8");
      for (const [, name] of text.matchAll(/["/|(]([a-z0-9]+(?:_[a-z0-9]+)+|request)["/|)]/g)) sought.add(name);
    }
  }
  const missing = [...(await eventsOfSource())].filter((event) => !sought.has(event));
  assert.deepEqual(missing.sort(), UNPROVOKED);
});
