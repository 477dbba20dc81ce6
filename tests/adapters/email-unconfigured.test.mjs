// The email adapter is off until all that it needs is there.

import assert from "node:assert/strict";
import { test } from "node:test";

import { EmailWorld } from "./email-world.mjs";

test("without a token or a list of senders mail is rejected, the log says what is missing, and nothing is left", async () => {
  const world = await EmailWorld.start({ A2A_TOKEN: undefined, ALLOWED_SENDERS: undefined });
  const outcome = await world.receive({ text: "hello" });
  assert.deepEqual(outcome, { forwarded: [], rejected: "This address takes no mail" });
  await world.agent.logged(/"event":"not_configured","missing":\["A2A_TOKEN","ALLOWED_SENDERS"\]/);
  assert.deepEqual(await world.agent.storedObjects(), []);
});

test("without its bindings mail goes on to where it is told to forward it", async () => {
  const world = await EmailWorld.start({ MAILER_URL: undefined, FORWARD_TO: "ops@example.com" });
  assert.deepEqual(await world.receive({ text: "hello" }), { forwarded: ["ops@example.com"] });
  await world.agent.logged(/"missing":\["SEND_EMAIL"\]/);
});
