// The public documents as HTTP resources: conditional requests, caching, and which of them any page may read.

import assert from "node:assert/strict";
import { test } from "node:test";

import { assertError } from "../support/contract.mjs";
import { Deployment } from "../support/deployment.mjs";
import { frontOf } from "./front.mjs";

const CARD = "/.well-known/agent-card.json";
const DEPLOYED = "2026-03-01T12:00:00.500Z";
const LAST_MODIFIED = "Sun, 01 Mar 2026 12:00:00 GMT";

const agent = await Deployment.start({
  entry: frontOf({ bindings: `{ CF_VERSION_METADATA: { id: "v", tag: "", timestamp: "${DEPLOYED}" } }` }),
});

for (const path of [CARD, "/openapi.json"]) {
  const readableBy = path === CARD ? "*" : undefined;
  const get = (headers) => agent.call("GET", path, { headers });
  const head = (headers) => agent.call("HEAD", path, { headers });

  test(`${path} has an entity tag, a lifetime, and the moment of its deployment`, async () => {
    const { status, headers, json } = await get();
    assert.equal(status, 200);
    assert.equal(headers["content-type"], "application/json");
    assert.match(headers.etag, /^"[\w-]{43}"$/);
    assert.equal(headers["cache-control"], "public, max-age=300");
    assert.equal(headers["last-modified"], LAST_MODIFIED);
    assert.equal(headers["access-control-allow-origin"], readableBy);
    assert.ok(json);
    assert.equal((await get()).headers.etag, headers.etag);
  });

  test(`HEAD of ${path} answers as GET does, without the body`, async () => {
    const [whole, bare] = [await get(), await head()];
    assert.equal(bare.status, 200);
    assert.equal(bare.text, "");
    for (const name of ["content-type", "etag", "cache-control", "last-modified", "access-control-allow-origin"]) {
      assert.equal(bare.headers[name], whole.headers[name], name);
    }
  });

  test(`${path} is 304 to a caller that holds it, by its tag in any list, weakly, or *`, async () => {
    const { etag } = (await get()).headers;
    for (const held of [etag, `W/${etag}`, `"other", ${etag}`, `W/"a","b" , W/${etag}`, "*"]) {
      for (const answer of [await get({ "if-none-match": held }), await head({ "if-none-match": held })]) {
        assert.equal(answer.status, 304, held);
        assert.equal(answer.text, "");
        assert.equal(answer.headers["content-type"], undefined);
        assert.equal(answer.headers.etag, etag);
        assert.equal(answer.headers["cache-control"], "public, max-age=300");
        assert.equal(answer.headers["last-modified"], LAST_MODIFIED);
        assert.equal(answer.headers["access-control-allow-origin"], readableBy);
      }
    }
    for (const held of ['"other"', etag.slice(1, -1), "", "garbage"]) {
      assert.equal((await get({ "if-none-match": held })).status, 200, held);
    }
  });

  test(`${path} asks the date only where there is no tag`, async () => {
    const since = (date, more) => get({ "if-modified-since": date, ...more });
    const earlier = "Sun, 01 Mar 2026 11:59:59 GMT";
    assert.equal((await since(LAST_MODIFIED)).status, 304);
    assert.equal((await since("Sunday, 01-Mar-26 12:00:00 GMT")).status, 304);
    assert.equal((await since("Sun Mar  1 12:00:00 2026")).status, 304);
    assert.equal((await since(earlier)).status, 200);
    assert.equal((await since("yesterday")).status, 200);
    assert.equal((await since(LAST_MODIFIED, { "if-none-match": '"other"' })).status, 200);
    assert.equal((await since(earlier, { "if-none-match": "*" })).status, 304);
  });

  test(`an error of ${path} is readable to whom the document is`, async () => {
    const answer = await agent.call("POST", path, { headers: { origin: "https://app.example" } });
    assertError(answer, "METHOD_NOT_ALLOWED");
    assert.equal(answer.headers.allow, "GET, HEAD, OPTIONS");
    assert.equal(answer.headers["access-control-allow-origin"], readableBy);
  });
}

test("the card names the host that it was asked of, each with a tag of its own", async () => {
  const of = (host) => agent.call("GET", CARD, { headers: { host } });
  const [first, second] = [await of("one.example"), await of("two.example:8443")];
  assert.equal(first.json.supportedInterfaces[0].url, "http://one.example");
  assert.equal(second.json.supportedInterfaces[0].url, "http://two.example:8443");
  assert.notEqual(first.headers.etag, second.headers.etag);
  for (let n = 0; n < 40; n += 1) {
    const { json } = await of(`h${n}.example`);
    assert.equal(json.supportedInterfaces[0].url, `http://h${n}.example`);
  }
  assert.equal((await of("one.example")).headers.etag, first.headers.etag);
});

test("without the platform's word the card was last modified when the instance began", async () => {
  const before = Math.floor(Date.now() / 1000) * 1000;
  const plain = await Deployment.start();
  const modified = async () => (await plain.call("GET", CARD)).headers["last-modified"];
  const first = await modified();
  assert.ok(Date.parse(first) >= before && Date.parse(first) <= Date.now(), first);
  assert.equal(await modified(), first);
});

for (const [name, value] of [
  ["A2A_PUBLIC_URL", "agent.example"],
  ["A2A_AGENT_ICON_URL", "icon.png"],
  ["A2A_AGENT_SKILLS", '[{"id": "x"}]'],
]) {
  test(`a malformed ${name} is an honest 500 for the card and is named in the log, once`, async () => {
    const wrong = await Deployment.start({ vars: { [name]: value } });
    for (let n = 0; n < 2; n += 1) {
      const answer = await wrong.call("GET", CARD);
      assertError(answer, "INTERNAL");
      assert.equal(answer.headers["access-control-allow-origin"], "*");
      assert.equal(answer.headers["cache-control"], "no-store");
    }
    const lines = wrong.log.split("\n").filter((line) => line.includes('"agent_card_not_configured"'));
    assert.equal(lines.length, 1, wrong.log);
    assert.ok(JSON.parse(lines[0]).reason.startsWith(name), lines[0]);
  });
}
