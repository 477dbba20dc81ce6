// The tests' own client hears an answer that comes before the body has been sent.

import assert from "node:assert/strict";
import { once } from "node:events";
import { after, test } from "node:test";
import { Worker } from "node:worker_threads";

import { call } from "./http.mjs";

/**
 * Does what workerd does with a body that it refuses: answers by the head, discards 64 KiB, and closes while more is on
 * its way. It runs in a thread of its own, as a reset overtakes an answer only where both sides work at once.
 */
const SERVER = `
  const { createServer } = require("node:net");
  const { parentPort } = require("node:worker_threads");
  const server = createServer((socket) => {
    let received = 0;
    socket.on("error", () => {});
    socket.on("data", ({ length }) => {
      if (received === 0) {
        socket.write("HTTP/1.1 413 Payload Too Large\\r\\ncontent-length: 2\\r\\nconnection: close\\r\\n\\r\\n{}");
      }
      received += length;
      if (received > 64 * 1024) socket.resetAndDestroy();
    });
  });
  server.listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port));
`;

const server = new Worker(SERVER, { eval: true });
const [port] = await once(server, "message");
after(() => server.terminate());

test("a body that is refused before it is read gives its refusal, not a broken pipe", async () => {
  const body = "x".repeat(16 * 1024 * 1024);
  for (let round = 0; round < 50; round += 1) {
    const { status, json } = await call(`http://127.0.0.1:${port}/`, "POST", { body });
    assert.equal(status, 413);
    assert.deepEqual(json, {});
  }
});
