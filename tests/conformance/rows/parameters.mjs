// Section 3.2: what operations are given.

import assert from "node:assert/strict";

import { assertTask, statesOf } from "../../support/contract.mjs";
import { message } from "../../support/deployment.mjs";
import { BECAUSE, applies, diverges, excluded } from "../table.mjs";
import { EXTENSIONS } from "../world.mjs";

const IN_PROGRESS = ["TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"];

export const PARAMETERS = [
  applies("3.2.2", "MUST", "a blocking send waits for a terminal or an interrupted state", async ({ alice }) => {
    for (const [text, state] of [
      ["hello", "TASK_STATE_COMPLETED"],
      ["reject this", "TASK_STATE_REJECTED"],
      ["ask me", "TASK_STATE_INPUT_REQUIRED"],
      ["authorize me", "TASK_STATE_AUTH_REQUIRED"],
    ]) {
      for (const configuration of [undefined, { returnImmediately: false }]) {
        assertTask((await alice.send(text, configuration)).json.task, state);
      }
    }
  }),
  diverges(
    "3.2.2",
    "MUST",
    "a blocking send waits for as long as that takes",
    {
      does: "After `A2A_BLOCKING_TIMEOUT_MS` (60 s) it answers with the task as it is then.",
      because: "No connection is held without bound; the client goes on by polling or subscribing.",
    },
    async ({ limited }) => {
      const carol = limited.as("carol");
      const { task } = (await carol.send("nobody works on this")).json;
      assertTask(task, "TASK_STATE_SUBMITTED");
      await carol.cancel(task.id);
    },
  ),
  applies("3.2.2", "MUST", "a blocking send's task has its latest state and all artifacts", async (world) => {
    const task = await world.settled("report this");
    assert.equal(task.artifacts.length, 2);
    assert.deepEqual(task, await world.alice.task(task.id));
  }),
  applies("3.2.2", "MUST", "a send that returns immediately gives the task while it is in progress", async (world) => {
    const task = await world.alice.submit("hello");
    assert.ok(IN_PROGRESS.includes(task.status.state), task.status.state);
  }),
  applies("3.2.2", "defines", "returning immediately changes nothing about a stream", async ({ alice }) => {
    const body = { message: message("hello"), configuration: { returnImmediately: true } };
    const stream = await alice.stream("POST", "/message:stream", { body });
    assert.equal(statesOf(await stream.rest()).at(-1), "TASK_STATE_COMPLETED");
  }),
  applies("3.2.4", "defines", "without a history length the whole history kept is there", async (world) => {
    const { id } = await world.asked();
    const done = await world.settled(message("this one", { taskId: id }));
    assert.equal(done.history.length, 3);
  }),
  applies("3.2.4", "SHOULD", "history length 0 leaves the field out, on every operation", async (world) => {
    const { alice } = world;
    const { id, contextId } = await world.completed();
    const configuration = { historyLength: 0 };
    const stream = await alice.stream("POST", "/message:stream", {
      body: { message: message("hello"), configuration },
    });
    const [{ task: streamed }] = await stream.rest();
    const tasks = [
      (await alice.send("hello", configuration)).json.task,
      streamed,
      (await alice.call("GET", `/tasks/${id}?historyLength=0`)).json,
      ...(await alice.call("GET", `/tasks?contextId=${contextId}&historyLength=0`)).json.tasks,
    ];
    assert.equal(tasks.length, 4);
    for (const task of tasks) assert.ok(!("history" in task), JSON.stringify(task));
  }),
  applies("3.2.4", "defines", "history length n gives the n most recent messages at most", async (world) => {
    const { id } = await world.asked();
    await world.settled(message("this one", { taskId: id }));
    const { history } = (await world.alice.call("GET", `/tasks/${id}?historyLength=1`)).json;
    assert.deepEqual(
      history.map(({ parts }) => parts[0].text),
      ["this one"],
    );
    assert.equal((await world.alice.call("GET", `/tasks/${id}?historyLength=9`)).json.history.length, 3);
  }),
  applies("3.2.5", "defines", "metadata holds any value that JSON has", async (world) => {
    const metadata = { text: "é\u0000", number: 0.1, large: 1e300, list: [null, true, {}], map: { "": [] } };
    const { history } = await world.settled(message("hello", { metadata }));
    assert.deepEqual(history[0].metadata, metadata);
  }),
  applies("3.2.6", "defines", "a service parameter's name has no case, and its value has", async ({ alice }) => {
    const uri = `${EXTENSIONS}elicitation/v1`;
    for (const name of ["A2A-Extensions", "a2a-extensions", "A2A-EXTENSIONS"]) {
      const { headers } = await alice.call("GET", "/tasks?pageSize=1", { headers: { [name]: uri } });
      assert.equal(headers["a2a-extensions"], uri);
    }
    const { headers } = await alice.call("GET", "/tasks?pageSize=1", {
      headers: { "a2a-extensions": uri.toUpperCase() },
    });
    assert.equal(headers["a2a-extensions"], undefined);
  }),
  excluded("3.2.6", "MUST", "a custom binding says how service parameters travel", BECAUSE.customBinding),
];
