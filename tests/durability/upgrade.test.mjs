// A newer version is deployed over what an older release has stored, on workerd.

import assert from "node:assert/strict";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { Deployment } from "../support/deployment.mjs";
import { restore } from "../support/fixture.mjs";
import { keepUntilExit } from "../support/processes.mjs";
import { until } from "../support/until.mjs";

/** Long enough for every lease and deadline of then to be over. */
const AGO_MS = 3_600_000;

const RELEASE = "first-release";

test("the first release's tasks, claims and work go on under this version", async () => {
  const folder = keepUntilExit(await mkdtemp(join(tmpdir(), "a2a-upgrade-")));
  const found = await restore(RELEASE, folder, AGO_MS);
  const agent = await Deployment.start({ folder });
  const tasks = found.filter(({ answer }) => answer.task);

  // Alarms went off at the start already: what was under way then may have gone on, and everything else is as it was.
  for (const { caller, state, answer } of tasks) {
    const task = await agent.as(caller).task(answer.task.id);
    assert.deepEqual(task.history.slice(0, answer.task.history.length), answer.task.history);
    assert.deepEqual(task.artifacts, answer.task.artifacts);
    assert.equal(task.contextId, answer.task.contextId);
    if (!["TASK_STATE_WORKING", "TASK_STATE_SUBMITTED"].includes(state)) assert.equal(task.status.state, state);
  }
  const claims = () => agent.rows("PrincipalObject", "SELECT dedupe_key FROM claims");
  const claimsBefore = (await claims()).length;
  for (const { caller, content, answer } of found) {
    const { json } = await agent.as(caller).send(content, { returnImmediately: true });
    assert.equal(json.task?.id, answer.task?.id);
    assert.equal(json.message?.messageId, answer.message?.messageId);
  }
  assert.equal((await claims()).length, claimsBefore);

  // The executor that was at work is gone, and its task has failed; all else is taken, settled, or waits for its caller.
  const resident = agent.resident();
  const open = () => agent.rows("PrincipalObject", "SELECT task_id FROM tasks WHERE state IN (1, 2) ORDER BY task_id");
  await until("nothing is left to do", async () => {
    const turn = await resident.take(100);
    if (turn) {
      await turn.complete("done");
      await turn.end();
    }
    return (await open()).length === 0;
  });
  for (const { caller, content, state, answer } of tasks) {
    const now = await agent.as(caller).state(answer.task.id);
    const executing = content.parts[0].text === "go on";
    if (state === "TASK_STATE_WORKING") {
      assert.equal(now, executing ? "TASK_STATE_FAILED" : "TASK_STATE_COMPLETED");
    } else {
      assert.equal(now, state === "TASK_STATE_SUBMITTED" ? "TASK_STATE_COMPLETED" : state);
    }
  }
  const { json } = await agent.as("alice").call("GET", "/tasks?pageSize=100");
  assert.equal(json.totalSize, tasks.filter(({ caller }) => caller === "alice").length);
  assert.equal(json.tasks.length, json.totalSize);
});
