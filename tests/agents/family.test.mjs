// The family `agents`: a principal's client lists, discovers, adds, enables, disables and removes.

import assert from "node:assert/strict";
import { test } from "node:test";

import { assertError } from "../support/contract.mjs";
import { Deployment } from "../support/deployment.mjs";
import { delegate, remoteVars } from "./delegating.mjs";
import { JsAgent } from "./js-agent.mjs";

const remote = await JsAgent.start({ streaming: false });
const plane = await Deployment.start({
  vars: remoteVars({ RESEARCH: remote.url, BROKEN: "http://agent.example" }, ["research"], {
    A2A_REMOTE_LOCKED: remote.url,
    A2A_REMOTE_LOCKED_BEARER: "${ABSENT}",
    PARTNER_TOKEN: "secret-of-the-partner",
    A2A_REMOTES_SECRETS: JSON.stringify({ PARTNER_TOKEN: [remote.url] }),
  }),
});
const alice = plane.as("alice");
const bob = plane.as("bob");
const AGENTS = "/agents/v1/agents";

const post = (who, path, body) => who.call("POST", `${AGENTS}${path}`, { body });
const listed = async (who, alias) => {
  const { json } = await who.call("GET", AGENTS);
  return json.agents.find((agent) => agent.alias === alias);
};

test("the deployment's agents are listed, malformed ones with what is wrong", async () => {
  assert.equal((await listed(alice, "research")).enabled, true);
  const broken = await listed(alice, "broken");
  assert.equal(broken.enabled, false);
  assert.deepEqual(broken.problem, {
    problem: "definition-malformed",
    message: "A2A_REMOTE_BROKEN must be https",
  });
  assert.match(plane.log, /"event":"remote_agent_malformed","reason":"A2A_REMOTE_BROKEN must be https"/);
});

test("discovery by source fetches one card and stores nothing", async () => {
  const before = remote.requests.length;
  const { json } = await post(alice, ":discover", { source: remote.url });
  assert.deepEqual(json.candidates, [
    {
      alias: "research-agent",
      provenance: "agent-card",
      definition: { name: "research-agent", url: remote.url },
      card: {
        name: "Research Agent",
        version: "1.2.3",
        description: "Does what it is told.",
        skills: ["obey"],
        streaming: false,
      },
    },
  ]);
  const seen = remote.requests.slice(before);
  assert.deepEqual(
    seen.map(({ path }) => path),
    ["/.well-known/agent-card.json"],
  );
  assert.equal(seen[0].headers.authorization, undefined);
  assert.equal(await listed(alice, "research-agent"), undefined);
});

test("a source that is no URL of an agent or its card is refused by its field", async () => {
  for (const source of [
    "https://agent.example/x?y=.json",
    `${remote.url}//x.json`,
    `${remote.url}/a b.json`,
    ".json",
  ]) {
    assertError(await post(alice, ":discover", { source }), "INVALID_REQUEST", "source");
  }
});

test("discovery by configuration reads a client's own variables, and by query is 501", async () => {
  const configuration = { A2A_REMOTE_MINE: "https://mine.example", A2A_REMOTE_BAD: "x" };
  const { json } = await post(alice, ":discover", { configuration });
  assert.deepEqual(json.candidates, [
    {
      alias: "mine",
      provenance: "client-configuration",
      definition: { name: "mine", url: "https://mine.example" },
    },
  ]);
  assert.equal(json.problems.length, 1);
  const queried = await post(alice, ":discover", { query: "research" });
  assert.equal(assertError(queried, "REGISTRY_NOT_CONFIGURED").metadata.problem, "registry-not-configured");
  assertError(await post(alice, ":discover", {}), "INVALID_REQUEST", "source");
});

test("an added agent is prepared when it is enabled, and belongs to its principal alone", async () => {
  const definition = { name: "mine", url: remote.url };
  assertError(await post(alice, "", { alias: "other", definition }), "INVALID_REQUEST", "definition.name");
  const added = await post(alice, "", { alias: "mine", definition });
  assert.equal(added.json.enabled, false);
  assertError(await post(alice, "", { alias: "mine", definition }), "ALREADY_EXISTS");
  const enabled = await post(alice, "/mine:enable");
  assert.equal(enabled.json.enabled, true);
  assert.equal(enabled.json.card.name, "Research Agent");
  assert.equal(await listed(bob, "mine"), undefined);
  assertError(await post(bob, "/mine:enable"), "AGENT_NOT_CONFIGURED");
  assert.equal((await post(alice, "/mine:disable")).json.enabled, false);
  assert.equal((await alice.call("DELETE", `${AGENTS}/mine`)).status, 200);
  assert.equal(await listed(alice, "mine"), undefined);
});

test("each problem of a preparation is told by its name", async () => {
  const locked = await post(alice, "/locked:enable");
  assert.equal(locked.json.problem.problem, "authorization-unresolved");
  assert.match(locked.json.problem.message, /ABSENT/);
  const definitions = {
    nowhere: { url: "http://127.0.0.1:1" },
    empty: { url: remote.url, cardPath: "/none.json" },
  };
  for (const [alias, definition] of Object.entries(definitions)) {
    await post(alice, "", { alias, definition: { name: alias, ...definition } });
    const enabled = await post(alice, `/${alias}:enable`);
    assert.equal(enabled.json.problem.problem, "card-unreachable", enabled.text);
  }
});

test("a principal's own definition gets a secret only for the origin that the deployment says", async () => {
  const definition = { name: "partner", url: remote.url, authorization: "${PARTNER_TOKEN}" };
  await post(alice, "", { alias: "partner", definition });
  const before = remote.requests.length;
  const enabled = await post(alice, "/partner:enable");
  assert.equal(enabled.json.card.name, "Research Agent", enabled.text);
  assert.equal(remote.requests[before].headers.authorization, "Bearer secret-of-the-partner");
  for (const [alias, fields] of [
    ["thief", { url: remote.url.replace("127.0.0.1", "localhost"), authorization: "${PARTNER_TOKEN}" }],
    ["burglar", { url: remote.url, authorization: "${A2A_CREDENTIALS}" }],
    ["robber", { url: remote.url, headers: { "x-a": "${A2A_CREDENTIALS}" } }],
  ]) {
    await post(alice, "", { alias, definition: { name: alias, ...fields } });
    const refused = await post(alice, `/${alias}:enable`);
    assert.equal(refused.json.problem.problem, "authorization-unresolved", refused.text);
  }
  assert.ok(!remote.requests.some(({ headers }) => JSON.stringify(headers).includes(plane.tokens.alice)));
});

test("a definition that leads inside a network or holds a token is refused by its field", async () => {
  for (const [field, value] of [
    ["url", "https://169.254.169.254/"],
    ["url", "https://0x7f000001/"],
    ["url", "http://agent.example"],
    ["authorization", "Bearer abc"],
    ["headers", { cookie: "x" }],
    ["headers", { "x-a": "${OPEN" }],
    ["cardPath", "//evil.example/card.json"],
  ]) {
    const definition = { name: "bad", url: "https://agent.example", [field]: value };
    assertError(await post(alice, "", { alias: "bad", definition }), "INVALID_REQUEST", `definition.${field}`);
  }
});

test("a resident lists agents, and manages them only where that is allowed", async () => {
  await alice.submit("manage");
  const turn = await plane.resident().turn();
  const list = await turn.tool("a2a_agents");
  assert.ok(list.json.agents.some(({ alias, enabled }) => alias === "research" && enabled));
  assert.doesNotMatch(list.text, /127\.0\.0\.1/);
  assertError(await turn.tool("a2a_agents", { action: "disable", alias: "research" }), "PERMISSION_DENIED", "action");
  await delegate(turn, "a2a://research", "hello");
  await turn.complete("done");
  await turn.end();
});
