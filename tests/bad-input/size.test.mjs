// Bodies and messages over their caps, and bodies that do not come whole.

import assert from "node:assert/strict";
import { test } from "node:test";

import { assertError } from "../support/contract.mjs";
import { message } from "../support/deployment.mjs";
import { parsed } from "../support/http.mjs";
import { exchange } from "../support/raw-socket.mjs";
import { Refusing } from "./refusals.mjs";

const MIB = 1024 * 1024;
/** The end of an error's body. */
const UNTIL_ANSWERED = { until: "}]}}" };
const refusing = await Refusing.start();

const sized = (bytes) => {
  const body = JSON.stringify({ message: message("") });
  return body.replace('"text":""', `"text":"${"x".repeat(bytes - body.length)}"`);
};

test("a body is refused by its Content-Length, before it is sent", async () => {
  for (const bytes of [MIB + 1, 20 * MIB, 2 ** 40]) {
    const text = await exchange(refusing.agent, head(`Content-Length: ${bytes}`), UNTIL_ANSWERED);
    assertRefused(text, 413, "PAYLOAD_TOO_LARGE");
  }
  await refusing.assertUntouched();
});

test("a body over 1 MiB without a Content-Length is refused by counting, before it ends", async () => {
  const body = sized(MIB + 1);
  const chunks = [body.slice(0, 1000), body.slice(1000, 400_000), body.slice(400_000)];
  const framed = chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`);
  const text = await exchange(refusing.agent, head("Transfer-Encoding: chunked") + framed.join(""), UNTIL_ANSWERED);
  assertRefused(text, 413, "PAYLOAD_TOO_LARGE");
  await refusing.assertUntouched();
});

test("a message over 256 KiB is refused, however small the rest", async () => {
  for (const body of [sized(256 * 1024 + 1024), sized(MIB)]) {
    const headers = { "content-type": "application/json" };
    assertError(await refusing.alice.call("POST", "/message:send", { body, headers }), "PAYLOAD_TOO_LARGE", "message");
  }
  await refusing.assertUntouched();
});

test("a body of many tiny values is refused before it fills the memory", async () => {
  const body = { message: message("x", { metadata: { many: Array(60_000).fill({}) } }) };
  const answer = await refusing.alice.call("POST", "/message:send", { body });
  assert.ok(answer.status >= 400 && answer.status < 500, answer.text);
  await refusing.assertUntouched();
});

test("a body that stops half way, the connection half closed, is refused", async () => {
  const body = JSON.stringify({ message: message("half") });
  const half = body.slice(0, body.length / 2);
  const text = await exchange(refusing.agent, head(`Content-Length: ${body.length}`) + half, { end: true });
  assertRefused(text, 400, "INVALID_REQUEST");
  await refusing.assertUntouched();
});

test("clients that vanish half way through their bodies disturb nobody", async () => {
  const body = JSON.stringify({ message: message("gone") });
  for (const sent of [0, 1, body.length / 2, body.length - 1]) {
    await exchange(refusing.agent, head(`Content-Length: ${body.length}`) + body.slice(0, sent), { destroy: true });
  }
  await refusing.assertUntouched();
});

/** A send of Alice's, up to its body. */
function head(length) {
  return (
    "POST /message:send HTTP/1.1\r\nHost: agent\r\nContent-Type: application/json\r\n" +
    `Authorization: Bearer ${refusing.agent.tokens.alice}\r\n${length}\r\n\r\n`
  );
}

/** Asserts that the bytes of a connection are an answer that refuses the body. */
function assertRefused(text, status, reason) {
  assert.ok(text.startsWith(`HTTP/1.1 ${status} `), text);
  const [info, { fieldViolations }] = parsed(text.slice(text.indexOf("\r\n\r\n") + 4)).error.details;
  assert.equal(info.reason, reason);
  assert.equal(fieldViolations[0].field, "body");
}
