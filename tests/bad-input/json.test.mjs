// Bodies that are no unambiguous JSON of an acceptable size.

import assert from "node:assert/strict";
import { test } from "node:test";

import { assertError } from "../support/contract.mjs";
import { message } from "../support/deployment.mjs";
import { Refusing } from "./refusals.mjs";

const refusing = await Refusing.start();
const JSON_TYPE = { "content-type": "application/json" };

const good = JSON.stringify({ message: message("good"), configuration: { returnImmediately: true } });
/** The good body with one part of its text replaced. */
const spoiled = (part, by) => good.replace(part, by);
const bytes = (...chunks) => Buffer.concat(chunks.map((chunk) => Buffer.from(chunk)));
const nested = (levels) => "[".repeat(levels) + "]".repeat(levels);

/** Each body, and the field that the refusal names. */
const bodies = {
  "an empty body": ["", "body"],
  "a body that is not JSON": ["hello", "body"],
  "a form": ["message=hello", "body"],
  "JSON that stops half way": [good.slice(0, -20), /./],
  "JSON with something after it": [`${good}{}`, "body"],
  "a byte order mark": [`\uFEFF${good}`, "body"],
  "a trailing comma": [spoiled('"role"', ',"role"'), /./],
  "a comment": [`/* hello */${good}`, "body"],
  "a number that JSON has not": [spoiled('"good"', "NaN"), /./],
  "a number no double holds": [spoiled('"good"', "1e999"), "message.parts[0].text"],
  "10,000 levels of arrays": [spoiled('{"text":"good"}', `{"data":${nested(10_000)}}`), /^message\.parts\[0\]\.data/],
  "10,000 levels of objects": [spoiled('"good"', '{"a":'.repeat(10_000) + "1" + "}".repeat(10_000)), /^message\.parts/],
  "10,000 open brackets": ["[".repeat(10_000), /./],
  "a key twice": [spoiled('"text":"good"', '"text":"good","text":"bad"'), "message.parts[0].text"],
  "a key twice, once escaped": [spoiled('"text":"good"', '"text":"good","te\\u0078t":"bad"'), "message.parts[0].text"],
  "a key twice at the top": [spoiled('{"message"', '{"message":{},"message"'), "message"],
  "a key twice deep in metadata": [spoiled('"role"', '"metadata":{"a":{"b":1,"b":1}},"role"'), "message.metadata.a.b"],
  "invalid UTF-8": [bytes(good.slice(0, 40), [0xff, 0xfe], good.slice(40)), "body"],
  "an overlong encoding": [bytes(good.slice(0, 40), [0xc0, 0xaf], good.slice(40)), "body"],
  "a surrogate in UTF-8": [bytes(good.slice(0, 40), [0xed, 0xa0, 0x80], good.slice(40)), "body"],
  "a lone high surrogate": [spoiled("good", "\\ud800"), "message.parts[0].text"],
  "a lone low surrogate": [spoiled("good", "\\udc00 x"), "message.parts[0].text"],
  "surrogates in the wrong order": [spoiled("good", "\\udc00\\ud800"), "message.parts[0].text"],
  "a control character in a string": [spoiled("good", "\u0001"), "message.parts[0].text"],
  "UTF-16": [Buffer.from(good, "utf16le"), "body"],
};

for (const path of ["/message:send", "/message:stream"]) {
  test(`${path} refuses what is no JSON, by its field, and stores nothing`, async (t) => {
    for (const [name, [body, field]] of Object.entries(bodies)) {
      await t.test(name, async () => {
        const answer = await refusing.alice.call("POST", path, { body, headers: JSON_TYPE });
        assertError(answer, "INVALID_REQUEST");
        const [{ field: named }] = answer.json.error.details[1].fieldViolations;
        if (typeof field === "string") assert.equal(named, field);
        else assert.match(named, field);
        await refusing.assertUntouched();
      });
    }
  });
}

test("another Content-Type is refused by its name", async () => {
  for (const type of [undefined, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "json"]) {
    const headers = type === undefined ? {} : { "content-type": type };
    const answer = await refusing.alice.call("POST", "/message:send", { body: good, headers });
    assertError(answer, "CONTENT_TYPE_NOT_SUPPORTED", "Content-Type");
  }
  await refusing.assertUntouched();
});
