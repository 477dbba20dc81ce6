// Section 8.6: caching the card.

import assert from "node:assert/strict";

import { BECAUSE, applies, excluded } from "../table.mjs";
import { CARD } from "../world.mjs";

export const CACHING = [
  applies("8.6", "SHOULD", "the card is served with HTTP's means of caching", async ({ agent }) => {
    const { headers } = await agent.call("GET", CARD);
    for (const value of [headers.etag, headers["last-modified"]]) {
      const condition = value === headers.etag ? "if-none-match" : "if-modified-since";
      const again = await agent.call("GET", CARD, { headers: { [condition]: value } });
      assert.deepEqual([again.status, again.text], [304, ""], condition);
    }
  }),
  applies("8.6.1", "SHOULD", "the card's Cache-Control has a max-age", async ({ agent }) => {
    assert.match((await agent.call("GET", CARD)).headers["cache-control"], /\bmax-age=[1-9]\d*\b/);
  }),
  applies("8.6.1", "SHOULD", "the card has an ETag of its content", async ({ agent, limited }) => {
    const one = (await agent.call("GET", CARD)).headers.etag;
    assert.match(one, /^"[^"]+"$/);
    assert.equal((await agent.call("GET", CARD)).headers.etag, one);
    assert.notEqual((await limited.call("GET", CARD)).headers.etag, one);
  }),
  excluded("8.6.2", "SHOULD", "clients cache the card as HTTP has it", BECAUSE.client),
  excluded("8.6.2", "SHOULD", "clients ask again by condition", BECAUSE.client),
];
