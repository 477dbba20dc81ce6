import assert from "node:assert/strict";
import { test } from "node:test";

import { Deployment } from "../support/deployment.mjs";
import { discover } from "../support/official-client.mjs";

const agent = await Deployment.start({
  vars: {
    A2A_AGENT_NAME: "Harbour",
    A2A_AGENT_DESCRIPTION: "Answers questions about the harbour.",
    A2A_AGENT_PROVIDER_ORGANIZATION: "Harbour Authority",
    A2A_AGENT_PROVIDER_URL: "https://harbour.example",
  },
});

test("the official client finds the agent by its card and speaks HTTP+JSON 1.0 to it", async () => {
  const client = await discover(agent, agent.tokens.alice);
  assert.equal(client.transport.protocolName, "HTTP+JSON");
  assert.equal(client.protocolVersion, "1.0");
  const card = await client.getAgentCard();
  assert.equal(card.name, "Harbour");
  assert.equal(card.description, "Answers questions about the harbour.");
  assert.deepEqual(card.provider, { organization: "Harbour Authority", url: "https://harbour.example" });
  assert.equal(card.capabilities.streaming, true);
  assert.equal(card.capabilities.pushNotifications, false);
  assert.ok(!card.capabilities.extendedAgentCard);
});

test("the card names one interface without a tenant, the bearer scheme, and tags on every skill", async () => {
  const { status, headers, json: card } = await agent.call("GET", "/.well-known/agent-card.json");
  assert.equal(status, 200);
  assert.match(headers["content-type"], /^application\/(a2a\+)?json/);
  assert.deepEqual(card.supportedInterfaces, [
    { url: agent.url, protocolBinding: "HTTP+JSON", protocolVersion: "1.0" },
  ]);
  assert.equal(card.securitySchemes.bearer.httpAuthSecurityScheme.scheme, "Bearer");
  assert.deepEqual(card.securityRequirements, [{ schemes: { bearer: { list: [] } } }]);
  assert.ok(card.skills.length > 0);
  for (const skill of card.skills) assert.ok(skill.tags.length > 0, JSON.stringify(skill));
  assert.deepEqual(
    card.capabilities.extensions.map(({ uri }) => uri),
    [
      "https://github.com/ai-outfitter/channels/a2a-extensions/outfitter-task/v1",
      "https://github.com/ai-outfitter/channels/a2a-extensions/elicitation/v1",
    ],
  );
});

test("the card needs neither a token nor a version, and touches no object", async () => {
  for (const headers of [{}, { "a2a-version": "0.3" }, { "a2a-version": "" }, { authorization: "Bearer wrong" }]) {
    const { status } = await agent.call("GET", "/.well-known/agent-card.json", { headers });
    assert.equal(status, 200, JSON.stringify(headers));
  }
  assert.deepEqual(await agent.storedObjects(), []);
});

test("a cached card is asked for again by its entity tag alone", async () => {
  const first = await agent.call("GET", "/.well-known/agent-card.json");
  assert.match(first.headers.etag, /^"[^"]+"$/);
  const headers = { "if-none-match": first.headers.etag };
  const again = await agent.call("GET", "/.well-known/agent-card.json", { headers });
  assert.equal(again.status, 304);
  assert.equal(again.text, "");
  assert.equal(again.headers.etag, first.headers.etag);
});
