// Section 13: security.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";

import { assertError } from "../../support/contract.mjs";
import { Deployment, message } from "../../support/deployment.mjs";
import { until } from "../../support/until.mjs";
import { BECAUSE, applies, diverges, excluded } from "../table.mjs";
import { MAX_OPEN_TASKS } from "../world.mjs";

const document = () => readFile(new URL("../../../docs/conformance.md", import.meta.url), "utf8");

const push = (world, principal, id) => world.pushOperations((...request) => principal.call(...request), id);

const SCOPE = [
  applies("13.1", "MUST", "what a caller reaches is limited to what is theirs", async (world) => {
    const { id } = await world.completed();
    for (const ask of Object.values(world.operationsOn(world.bob, id))) assertError(await ask(), "TASK_NOT_FOUND");
  }),
  applies("13.1", "MUST", "every operation checks what its caller may", async (world) => {
    const resident = (method, path, options) =>
      world.agent.call(method, path, { ...options, token: world.agent.tokens.resident });
    for (const ask of Object.values(world.operations(resident))) assertError(await ask(), "PERMISSION_DENIED");
  }),
  applies("13.1", "MUST", "results are limited to what is the caller's", async (world) => {
    const { contextId } = await world.completed();
    assert.equal((await world.bob.call("GET", `/tasks?contextId=${contextId}`)).json.totalSize, 0);
  }),
  applies("13.1", "MUST", "they are without any filter, too", async (world) => {
    const { id } = await world.completed();
    await world.bob.submit("hello");
    const { tasks, totalSize, nextPageToken } = (await world.bob.call("GET", "/tasks?pageSize=100")).json;
    assert.deepEqual([tasks.length, nextPageToken], [totalSize, ""]);
    assert.ok(tasks.every((task) => task.id !== id));
  }),
  applies(
    "13.1",
    "MUST",
    "a list has tasks of the caller's only, with a page token of another's, too",
    async (world) => {
      const query = "/tasks?pageSize=1";
      await world.settled("hello");
      await world.settled("hello");
      const { nextPageToken } = (await world.alice.call("GET", query)).json;
      assertError(await world.bob.call("GET", `${query}&pageToken=${nextPageToken}`), "INVALID_REQUEST", "pageToken");
    },
  ),
  applies("13.1", "MUST", "a read is of a task of the caller's only", async (world) => {
    const { id } = await world.completed();
    assertError(await world.bob.call("GET", `/tasks/${id}`), "TASK_NOT_FOUND");
    assert.equal((await world.alice.call("GET", `/tasks/${id}`)).status, 200);
  }),
  applies("13.1", "MUST", "a cancel, a subscription and a configuration are of such a task only", async (world) => {
    const { id } = await world.asked();
    assertError(await world.bob.cancel(id), "TASK_NOT_FOUND");
    assertError(await world.bob.call("POST", `/tasks/${id}:subscribe`), "TASK_NOT_FOUND");
    for (const ask of Object.values(push(world, world.bob, id))) {
      assertError(await ask(), "PUSH_NOTIFICATION_NOT_SUPPORTED");
    }
    assert.equal(await world.alice.state(id), "TASK_STATE_INPUT_REQUIRED");
  }),
  applies("13.1", "MUST", "nothing is looked up before the caller is known", async () => {
    const agent = await Deployment.start();
    for (const token of [undefined, "nobody-has-this-token", agent.tokens.resident]) {
      const body = { message: message("hello") };
      await agent.call("GET", `/tasks/${randomUUID()}`, { token });
      await agent.call("POST", "/message:send", { token, body });
    }
    assert.deepEqual(await agent.storedObjects(), []);
  }),
  applies("13.1", "SHOULD", "the model of authorization is documented", async () => {
    assert.match(await document(), /Who may do what/);
  }),
];

const PUSH = [
  ["MUST", "webhooks are called with the credentials that were configured", BECAUSE.push],
  ["SHOULD", "calls of webhooks time out", BECAUSE.push],
  ["SHOULD", "failed calls of webhooks are retried with a growing delay", BECAUSE.push],
  ["SHOULD", "URLs of webhooks are checked against forged requests", BECAUSE.push],
  ["MUST", "receivers of a webhook check that it is authentic", BECAUSE.client],
  ["SHOULD", "receivers of a webhook check that the task is theirs", BECAUSE.client],
  ["MUST", "receivers of a webhook answer 2xx", BECAUSE.client],
  ["SHOULD", "receivers of a webhook stand a repetition", BECAUSE.client],
  ["SHOULD", "receivers of a webhook limit its rate", BECAUSE.client],
  ["SHOULD", "receivers of a webhook use HTTPS", BECAUSE.client],
  ["SHOULD", "URLs of webhooks are of HTTPS", BECAUSE.push],
  ["SHOULD", "tokens of webhooks are treated as secrets, and changed", BECAUSE.push],
  ["SHOULD", "configurations of webhooks are stored safely", BECAUSE.push],
  ["SHOULD", "each configuration has a token of its own", BECAUSE.client],
].map(([level, statement, because]) => excluded("13.2", level, statement, because));

const EXTENDED_CARD = [
  applies("13.3", "MUST", "the extended card is for callers who are authenticated", async ({ agent }) => {
    assertError(await agent.call("GET", "/extendedAgentCard"), "UNAUTHENTICATED");
  }),
  applies("13.3", "MUST", "they authenticate as the card says", async ({ agent }) => {
    const answer = await agent.call("GET", "/extendedAgentCard", { headers: { authorization: "Basic YTpi" } });
    assertError(answer, "UNAUTHENTICATED");
  }),
  excluded("13.3", "SHOULD", "an extended card may be cached for a time", BECAUSE.extendedCard),
  excluded("13.3", "SHOULD", "what each level of authentication can do is documented", BECAUSE.extendedCard),
  excluded("13.3", "SHOULD NOT", "an extended card has what would do harm if it leaked", BECAUSE.extendedCard),
  excluded("13.3", "MUST", "privileged information is for those with the permission", BECAUSE.extendedCard),
  excluded("13.3", "SHOULD", "clients put the extended card in the place of the public one", BECAUSE.client),
  excluded("13.3", "SHOULD", "an extended card has a version of its own", BECAUSE.extendedCard),
  applies("13.3", "MUST", "asking for an extended card that is not declared is unsupported", async ({ alice }) => {
    assertError(await alice.call("GET", "/extendedAgentCard"), "UNSUPPORTED_OPERATION");
  }),
  excluded("13.3", "MUST", "one that is declared and missing is an error of its own", BECAUSE.extendedCard),
];

/** A module in front that makes each request look as if it came by HTTPS. */
const BY_HTTPS = `
  import worker from "./worker.mjs";
  export * from "./worker.mjs";
  export default {
    fetch(request, env, ctx) {
      const { pathname, search } = new URL(request.url);
      return worker.fetch(new Request("https://agent.example" + pathname + search, request), env, ctx);
    },
  };
`;

/** A module in front with a rate limiter that lets two requests pass. */
const LIMITED = `
  import worker from "./worker.mjs";
  export * from "./worker.mjs";
  let count = 0;
  const RATE_LIMITER = { limit: async () => ({ success: ++count <= 2 }) };
  export default { fetch: (request, env, ctx) => worker.fetch(request, { ...env, RATE_LIMITER }, ctx) };
`;

const TRANSPORT = [
  excluded("13.4", "MUST", "a production deployment is encrypted", BECAUSE.transport),
  excluded("13.4", "SHOULD", "TLS is of version 1.3 or so", BECAUSE.transport),
  applies("13.4", "SHOULD", "browsers are told to come by HTTPS alone", async (world) => {
    const agent = await Deployment.start({ entry: BY_HTTPS });
    const { headers } = await agent.as("alice").call("GET", "/tasks");
    assert.match(headers["strict-transport-security"], /^max-age=[1-9]\d{6,}/);
    assert.equal((await world.alice.call("GET", "/tasks")).headers["strict-transport-security"], undefined);
  }),
  excluded("13.4", "SHOULD", "old versions of TLS are off", BECAUSE.transport),
];

const INPUT = [
  applies("13.4", "MUST", "all parameters are validated before they are used", async ({ alice }) => {
    const answer = await alice.send(message("hello", { parts: [{ text: "a", raw: "YQ==" }], taskId: "a/b" }));
    assertError(answer, "INVALID_REQUEST", ["message.taskId", "message.parts[0]"]);
  }),
  applies("13.4", "SHOULD", "messages, files and requests have limits", async ({ alice }) => {
    const large = await alice.send(message("x".repeat(256 * 1024)));
    assertError(large, "PAYLOAD_TOO_LARGE");
    const file = await alice.send(message("x", { parts: [{ raw: "A".repeat(1024 * 1024) }] }));
    assertError(file, "PAYLOAD_TOO_LARGE");
    const parts = await alice.send(message("x", { parts: Array(101).fill({ text: "x" }) }));
    assertError(parts, "INVALID_REQUEST", "message.parts");
  }),
  applies("13.4", "SHOULD", "media types that are not expected are refused", async ({ alice }) => {
    for (const type of ["text/plain", "multipart/form-data; boundary=x", "application/json-patch+json"]) {
      const answer = await alice.call("POST", "/message:send", { headers: { "content-type": type }, body: "{}" });
      assertError(answer, "CONTENT_TYPE_NOT_SUPPORTED");
    }
  }),
];

/** A deployment whose secret names these tokens for Alice. */
const withTokens = (...tokens) =>
  Deployment.start({
    vars: { A2A_CREDENTIALS: JSON.stringify({ credentials: tokens.map((token) => ({ token, principal: "alice" })) }) },
  });

const [OLD, NEW] = ["the-old-token-of-alice", "the-new-token-of-alice"];

const CREDENTIALS = [
  applies("13.4", "MUST", "credentials are secrets: no answer and no log line has one", async (world) => {
    const { agent, alice } = world;
    const wrong = "nobody-has-this-token";
    const answers = [await agent.call("GET", "/tasks", { token: wrong }), await alice.call("GET", "/tasks")];
    for (const token of [wrong, ...Object.values(agent.tokens)]) {
      for (const { text, headers } of answers) assert.ok(!`${text}${JSON.stringify(headers)}`.includes(token));
      assert.ok(!agent.log.includes(token));
    }
  }),
  applies("13.4", "SHOULD", "credentials can be changed without a gap: a principal may have several", async () => {
    const agent = await withTokens(OLD, NEW);
    const body = { message: message("hello"), configuration: { returnImmediately: true } };
    const { id } = (await agent.call("POST", "/message:send", { token: OLD, body })).json.task;
    assert.equal((await agent.call("GET", `/tasks/${id}`, { token: NEW })).status, 200);
  }),
  excluded("13.4", "SHOULD", "credentials are sent over encrypted connections only", BECAUSE.client),
  applies("13.4", "SHOULD", "credentials can be revoked", async () => {
    const agent = await withTokens(NEW);
    assertError(await agent.call("GET", "/tasks", { token: OLD }), "UNAUTHENTICATED");
    assert.equal((await agent.call("GET", "/tasks", { token: NEW })).status, 200);
  }),
  diverges(
    "13.4",
    "SHOULD",
    "guessing at credentials is limited in rate",
    {
      does: "Each failure is logged, and no more; a token has 16 characters at least.",
      because:
        "A guess costs no object and no lookup but hashes in memory. Cloudflare's own rules can limit addresses.",
    },
    async (world) => {
      const guesses = Array.from({ length: 20 }, () => world.agent.call("GET", "/tasks", { token: randomUUID() }));
      for (const answer of await Promise.all(guesses)) assertError(answer, "UNAUTHENTICATED");
      const agent = await withTokens("x".repeat(15));
      assertError(await agent.call("GET", "/tasks", { token: "x".repeat(15) }), "CREDENTIALS_NOT_CONFIGURED");
    },
  ),
  applies("13.4", "SHOULD", "a failure to authenticate is logged", async ({ agent }) => {
    const requestId = `r-${randomUUID()}`;
    await agent.call("GET", "/tasks", { headers: { "x-request-id": requestId } });
    await logged(agent, requestId, { status: 401, reason: "UNAUTHENTICATED" });
  }),
];

/** Waits for the log's line about a request, which must have these fields. */
async function logged(agent, requestId, fields) {
  const line = await until("the request is logged", () =>
    agent.log.split("\n").find((candidate) => candidate.includes(requestId)),
  );
  const record = JSON.parse(line.slice(line.indexOf("{")));
  for (const [field, value] of Object.entries(fields)) assert.equal(record[field], value, line);
}

const AUDIT = [
  applies("13.4", "SHOULD", "what concerns security is logged", async ({ agent }) => {
    const requestId = `r-${randomUUID()}`;
    await agent.call("GET", "/tasks", { token: agent.tokens.resident, headers: { "x-request-id": requestId } });
    await logged(agent, requestId, { status: 403, reason: "PERMISSION_DENIED" });
  }),
  excluded("13.4", "SHOULD", "unusual patterns are watched for", BECAUSE.operator),
  applies("13.4", "SHOULD", "there is a trail of what was done", async (world) => {
    const { id } = await world.completed();
    const kinds = (await world.agent.rows("PrincipalObject", "SELECT * FROM evidence")).filter((row) =>
      JSON.stringify(row).includes(id),
    );
    assert.ok(kinds.length >= 2, JSON.stringify(kinds));
  }),
  applies("13.4", "MUST NOT", "the log has what is sensitive", async (world) => {
    const secret = `my secret is ${randomUUID()}`;
    const { id } = await world.settled(secret);
    await world.alice.call("GET", `/tasks/${id}`);
    for (const sensitive of [secret, "alice", ...Object.values(world.agent.tokens)]) {
      assert.ok(!world.agent.log.includes(sensitive), sensitive);
    }
  }),
];

const RATES = [
  diverges(
    "13.4",
    "SHOULD",
    "the rate of all operations is limited",
    {
      does: "It is where the deployment binds a `RATE_LIMITER`: per principal, on every operation that needs a token.",
      because: "The right rate is the deployment's to know. Caps on open tasks and streams hold without it.",
    },
    async () => {
      const agent = await Deployment.start({ entry: LIMITED });
      const alice = agent.as("alice");
      const statuses = [];
      for (let n = 0; n < 3; n += 1) statuses.push((await alice.call("GET", "/tasks")).status);
      assert.deepEqual(statuses, [200, 200, 429]);
    },
  ),
  applies("13.4", "SHOULD", "a caller over a limit is told so", async ({ limited }) => {
    const alice = limited.as("alice");
    for (let n = 0; n < MAX_OPEN_TASKS; n += 1) await alice.submit("hello");
    const answer = await alice.send("one more", { returnImmediately: true });
    assert.equal(answer.status, 429);
    assert.equal(answer.json.error.details[0].reason, "RESOURCE_EXHAUSTED");
  }),
];

const PRIVACY = [
  excluded("13.4", "MUST", "the law on data protection is kept", BECAUSE.operator),
  diverges(
    "13.4",
    "SHOULD",
    "users can ask for their data to be deleted",
    {
      does: "There is no way to delete one principal's data; a deployment's is deleted with its object classes.",
      because: "A2A has no operation for it.",
    },
    async (world) => {
      const { id } = await world.completed();
      const answer = await world.alice.call("DELETE", `/tasks/${id}`);
      assertError(answer, "METHOD_NOT_ALLOWED");
    },
  ),
  applies("13.4", "SHOULD", "how long data is kept is settled", async () => {
    assert.match(await document(), /How long things are kept/);
  }),
  applies(
    "13.4",
    "SHOULD",
    "the log has little of persons: a principal is there by a hash",
    async ({ agent, alice }) => {
      const requestId = `r-${randomUUID()}`;
      await alice.call("GET", "/tasks", { headers: { "x-request-id": requestId } });
      await logged(agent, requestId, { status: 200 });
      assert.ok(!agent.log.includes("alice"));
    },
  ),
];

const CUSTOM = [
  excluded("13.4", "MUST", "a custom binding considers security", BECAUSE.customBinding),
  excluded("13.4", "SHOULD", "a custom binding keeps to the same principles", BECAUSE.customBinding),
  excluded("13.4", "MUST", "a custom binding documents how to authenticate", BECAUSE.customBinding),
];

export const SECURITY = [
  ...SCOPE,
  ...PUSH,
  ...EXTENDED_CARD,
  ...TRANSPORT,
  ...INPUT,
  ...CREDENTIALS,
  ...AUDIT,
  ...RATES,
  ...PRIVACY,
  ...CUSTOM,
];
