// What an object does behind its answer, when the platform or the other object fails it: it is done all the same, or again.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { createServer } from "node:http";
import { after, test } from "node:test";

import { remoteVars } from "../agents/delegating.mjs";
import { HostileAgent } from "../agents/hostile-agent.mjs";
import { startFaulty } from "../support/faults.mjs";
import { until } from "../support/until.mjs";
import { event, Intake } from "../trusted/intake.mjs";

/** Serves what `answer` does on loopback, until the file ends. */
async function serving(answer) {
  const server = createServer(answer);
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${/** @type {any} */ (server.address()).port}`;
}

test("a model works also where the platform does not keep the queue for it", async () => {
  const url = await serving((request, response) => {
    request.resume().on("end", () => {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ choices: [{ message: { content: "spoken" } }] }));
    });
  });
  const faulty = await startFaulty({ vars: { RESIDENT_MODEL: `${url}/v1`, RESIDENT_MODEL_NAME: "m" } });
  const agent = faulty.deployment;
  await faulty.refuse("WAKE_QUEUE", "default", "waiting");
  assert.equal((await agent.as("alice").send("speak")).json.task.status.state, "TASK_STATE_COMPLETED");
  await agent.logged(/"event":"model_not_kept"/);
});

test("a failure that a principal can't record at once is recorded later", async () => {
  /** What the third push waits for. */
  let third;
  let pushes = 0;
  const url = await serving(async (request, response) => {
    pushes += 1;
    if (pushes === 3) await third();
    response.writeHead(500).end();
  });
  const faulty = await startFaulty({ vars: { A2A_PUSH_URL: url, A2A_PUSH_SECRET: randomBytes(16).toString("hex") } });
  const agent = faulty.deployment;
  third = () => faulty.arm("PRINCIPAL", "alice", "WakeFailed", "before", "throw");
  const { id } = await agent.as("alice").submit("nobody hears of this");
  for (const [count, pauseMs] of [
    [1, 15_000],
    [2, 60_000],
  ]) {
    await until("a push", () => pushes === count);
    await until("it is refused", () => agent.log.match(/"wake_push_failed"/g)?.length === count);
    await agent.letPass(pauseMs);
  }
  await agent.logged(/"event":"wake_failed_not_recorded"/);
  await agent.letPass(240_000);
  const evidence = "SELECT detail FROM evidence WHERE task_id = ? AND kind = 'WAKE_FAILED'";
  await until("it is recorded", async () => (await agent.rows("PrincipalObject", evidence, id)).length === 1);
});

test("an agent's task is followed over what fails in between, and its settlement wakes the task that asked", async () => {
  const remote = await HostileAgent.start();
  const vars = remoteVars({}, ["early"], { ...remote.vars(), HOSTILE_TOKEN: "a-token-of-the-agent" });
  const faulty = await startFaulty({ vars });
  const agent = faulty.deployment;
  const resident = agent.resident();
  const { id } = await agent.as("alice").submit("delegate");
  const turn = await resident.turn();
  await turn.tool("a2a_send_agent", { address: "a2a://early", text: "x" });
  await faulty.refuse("PRINCIPAL", "alice", "waiting");
  await faulty.refuse("PRINCIPAL", "alice", "statement", { matching: "remote_calls SET request" });
  assert.equal(await turn.end(), "awaiting_agents");
  await agent.logged(/"event":"following_not_kept"/);
  await agent.logged(/"event":"following_failed"/);
  // The lease of what was under way runs out.
  await agent.letPass(300_000);
  const woken = await until("the task is woken", () => resident.take(10_000), 60_000);
  assert.equal(woken.taskId, id);
  await woken.complete("done");
  await woken.end();
});

test("a source is told of a settlement also where the platform does not keep the object for it", async () => {
  const token = randomBytes(24).toString("base64url");
  const faulty = await startFaulty({ credentials: [{ token, principal: "alice", role: "source" }] });
  const agent = faulty.deployment;
  const { taskId } = await new Intake(agent, token).accept(event("tell me"));
  const turn = await agent.resident().turn();
  assert.equal(turn.taskId, taskId);
  await faulty.refuse("PRINCIPAL", "alice", "waiting");
  await turn.complete("done");
  await agent.logged(/"event":"telling_not_kept"/);
  await turn.end();
  const due = "SELECT due_ms FROM settlements WHERE task_id = ?";
  await until("nothing is owed", async () => (await agent.rows("PrincipalObject", due, taskId))[0]?.due_ms === null);
});
