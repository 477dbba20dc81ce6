// The real runner: a shell script delegates by `resident remote`, to an independent agent built with the official Python
// SDK, and ends when that has settled.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Deployment } from "../support/deployment.mjs";
import { Runner } from "../support/runner.mjs";
import { until } from "../support/until.mjs";
import { remoteVars } from "./delegating.mjs";
import { PyAgent } from "./py-agent.mjs";

const remote = await PyAgent.start();
const plane = await Deployment.start({ vars: remoteVars({ HELPER: remote.url }, ["helper"]) });
Runner.start(
  plane,
  `given=$(resident read | grep -o '^a2a://helper/tasks/[^ ]* TASK_STATE_COMPLETED' | cut -d' ' -f1)
   if [ -n "$given" ]; then
     resident complete "$(resident remote read "$given/artifacts/result" | grep '^| waited')"
   else
     resident remote send a2a://helper "wait $(resident read --text)" >/dev/null
   fi`,
);

test("a script gives work away, and is run again when it is done", async () => {
  const task = await plane.as("alice").submit("rain");
  await remote.release("rain");
  await until(
    "the task is done",
    async () => (await plane.as("alice").state(task.id)) === "TASK_STATE_COMPLETED",
    30_000,
  );
  const { artifacts } = await plane.as("alice").task(task.id);
  assert.equal(artifacts[0].parts[0].text, "| waited for rain");
});
