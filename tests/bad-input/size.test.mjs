// Bodies and messages over their caps, and bodies that do not come whole.

import assert from "node:assert/strict";
import { once } from "node:events";
import { request } from "node:http";
import { test } from "node:test";

import { assertError } from "../support/contract.mjs";
import { message } from "../support/deployment.mjs";
import { parsed } from "../support/http.mjs";
import { exchange } from "../support/raw-socket.mjs";
import { Refusing } from "./refusals.mjs";

const MIB = 1024 * 1024;
const refusing = await Refusing.start();

const sized = (bytes) => {
  const body = JSON.stringify({ message: message("") });
  return body.replace('"text":""', `"text":"${"x".repeat(bytes - body.length)}"`);
};

test("a body over 1 MiB is refused", async () => {
  const headers = { "content-type": "application/json" };
  const answer = await refusing.alice.call("POST", "/message:send", { body: sized(MIB + 1), headers });
  assertError(answer, "PAYLOAD_TOO_LARGE", "body");
  await refusing.assertUntouched();
});

test("a body is refused by its Content-Length, before it is sent", async () => {
  for (const bytes of [MIB + 1, 20 * MIB, 2 ** 40]) {
    const { status, json } = answerIn(await exchange(refusing.agent, head(bytes), { until: "}]}}" }));
    assert.equal(status, 413);
    assert.equal(json.error.details[0].reason, "PAYLOAD_TOO_LARGE");
    assert.equal(json.error.details[1].fieldViolations[0].field, "body");
  }
  await refusing.assertUntouched();
});

test("a body over 1 MiB without a Content-Length is refused by counting", async () => {
  assertError(await chunked(sized(MIB + 1)), "PAYLOAD_TOO_LARGE", "body");
  assertError(await chunked(sized(4 * MIB)), "PAYLOAD_TOO_LARGE", "body");
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
  const text = await exchange(refusing.agent, head(body.length) + half, { end: true });
  // The server may also take the half-closed connection for a client that left, and say nothing.
  if (text !== "") {
    const { status, json } = answerIn(text);
    assert.equal(status, 400);
    assert.equal(json.error.details[0].reason, "INVALID_REQUEST");
    assert.equal(json.error.details[1].fieldViolations[0].field, "body");
  }
  await refusing.assertUntouched();
});

test("clients that vanish half way through their bodies disturb nobody", async () => {
  const body = JSON.stringify({ message: message("gone") });
  for (const sent of [0, 1, body.length / 2, body.length - 1]) {
    await exchange(refusing.agent, head(body.length) + body.slice(0, sent), { destroy: true });
  }
  await refusing.assertUntouched();
});

function head(length) {
  return (
    "POST /message:send HTTP/1.1\r\nHost: agent\r\nContent-Type: application/json\r\n" +
    `Authorization: Bearer ${refusing.agent.tokens.alice}\r\nContent-Length: ${length}\r\n\r\n`
  );
}

/** The answer that stands in the bytes of a connection. */
function answerIn(text) {
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(text)?.[1]);
  return { status, json: parsed(text.slice(text.indexOf("\r\n\r\n") + 4)) };
}

/** Sends a body in chunks, without a Content-Length. The server may answer before it has read it all. */
async function chunked(body) {
  const outgoing = request(`${refusing.agent.url}/message:send`, {
    method: "POST",
    agent: false,
    headers: { authorization: `Bearer ${refusing.agent.tokens.alice}`, "content-type": "application/json" },
  });
  outgoing.on("error", () => {}); // Writing on after the answer fails; what counts is the answer.
  const answered = once(outgoing, "response");
  for (let start = 0; start < body.length; start += 65_536) outgoing.write(body.slice(start, start + 65_536));
  outgoing.end();
  const [response] = await answered;
  let text = "";
  for await (const chunk of response.setEncoding("utf8")) text += chunk;
  return { status: response.statusCode, headers: response.headers, text, json: parsed(text) };
}
