// A deployment without readable credentials serves the card and says of everything else that it cannot.

import assert from "node:assert/strict";
import { test } from "node:test";

import { assertError } from "../support/contract.mjs";
import { Deployment, message } from "../support/deployment.mjs";

for (const [name, secret] of [
  ["absent", undefined],
  ["blank", " "],
  ["not JSON", "{credentials"],
  ["of another shape", '{"credentials": {}}'],
  ["with a token that is too short", '{"credentials": [{"token": "shortsecret", "principal": "alice"}]}'],
]) {
  test(`credentials ${name}: the card is served, everything else is 503, and the log says why`, async () => {
    const agent = await Deployment.start({ vars: { A2A_CREDENTIALS: secret } });
    assert.equal((await agent.call("GET", "/.well-known/agent-card.json")).status, 200);
    for (const token of [undefined, agent.tokens.alice, "shortsecret"]) {
      const answer = await agent.call("POST", "/message:send", { token, body: { message: message("hello") } });
      assertError(answer, "CREDENTIALS_NOT_CONFIGURED");
      assertError(await agent.call("GET", "/tasks/t-1", { token }), "CREDENTIALS_NOT_CONFIGURED");
    }
    await agent.logged(/A2A_CREDENTIALS/);
    assert.doesNotMatch(agent.log, /shortsecret/);
    assert.deepEqual(await agent.storedObjects(), []);
  });
}
