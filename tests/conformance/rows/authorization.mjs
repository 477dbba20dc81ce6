// Section 7: who calls, and what they may do.

import assert from "node:assert/strict";

import { assertError, assertTask, statesOf } from "../../support/contract.mjs";
import { message } from "../../support/deployment.mjs";
import { BECAUSE, applies, diverges, excluded } from "../table.mjs";
import { CARD } from "../world.mjs";

const authorizing = (world) => world.settled("authorize me");

const AUTHENTICATION = [
  excluded("7.1", "MUST", "a production deployment is reached by HTTPS alone", BECAUSE.transport),
  excluded("7.1", "SHOULD", "TLS is of a modern version", BECAUSE.transport),
  excluded("7.2", "SHOULD", "clients verify the server's certificate", BECAUSE.client),
  applies("7.3", "defines", "the card tells how to authenticate", async ({ agent }) => {
    const { securitySchemes, securityRequirements } = (await agent.call("GET", CARD)).json;
    assert.equal(securitySchemes.bearer.httpAuthSecurityScheme.scheme, "Bearer");
    assert.deepEqual(securityRequirements, [{ schemes: { bearer: { list: [] } } }]);
  }),
  applies("7.4", "MUST", "every operation authenticates its caller", async (world) => {
    for (const token of [undefined, "nobody-has-this-token"]) {
      const call = (method, path, options) => world.agent.call(method, path, { ...options, token });
      for (const ask of Object.values(world.operations(call))) assertError(await ask(), "UNAUTHENTICATED");
    }
  }),
  applies("7.4", "SHOULD", "a refusal has the binding's code for it", async ({ agent }) => {
    assert.equal((await agent.call("GET", "/tasks")).status, 401);
    assert.equal((await agent.call("GET", "/tasks", { token: agent.tokens.resident })).status, 403);
  }),
  applies("7.4", "SHOULD", "a refusal tells how to authenticate", async (world) => {
    for (const ask of Object.values(world.operations((...request) => world.agent.call(...request)))) {
      assert.match((await ask()).headers["www-authenticate"], /^Bearer realm="/);
    }
  }),
];

const IN_TASK = [
  applies("7.6.1", "MUST", "an authorization is asked for within a task", async (world) => {
    const task = await authorizing(world);
    assert.equal((await world.alice.task(task.id)).id, task.id);
  }),
  applies("7.6.1", "MUST", "the task is then in TASK_STATE_AUTH_REQUIRED", async (world) => {
    assertTask(await authorizing(world), "TASK_STATE_AUTH_REQUIRED");
  }),
  applies("7.6.1", "MUST", "its status has a message that explains what is needed", async (world) => {
    const { status } = await authorizing(world);
    assert.equal(status.message.role, "ROLE_AGENT");
    assert.equal(status.message.parts[0].text, "Sign in first.");
  }),
  excluded("7.6.1", "MUST", "the credential itself arrives by another way", BECAUSE.resident),
  applies("7.6.1", "SHOULD", "a subscription goes on while authorization is awaited", async (world) => {
    const { id } = await authorizing(world);
    const subscription = await world.alice.subscribe(id);
    await subscription.next();
    await world.settled(message("signed in", { taskId: id }));
    assert.equal(statesOf(await subscription.rest()).at(-1), "TASK_STATE_COMPLETED");
  }),
  diverges(
    "7.6.1",
    "SHOULD",
    "every stream goes on while authorization is awaited",
    {
      does: "`message:stream` ends there, as at every interrupted state; a subscription goes on.",
      because: "Section 11.7 ends a stream at an interrupted state. A client that wants more subscribes.",
    },
    async ({ alice }) => {
      const frames = await (await alice.sendStreaming("authorize me")).rest();
      assert.equal(statesOf(frames).at(-1), "TASK_STATE_AUTH_REQUIRED");
    },
  ),
  applies("7.6.1", "SHOULD", "a task that awaits authorization takes messages", async (world) => {
    const { id } = await authorizing(world);
    const task = await world.settled(message("authorize me otherwise", { taskId: id }));
    assertTask(task, "TASK_STATE_AUTH_REQUIRED");
    assert.ok(task.history.some(({ parts }) => parts[0].text === "authorize me otherwise"));
  }),
  excluded("7.6.2", "SHOULD", "a client that is an agent asks its own client in the same way", BECAUSE.client),
  excluded("7.6.2", "SHOULD", "a client watches a task that may go on without it", BECAUSE.client),
  excluded("7.6.3", "SHOULD", "agents receive credentials by a secure way of their own", BECAUSE.resident),
  excluded("7.6.3", "SHOULD", "a credential in a message is bound to the agent that asked", BECAUSE.resident),
  excluded("7.6.3", "SHOULD", "a credential in a message is readable by that agent alone", BECAUSE.resident),
];

export const AUTHORIZATION = [...AUTHENTICATION, ...IN_TASK];
