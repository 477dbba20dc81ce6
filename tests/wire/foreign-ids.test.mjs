// An id of another principal's is as unknown as one that nobody has: on every operation, in every place where an id can
// stand, to the byte, and in the time that the answer takes.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";

import { Deployment, message } from "../support/deployment.mjs";

const agent = await Deployment.start();
const [alice, bob] = [agent.as("alice"), agent.as("bob")];
const elicitation = "https://github.com/ai-outfitter/channels/a2a-extensions/elicitation/v1";
const locators = "https://github.com/ai-outfitter/channels/a2a-extensions/outfitter-task/v1";

const hers = await alice.submit(message("hers", { messageId: "a-message-of-hers" }));
const foreign = { task: hers.id, context: hers.contextId };
const unknown = { task: randomUUID(), context: randomUUID() };

const send = (fields, configuration = { returnImmediately: true }) => bob.send(message("mine", fields), configuration);

/** Everything that Bob may ask about a task, by what it is. */
const ABOUT_A_TASK = {
  GET: (id) => bob.call("GET", `/tasks/${id}`),
  HEAD: (id) => bob.call("HEAD", `/tasks/${id}`),
  "GET with a history length": (id) => bob.call("GET", `/tasks/${id}?historyLength=1`),
  "GET with a version": (id) => bob.call("GET", `/tasks/${id}?A2A-Version=1.0`),
  "GET with extensions": (id) => bob.call("GET", `/tasks/${id}`, { headers: { "a2a-extensions": locators } }),
  ":cancel": (id) => bob.call("POST", `/tasks/${id}:cancel`),
  ":cancel with a body": (id) => bob.call("POST", `/tasks/${id}:cancel`, { body: { id, metadata: {} } }),
  ":subscribe by GET": (id) => bob.call("GET", `/tasks/${id}:subscribe`),
  ":subscribe by POST": (id) => bob.call("POST", `/tasks/${id}:subscribe`),
  "an unknown verb": (id) => bob.call("POST", `/tasks/${id}:archive`),
  "a wrong method": (id) => bob.call("DELETE", `/tasks/${id}`),
  "message:send": (id) => send({ taskId: id }),
  "message:send, blocking": (id) => send({ taskId: id }, {}),
  "message:send with another context": (id) => send({ taskId: id, contextId: "c-1" }),
  "message:stream": (id) => bob.call("POST", "/message:stream", { body: { message: message("mine", { taskId: id }) } }),
  "an answer to a question": (id) =>
    send({ taskId: id, parts: [{ data: { action: "decline" } }], extensions: [elicitation] }),
  "a push notification's configuration": (id) =>
    bob.call("POST", `/tasks/${id}/pushNotificationConfigs`, { body: { url: "https://example.com/hook" } }),
  "a list of those": (id) => bob.call("GET", `/tasks/${id}/pushNotificationConfigs`),
  "one of those": (id) => bob.call("GET", `/tasks/${id}/pushNotificationConfigs/one`),
  "the deletion of one": (id) => bob.call("DELETE", `/tasks/${id}/pushNotificationConfigs/one`),
};

for (const [name, ask] of Object.entries(ABOUT_A_TASK)) {
  test(`${name} answers alike for a foreign task and an unknown one`, async () => {
    const [toForeign, toUnknown] = [await ask(foreign.task), await ask(unknown.task)];
    assert.ok(toForeign.status >= 400, toForeign.text);
    assertAlike(toForeign, toUnknown, [foreign.task, unknown.task]);
  });
}

test("a foreign task is there as before, and its owner is told of nothing", async () => {
  assert.deepEqual(await alice.task(hers.id), hers);
});

for (const query of ["", "&pageSize=1", "&status=TASK_STATE_SUBMITTED", "&includeArtifacts=true"]) {
  test(`a list of a foreign context is as empty as one of an unknown context (${query || "no other filter"})`, async () => {
    const ask = (id) => bob.call("GET", `/tasks?contextId=${id}${query}`);
    const [toForeign, toUnknown] = [await ask(foreign.context), await ask(unknown.context)];
    assert.deepEqual(toForeign.json.tasks, []);
    assertAlike(toForeign, toUnknown, [foreign.context, unknown.context]);
  });
}

test("a page token of another's list is as good as a forged one", async () => {
  await alice.submit("hers, too");
  const { nextPageToken } = (await alice.call("GET", "/tasks?pageSize=1")).json;
  const altered = nextPageToken.replace(/.$/, (last) => (last === "A" ? "B" : "A"));
  const [toForeign, toForged] = [
    await bob.call("GET", `/tasks?pageToken=${nextPageToken}`),
    await bob.call("GET", `/tasks?pageToken=${altered}`),
  ];
  assert.equal(toForeign.status, 400);
  assertAlike(toForeign, toForged, [nextPageToken, altered]);
});

test("a message in a foreign context gets a fresh one, as in an unknown context", async () => {
  const seen = [];
  for (const contextId of [foreign.context, unknown.context]) {
    const answer = await send({ contextId });
    const { task } = answer.json;
    assert.notEqual(task.contextId, contextId);
    seen.push([answer.status, namesOf(task)]);
    await bob.cancel(task.id);
  }
  assert.deepEqual(seen[0], seen[1]);
});

test("a reference to a foreign task is kept as one to an unknown task is, and tells nothing", async () => {
  const seen = [];
  for (const id of [foreign.task, unknown.task]) {
    const { json } = await send({ referenceTaskIds: [id] });
    assert.deepEqual(json.task.history[0].referenceTaskIds, [id]);
    seen.push(namesOf(json.task));
    await bob.cancel(json.task.id);
  }
  assert.deepEqual(seen[0], seen[1]);
});

test("a messageId of another's is free", async () => {
  const { json } = await send({ messageId: "a-message-of-hers" });
  assert.notEqual(json.task.id, hers.id);
  await bob.cancel(json.task.id);
});

test("an answer about a foreign task takes as long as one about an unknown task", async () => {
  // One after the other, so that whatever else the machine does slows both alike.
  const times = { foreign: [], unknown: [] };
  for (let n = 0; n < 150; n += 1) {
    for (const [name, id] of n % 2
      ? [
          ["foreign", foreign.task],
          ["unknown", unknown.task],
        ]
      : [
          ["unknown", unknown.task],
          ["foreign", foreign.task],
        ]) {
      const began = performance.now();
      await ABOUT_A_TASK.GET(id);
      times[name].push(performance.now() - began);
    }
  }
  const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];
  const ratio = median(times.foreign) / median(times.unknown);
  assert.ok(ratio > 0.7 && ratio < 1.4, `${ratio}`);
});

/** Equal to the byte but for the ids asked about, the date and the request's own id. */
function assertAlike(one, other, [oneId, otherId]) {
  const shown = ({ status, headers, text }, id) => {
    const { date, "x-request-id": requestId, ...others } = headers;
    assert.ok(date === undefined || Date.parse(date) > 0);
    assert.match(requestId, /./);
    return { status, headers: others, text: text.replaceAll(id, "ID") };
  };
  assert.deepEqual(shown(one, oneId), shown(other, otherId));
}

/** Which fields there are, at every depth. */
function namesOf(value) {
  if (value === null || typeof value !== "object") return typeof value;
  return Object.entries(value).map(([name, inner]) => [name, namesOf(inner)]);
}
