// The GitHub adapter is off until all that it needs is there.

import assert from "node:assert/strict";
import { test } from "node:test";

import { issue, webhook } from "./github-events.mjs";
import { GitHubWorld } from "./github-world.mjs";

const world = await GitHubWorld.start({ GITHUB_TOKEN: undefined, GITHUB_LOGIN: "" });

test("without a secret or its account's name it takes nothing, says in the log what is missing, and leaves no trace", async () => {
  const hook = webhook("issues", { action: "opened", issue: issue(1, { body: "@plane-agent hi" }) });
  const answer = await world.send(hook);
  assert.equal(answer.status, 503);
  assert.deepEqual(answer.json, { error: "not configured" });
  await world.agent.logged(/"event":"not_configured","missing":\["GITHUB_TOKEN","GITHUB_LOGIN"\]/);
  assert.deepEqual(await world.agent.storedObjects(), []);
});
