// A2A-Version (spec §3.6): absent and 1.0 are served, anything else is not.

import assert from "node:assert/strict";
import { test } from "node:test";

import { assertError, assertTask } from "../support/contract.mjs";
import { Deployment, message } from "../support/deployment.mjs";

const agent = await Deployment.start();
const alice = agent.as("alice");

const send = (options) => alice.send("hello", { returnImmediately: true }, options);

test("a request without a version is served", async () => {
  const { status, json } = await send();
  assert.equal(status, 200);
  assertTask(json.task, "TASK_STATE_SUBMITTED");
});

test("version 1.0 is served, by header or by query parameter", async () => {
  assert.equal((await send({ headers: { "a2a-version": "1.0" } })).status, 200);
  const body = { message: message("hello"), configuration: { returnImmediately: true } };
  assert.equal((await alice.call("POST", "/message:send?A2A-Version=1.0", { body })).status, 200);
});

for (const version of ["0.3", "0.3.0", "1.1", "2.0", "1", "v1.0", "latest"]) {
  test(`version ${version} is not supported, and the answer says which is`, async () => {
    const info = assertError(await send({ headers: { "a2a-version": version } }), "VERSION_NOT_SUPPORTED");
    assert.match(info.metadata.supportedVersions, /1\.0/);
  });
}

test("the empty version means 0.3 and is not supported, by header or by query parameter", async () => {
  assertError(await send({ headers: { "a2a-version": "" } }), "VERSION_NOT_SUPPORTED");
  const body = { message: message("hello") };
  assertError(await alice.call("POST", "/message:send?A2A-Version=", { body }), "VERSION_NOT_SUPPORTED");
});

test("every operation negotiates the version, streams as JSON before any frame", async () => {
  const { id } = await alice.submit("hello");
  const old = { headers: { "a2a-version": "0.3" } };
  for (const [method, path] of [
    ["GET", `/tasks/${id}`],
    ["POST", `/tasks/${id}:cancel`],
    ["GET", `/tasks/${id}:subscribe`],
    ["POST", `/tasks/${id}:subscribe`],
  ]) {
    assertError(await alice.call(method, path, old), "VERSION_NOT_SUPPORTED");
  }
  const body = { message: message("hello") };
  assertError(await alice.call("POST", "/message:stream", { ...old, body }), "VERSION_NOT_SUPPORTED");
  assert.equal(await alice.state(id), "TASK_STATE_SUBMITTED");
});
