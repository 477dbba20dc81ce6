// How long an executor may take: one deadline from asking to its first whole line, and one for each whole line after it.

import assert from "node:assert/strict";
import { once } from "node:events";
import http from "node:http";
import { after, test } from "node:test";

import { LineReader } from "../../src/runtime/service.js";

const DEADLINE_MS = 400;
const MAX_LINE_BYTES = 1024;
const server = http.createServer((request, response) => answers.get(request.url)(response)).listen(0, "127.0.0.1");
await once(server, "listening");
after(() => {
  server.closeAllConnections();
  server.close();
});

/** How each path is answered. */
const answers = new Map();

/** A binding whose requests go to the server. */
const binding = {
  fetch: (request) => {
    const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
    return fetch(`http://127.0.0.1:${port}${new URL(request.url).pathname}`, {
      method: "POST",
      body: request.body,
      duplex: "half",
    });
  },
};

/** Writes a piece every so often until the connection ends. */
function drip(response, everyMs, piece) {
  const timer = setInterval(() => response.write(piece), everyMs);
  response.on("close", () => clearInterval(timer));
}

/** Asks, and gives the reader, and how long that and each step took. */
async function asked(path, answer) {
  answers.set(path, answer);
  const reader = new LineReader(MAX_LINE_BYTES);
  const begun = Date.now();
  const failure = await reader.ask(binding, path, "{}", DEADLINE_MS);
  return { reader, failure, elapsedMs: () => Date.now() - begun };
}

const text = (line) => (line instanceof Uint8Array ? new TextDecoder().decode(line) : line);

test("a first line that comes byte by byte is late at one deadline, counted from the asking", async () => {
  const { reader, failure, elapsedMs } = await asked("/first", (response) => {
    setTimeout(() => drip(response, 20, "x"), DEADLINE_MS / 2);
    setTimeout(() => response.flushHeaders(), DEADLINE_MS / 2);
  });
  assert.equal(failure, undefined);
  assert.equal(await reader.next(DEADLINE_MS), "deadline");
  assert.ok(elapsedMs() < DEADLINE_MS * 1.5, `${elapsedMs()} ms`);
  reader.close();
});

test("a further line that comes byte by byte is late at its own deadline", async () => {
  const { reader } = await asked("/further", (response) => {
    response.write('{"a":1}\n');
    drip(response, 20, "x");
  });
  assert.equal(text(await reader.next(DEADLINE_MS)), '{"a":1}');
  const begun = Date.now();
  assert.equal(await reader.next(DEADLINE_MS), "deadline");
  assert.ok(Date.now() - begun < DEADLINE_MS * 1.5);
  reader.close();
});

test("lines that each come in time may together take longer", async () => {
  const { reader, elapsedMs } = await asked("/many", (response) => {
    response.flushHeaders();
    drip(response, DEADLINE_MS * 0.6, "line\n");
  });
  for (let count = 0; count < 4; count += 1) assert.equal(text(await reader.next(DEADLINE_MS)), "line");
  assert.ok(elapsedMs() > DEADLINE_MS * 2);
  reader.close();
});

test("a service that never answers is late at the deadline", async () => {
  const { failure, elapsedMs } = await asked("/silent", () => {});
  assert.equal(failure, "deadline");
  assert.ok(elapsedMs() < DEADLINE_MS * 1.5);
});
