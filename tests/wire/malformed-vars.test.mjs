// A var that is out of its bounds is named in the log, and its default holds.

import assert from "node:assert/strict";
import { test } from "node:test";

import { assertTask } from "../support/contract.mjs";
import { Deployment } from "../support/deployment.mjs";

/** Each var with what it can't be, and what the log says that it must be. */
const MALFORMED = {
  A2A_BLOCKING_TIMEOUT_MS: ["soon", "a whole number from 1 to 86400000"],
  A2A_LEASE_MS: ["0", "a whole number from 1 to 86400000"],
  A2A_OBJECT_TIMEOUT_MS: ["-1", "a whole number from 1 to 120000"],
  A2A_TICK_MS: ["60001", "a whole number from 1 to 60000"],
  A2A_MAX_OPEN_TASKS: ["1.5", "a whole number from 1 to 1000000"],
  A2A_MAX_WATCHERS: ["32001", "a whole number from 1 to 32000"],
  A2A_REQUEST_LOG: ["yes", "on or off"],
  A2A_PUSH_URL: ["http://far.example/wake", "an https URL, or http on loopback"],
  RESIDENT_MODEL: ["gpt", "an https URL, http on loopback, or `ai`"],
  A2A_REMOTES_LOOPBACK: ["true", "on or off"],
  A2A_REMOTES_MANAGED_BY_RESIDENT: ["1", "on or off"],
};

/** A var that is well-formed, and another without which it is of no use. */
const INCOMPLETE = [
  [{ A2A_PUSH_URL: "https://far.example/wake" }, "A2A_PUSH_SECRET", "a secret of at least 16 bytes"],
  [{ RESIDENT_MODEL: "https://far.example/v1" }, "RESIDENT_MODEL_NAME", "the model's name"],
  [{ RESIDENT_MODEL: "ai", RESIDENT_MODEL_NAME: "m" }, "RESIDENT_MODEL", "a URL, or `ai` with the binding AI"],
  [
    { RESIDENT_MODEL: "https://far.example/v1", RESIDENT_MODEL_NAME: "m", RESIDENT_MODEL_RESIDENT: "a b" },
    "RESIDENT_MODEL_RESIDENT",
    "the name of a resident",
  ],
];

const saying = (name, expected) => `{"event":"var_malformed","expected":"${expected}","var":"${name}"}`;

async function works(agent) {
  const { id } = await agent.as("alice").submit("all the same");
  const turn = await agent.resident().turn();
  assert.equal(turn.taskId, id);
  await turn.complete("done");
  await turn.end();
  assertTask(await agent.as("alice").task(id), "TASK_STATE_COMPLETED");
}

test("every malformed var is named with what it must be, and the work goes on", async () => {
  const vars = Object.fromEntries(Object.entries(MALFORMED).map(([name, [value]]) => [name, value]));
  const agent = await Deployment.start({ vars: { ...vars, RESIDENT_MODEL_NAME: "m" } });
  await works(agent);
  for (const [name, [, expected]] of Object.entries(MALFORMED)) {
    assert.ok(agent.log.includes(saying(name, expected)), name);
  }
});

for (const [vars, name, expected] of INCOMPLETE) {
  test(`${Object.keys(vars).join(", ")}: the log names ${name}, and the work goes on`, async () => {
    const agent = await Deployment.start({ vars });
    await works(agent);
    assert.ok(agent.log.includes(saying(name, expected)), agent.log);
  });
}
