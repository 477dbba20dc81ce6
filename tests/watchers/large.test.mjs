// A frame goes out whatever its size: the limit is for what piles up behind it.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Deployment, message } from "../support/deployment.mjs";
import { until } from "../support/until.mjs";

const ARTIFACTS = 8;
const ARTIFACT_CHARACTERS = 1_000_000;

/** Makes a task of many large artifacts, then waits. */
const EXECUTOR = `
const line = (value) => JSON.stringify(value) + "\\n";
export default {
  fetch() {
    const { readable, writable } = new TransformStream();
    (async () => {
      const writer = writable.getWriter();
      const write = (value) => writer.write(new TextEncoder().encode(line(value)));
      await write({ task: { status: { state: "TASK_STATE_WORKING" } } });
      for (let index = 0; index < ${ARTIFACTS}; index += 1) {
        const parts = [{ text: String(index).repeat(${ARTIFACT_CHARACTERS}) }];
        await write({ artifactUpdate: { artifact: { artifactId: "a-" + index, parts }, lastChunk: true } });
      }
      await new Promise((resolve) => setTimeout(resolve, 60_000));
    })();
    return new Response(readable);
  },
};
`;

const agent = await Deployment.start({ executor: EXECUTOR });
const alice = agent.as("alice");

test("a task of many megabytes is subscribed to, and streamed when its message is sent again", async () => {
  const sent = message("m".repeat(200_000));
  const { id } = await alice.submit(sent);
  const isWhole = async () => ((await alice.task(id)).artifacts?.length ?? 0) === ARTIFACTS;
  await until("the task is whole", isWhole);
  const subscription = await alice.subscribe(id);
  const again = await alice.sendStreaming(sent);
  for (const stream of [subscription, again]) {
    const { task } = await stream.next();
    assert.equal(task.artifacts.length, ARTIFACTS);
    for (const { parts } of task.artifacts) assert.equal(parts[0].text.length, ARTIFACT_CHARACTERS);
  }
  await alice.cancel(id);
  for (const stream of [subscription, again]) {
    const [{ statusUpdate }] = await stream.rest();
    assert.equal(statusUpdate.status.state, "TASK_STATE_CANCELED");
  }
});
