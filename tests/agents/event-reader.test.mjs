// The Worker's reader of remote agents' events, on streams cut in every way.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, test } from "node:test";

import { EventReader } from "../../src/runtime/remote.js";

const server = createServer((request, answer) => {
  const { type = "text/event-stream", location } = Object.fromEntries(new URL(request.url, "http://x").searchParams);
  answer.writeHead(location ? 307 : 200, { "content-type": type, ...(location && { location }) });
  answer.end("data: there\n\n");
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const url = `http://127.0.0.1:${server.address().port}/`;
after(() => server.close());

/** A reader of a stream of these chunks. */
async function reading(chunks, maxBytes = 10_000) {
  const { fetch } = globalThis;
  const encoder = new TextEncoder();
  const pending = chunks[Symbol.iterator]();
  const body = new ReadableStream({
    pull: (controller) => {
      const { done, value } = pending.next();
      if (done) controller.close();
      else controller.enqueue(typeof value === "string" ? encoder.encode(value) : value);
    },
  });
  globalThis.fetch = async () => new Response(body, { headers: { "content-type": "text/event-stream" } });
  try {
    const reader = new EventReader(maxBytes);
    assert.equal(await reader.open("http://agent.example", "", 1000), undefined);
    return reader;
  } finally {
    globalThis.fetch = fetch;
  }
}

/** All that a reader gives, to the word that ends it. */
async function all(reader) {
  const found = [];
  for (;;) {
    const step = await reader.next(5000);
    if (typeof step === "string") return [...found, step];
    found.push(...step);
  }
}

test("events are the same however the stream is cut", async () => {
  const stream = new TextEncoder().encode(
    ': hello\n\ndata: {"ä":\r\ndata:1}\r\n\r\nevent: x\rdata: 👍\r\rdata\n\ndata:\n\ndata: a\n\rdata: b\n\n\n\ndata: cut',
  );
  const expected = ['{"ä":\n1}', "👍", "a", "b", "end"];
  for (let size = 1; size <= stream.length; size += 1) {
    const chunks = [];
    for (let at = 0; at < stream.length; at += size) chunks.push(stream.slice(at, at + size));
    assert.deepEqual(await all(await reading(chunks)), expected, `chunks of ${size}`);
  }
});

test("an endless line in tiny chunks is read in linear time, and no further than the bound", async () => {
  let taken = 0;
  function* endless() {
    yield "data: ";
    for (;;) {
      taken += 1;
      yield "x";
    }
  }
  const began = performance.now();
  assert.deepEqual(await all(await reading(endless(), 400_000)), ["large"]);
  assert.ok(taken <= 400_000, `${taken} chunks`);
  // Searching it anew for each chunk would take minutes.
  assert.ok(performance.now() - began < 30_000);
});

test("an event of endless lines is bounded, too, also within one chunk", async () => {
  function* endless() {
    for (;;) yield "data:\n";
  }
  assert.deepEqual(await all(await reading(endless())), ["large"]);
  assert.deepEqual(await all(await reading([`data: ${"x\ndata: ".repeat(20_000)}\n\n`])), ["large"]);
  assert.deepEqual(await all(await reading([`data: ${"x".repeat(20_000)}\n\n`])), ["large"]);
});

test("a stream that brings nothing whole in time lives where it brings something, and loses nothing", async () => {
  const later = [];
  const source = new ReadableStream({ start: (controller) => later.push(controller) });
  const { fetch } = globalThis;
  globalThis.fetch = async () => new Response(source, { headers: { "content-type": "text/event-stream" } });
  const reader = new EventReader(1000);
  await reader.open("http://agent.example", "", 1000);
  globalThis.fetch = fetch;
  const send = (text) => later[0].enqueue(new TextEncoder().encode(text));
  assert.equal(await reader.next(20), "silent");
  send("data: one\n");
  assert.deepEqual(await reader.next(20), []);
  send("\ndata: two\n\n");
  assert.deepEqual(await reader.next(20), ["one"]);
  assert.deepEqual(await reader.next(20), ["two"]);
  later[0].error(new Error("cut"));
  assert.equal(await reader.next(20), "failed");
});

test("a media type counts in any case, and a redirect is not followed", async () => {
  const open = (query) => new EventReader(1024).open(`${url}?${query}`, "", 5000);
  assert.equal(await open("type=Text/Event-Stream;charset=UTF-8"), undefined);
  assert.equal(await open("type=application/json"), "status 406");
  assert.equal(await open("location=/"), "status 307");
});
