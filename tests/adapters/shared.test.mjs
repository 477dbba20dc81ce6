// What the adapters share, by itself.

import assert from "node:assert/strict";
import { test } from "node:test";

import { answerOf } from "../../adapters/answer.mjs";
import { canonicalJson, digestOf, identifierOf } from "../../adapters/digest.mjs";
import { referencesTo } from "../../adapters/email/thread.mjs";
import { beginning, line } from "../../adapters/text.mjs";

test("canonical JSON is RFC 8785's: the example of its section 3.2", () => {
  const value = {
    numbers: [333333333.33333329, 1e30, 4.5, 2e-3, 0.000000000000000000000000001],
    string: '€$\u000F\nA\'B"\\\\"/',
    literals: [null, true, false],
  };
  assert.equal(
    canonicalJson(value),
    '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],' +
      '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
  );
  assert.equal(
    canonicalJson({ "€": 1, "\r": 2, "\ufb33": 3, 1: 4, "😀": 5, "\u0080": 6, ö: 7 }),
    '{"\\r":2,"1":4,"\u0080":6,"ö":7,"€":1,"😀":5,"\ufb33":3}',
  );
});

test("equal values have one digest, and an identifier fits any text", async () => {
  assert.equal(await digestOf([{ b: 1, a: -0 }]), await digestOf([{ a: 0, b: 1.0 }]));
  assert.match(await digestOf("\ud800"), /^sha256:[0-9a-f]{64}$/);
  assert.match(await identifierOf("<a b@c>"), /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/);
});

test("text is cut between characters, and loses what no text may hold", () => {
  assert.equal(beginning("aä😀", 4), "aä");
  assert.equal(beginning("aä😀", 7), "aä😀");
  assert.equal(beginning("a\u0000b\tc\n\ud800", 20), "a b\tc\n\ufffd");
  assert.equal(line("  a\r\n b ", 20), "a b");
});

test("an answer is what a completed task made, and otherwise what was said with its status", () => {
  const status = (state, text) => ({ state, ...(text ? { message: { parts: [{ text }] } } : {}) });
  const artifacts = [
    { parts: [{ text: "one" }, { data: { a: 1 } }] },
    { parts: [{ url: "https://files.example/a" }, { raw: "AA==", filename: "b.bin" }] },
  ];
  assert.equal(
    answerOf({ status: status("TASK_STATE_COMPLETED"), artifacts }, 1000),
    'one\n\n{\n  "a": 1\n}\n\nhttps://files.example/a\n\n[a file: b.bin]',
  );
  assert.equal(answerOf({ status: status("TASK_STATE_REJECTED", "no"), artifacts }, 1000), "no");
  assert.equal(answerOf({ status: status("TASK_STATE_COMPLETED") }, 1000), "Done.");
  const long = { status: status("TASK_STATE_FAILED", `a${"😀".repeat(10)}`) };
  assert.equal(answerOf(long, 4), "a😀\n\n[18 more characters were cut off]");
});

test("the references of an answer begin with the root and end with the mail that is answered", () => {
  assert.equal(referencesTo("<c>", []), "<c>");
  assert.equal(referencesTo("<c>", ["<a>", "<b>", "<c>"]), "<a> <b> <c>");
  const many = Array.from({ length: 300 }, (_, index) => `<${index}@mail.example.com>`);
  const kept = referencesTo("<last@mail.example.com>", many);
  assert.ok(kept.length <= 2048, String(kept.length));
  assert.ok(kept.startsWith("<0@mail.example.com> "));
  assert.ok(kept.endsWith(" <299@mail.example.com> <last@mail.example.com>"));
});
