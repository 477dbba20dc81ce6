// One run: a deployment on an older release's storage, clients, a source, a resident, and disasters.

import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { randomBytes } from "node:crypto";

import { Deployment } from "../support/deployment.mjs";
import { restore } from "../support/fixture.mjs";
import { keepUntilExit } from "../support/processes.mjs";
import { rows } from "../support/storage.mjs";
import { Runner } from "../support/runner.mjs";
import { until } from "../support/until.mjs";
import { check, isBusy } from "./check.mjs";
import { ASKS, Record, cutter, sender, source, streamer } from "./clients.mjs";
import { disasters, random } from "./schedule.mjs";

/** The release whose storage the run begins with: its schema is brought up to date while the first disasters strike. */
const RELEASE = "first-release";

/** How long ago that was: the deadlines of what was under way then pass during the run. */
const AGO_MS = 50_000;

/** How long everything that is under way may take once the disasters are over, in ms. */
const SETTLING_MS = 90_000;

/** More than what is settled is kept for. */
const RETENTION_DAYS = 31;

const DAY_MS = 24 * 60 * 60 * 1000;

/** What each turn runs. A question that stands answered is not asked again. */
const AGENT = `
text=$(resident read --text)
question=$(resident read --question)
case "$question:$text" in
  :${ASKS}*) resident ask "Go on?" ;;
  *) resident complete "done: $text" ;;
esac`;

/**
 * @param {object} options
 * @param {number} options.seed
 * @param {number} options.kills
 * @param {(line: string) => void} options.say
 */
export async function crash({ seed, kills, say }) {
  const next = random(seed ^ 0x5eed);
  const record = new Record();
  const folder = keepUntilExit(await mkdtemp(join(tmpdir(), "a2a-crash-")));
  const before = await restore(RELEASE, folder, AGO_MS);
  const claimedBefore = await rows(folder, "PrincipalObject", "SELECT dedupe_key FROM claims", []);
  const token = randomBytes(24).toString("base64url");
  const agent = await Deployment.start({
    folder,
    // Short, so that a turn whose resident was killed is offered again soon.
    vars: { A2A_LEASE_MS: "2000" },
    credentials: [{ token, principal: "alice", role: "source", resident: "default" }],
  });
  const declared = await agent.call("PUT", "/trusted/v1/sources/chat", { token, body: {} });
  if (declared.status >= 500) throw new Error(`the source was not declared: ${declared.text}`);
  let runner = Runner.start(agent, AGENT);

  let working = true;
  const goesOn = () => working;
  const busy = [
    ...["alice", "bob"].flatMap((caller) => [
      sender(record, agent, caller, `${caller}-1`, next, goesOn, false),
      sender(record, agent, caller, `${caller}-2`, next, goesOn, false),
      streamer(record, agent, caller, `${caller}-3`, goesOn),
    ]),
    sender(record, agent, "bob", "bob-asked", next, () => working && record.sends.length < 40, true),
    source(record, agent, token, goesOn),
    cutter(record, agent, "alice", next, goesOn),
  ];
  let residentKills = 0;
  try {
    for (const [index, disaster] of disasters(seed, kills).entries()) {
      await new Promise((resolve) => setTimeout(resolve, disaster.afterMs));
      const acknowledged = record.sends.length + record.events.length;
      if (disaster.resident) {
        await runner.kill();
        residentKills += 1;
      }
      await agent.kill();
      await agent.restart();
      if (disaster.resident) runner = Runner.start(agent, AGENT);
      say(
        `kill ${index + 1} after ${disaster.afterMs} ms${disaster.resident ? ", and the resident" : ""}: ` +
          `${acknowledged} acknowledged`,
      );
    }
  } finally {
    working = false;
  }
  say("let what is under way come to its end");
  await runner.stop();
  const ended = Promise.all(busy).finally(() => {
    busy.length = 0;
  });
  await Promise.all([ended, drain(agent, () => busy.length > 0)]);
  const found = await check(
    agent,
    record,
    before,
    claimedBefore.map(({ dedupe_key: key }) => key),
  );
  found.push(await retained(agent, record, token, say));
  return {
    seed,
    kills,
    residentKills,
    sends: record.sends.length,
    events: record.events.length,
    streams: record.streams.length,
    resubscribed: record.streams.filter(({ subscriptions }) => subscriptions > 1).length,
    cuts: record.cuts,
    checks: found,
  };
}

/**
 * A resident that is quicker than the runner takes what is left. Where nothing waits any more and something is open, it
 * starts anew: what did not fit into the queue is offered then.
 */
async function drain(agent, mayCome) {
  const deadline = Date.now() + SETTLING_MS;
  while (Date.now() < deadline) {
    const resident = agent.resident();
    for (;;) {
      const turn = await resident.take(1_000);
      if (turn === undefined) break;
      const task = await turn.task();
      const [{ text }] = task.history[0].parts;
      const asks = text?.startsWith(ASKS) && task.history.length === 1;
      await (asks ? turn.ask("Go on?") : turn.complete(`done: ${text}`));
      await turn.end();
    }
    if (!mayCome() && !(await isBusy(agent))) return;
  }
}

/** The clock moves by more than settled tasks are kept: they go with their claims, and what waits for its caller stays. */
async function retained(agent, record, token, say) {
  say(`let ${RETENTION_DAYS} days pass`);
  const states = () => agent.rows("PrincipalObject", "SELECT task_id, state FROM tasks");
  const waits = ({ state }) => [6, 8].includes(state);
  const waiting = (await states()).filter(waits).map(({ task_id: id }) => id);
  await agent.letPass(RETENTION_DAYS * DAY_MS);
  const wrong = [];
  const pruned = async () => (await states()).every(waits);
  await until("settled tasks are pruned", pruned, SETTLING_MS).catch(() => {
    wrong.push("settled tasks are still there");
  });
  const left = new Set((await states()).map(({ task_id: id }) => id));
  wrong.push(...waiting.filter((id) => !left.has(id)).map((id) => `${id} waited for its caller, and is gone`));
  const sent = record.sends.find(({ taskId }) => !left.has(taskId));
  if (sent) {
    const { status } = await agent.as(sent.caller).call("GET", `/tasks/${sent.taskId}`);
    if (status !== 404) wrong.push(`a pruned task answers ${status}`);
  }
  return { name: "a month later settled tasks are gone, and those that wait are not", looked: left.size, wrong };
}
