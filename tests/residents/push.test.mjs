// Wakes pushed to a URL of the resident's: signed, without anything of the work, and failed after three tries.

import assert from "node:assert/strict";
import { createHmac, randomBytes } from "node:crypto";
import { createServer } from "node:http";
import { after, test } from "node:test";

import { Deployment } from "../support/deployment.mjs";
import { until } from "../support/until.mjs";

const secret = randomBytes(24).toString("hex");
/** What the receiver got, and the status with which it answers the next. */
const received = [];
let status = 204;

const receiver = createServer((request, response) => {
  let body = "";
  request.on("data", (chunk) => (body += chunk));
  request.on("end", () => {
    received.push({ headers: request.headers, body });
    response.writeHead(status).end();
  });
});
await new Promise((resolve) => receiver.listen(0, "127.0.0.1", () => resolve(undefined)));
after(() => receiver.close());

const agent = await Deployment.start({
  vars: {
    A2A_PUSH_URL: `http://127.0.0.1:${/** @type {any} */ (receiver.address()).port}/wake`,
    A2A_PUSH_SECRET: secret,
  },
});
const alice = agent.as("alice");

test("a wake is pushed with a signature over its time and body, and holds nothing of the work", async () => {
  const before = Date.now();
  const { id } = await alice.submit("something secret");
  const push = await until("a push", () => received.shift());
  assert.equal(push.body, '{"wake":{"resident":"default"}}');
  const timestamp = push.headers["x-a2a-timestamp"];
  assert.ok(Number(timestamp) >= before - 1000 && Number(timestamp) <= Date.now() + 1000);
  const expected = createHmac("sha256", secret).update(`${timestamp}.${push.body}`).digest("hex");
  assert.equal(push.headers["x-a2a-signature"], `sha256=${expected}`);
  const resident = agent.resident();
  const turn = await resident.turn(0);
  assert.equal(turn.taskId, id);
  await turn.complete("done");
  await turn.end();
  assert.ok(!agent.log.includes(secret));
});

test("a push that is refused three times is a failure that the log and the evidence keep, until a session starts", async () => {
  status = 500;
  received.length = 0;
  const { id } = await alice.submit("nobody hears of this");
  let tries = 0;
  for (const pauseMs of [15_000, 60_000]) {
    tries += 1;
    await until("a push", () => received.length === tries);
    await agent.logged(/wake_push_failed/);
    await agent.letPass(pauseMs);
  }
  await agent.logged(new RegExp(`"wake_not_pushed".*"resident":"default".*"task_id":"${id}"`));
  assert.equal(received.length, 3);
  const evidence = await agent.rows(
    "PrincipalObject",
    "SELECT kind, detail FROM evidence WHERE task_id = ? ORDER BY evidence_id",
    id,
  );
  assert.deepEqual(
    evidence.map(({ kind, detail }) => [kind, detail]),
    [
      ["ACCEPTED", null],
      ["WAKE_FAILED", "push failed"],
    ],
  );
  const turn = await agent.resident().turn();
  assert.equal(turn.taskId, id);
  await turn.complete("done");
  await turn.end();
});
