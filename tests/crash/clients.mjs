// Who keeps the agent busy while it is killed: clients that insist on an acknowledgment, a source, and one that hangs up
// in the middle of its requests. Each remembers what it was told.

import { createHash } from "node:crypto";

import { message } from "../support/deployment.mjs";
import { exchange } from "../support/raw-socket.mjs";
import { until } from "../support/until.mjs";

/** How long anything may take across several crashes, in ms. */
const PATIENCE_MS = 60_000;

const TERMINAL = /_(COMPLETED|FAILED|CANCELED|REJECTED)$/;

/** After so many pieces of work each gives the resident a while to catch up. */
const AT_ONCE = 6;

const CATCHING_UP_MS = 1_000;

/** What the resident does is said by the message: it completes, or asks first where this is how the text begins. */
export const ASKS = "ask";

/** What callers were acknowledged. */
export class Record {
  /** @type {{ caller: string, messageId: string, taskId: string, text: string }[]} */
  sends = [];
  /** @type {{ key: string, taskId: string, text: string }[]} */
  events = [];
  /** @type {{ taskId: string, lastSeen: string, subscriptions: number }[]} */
  streams = [];
  cuts = 0;
  /** Answers that went against an earlier one, as sentences. @type {string[]} */
  contradictions = [];
}

/** Repeats a request as it is until it is answered with 200, and gives the answer's JSON. */
function insist(what, ask) {
  return until(
    what,
    async () => {
      const answer = await ask();
      if (answer.status === 200) return answer.json;
      if (answer.status < 500 && answer.status !== 429) {
        throw Object.assign(new Error(`${what}: ${answer.status} ${answer.text}`), { refused: true });
      }
      return undefined;
    },
    PATIENCE_MS,
  );
}

async function send(record, agent, caller, content) {
  const { task } = await insist("a send is acknowledged", () =>
    agent.as(caller).send(content, { returnImmediately: true }),
  );
  const [part] = content.parts;
  record.sends.push({ caller, messageId: content.messageId, taskId: task.id, text: part.text });
  return task;
}

function settled(agent, caller, taskId, timeoutMs = PATIENCE_MS) {
  const isSettled = (state) => TERMINAL.test(state) || state.endsWith("REQUIRED");
  return until("its work settles", async () => isSettled(await agent.as(caller).state(taskId)), timeoutMs);
}

/** Sends messages, some of them twice, and answers what it is asked unless `leavesQuestions`. */
export async function sender(record, agent, caller, name, next, goesOn, leavesQuestions) {
  for (let count = 0; goesOn(); count += 1) {
    const asks = next() < 0.15;
    const content = message(`${asks ? ASKS : "work"} ${name}.${count}`);
    const task = await send(record, agent, caller, content);
    if (next() < 0.3) {
      const again = await insist("a repeated send is answered", () =>
        agent.as(caller).send(content, { returnImmediately: true }),
      );
      if (again.task.id !== task.id) record.contradictions.push(`${content.messageId} became a second task`);
    }
    if (count % AT_ONCE === AT_ONCE - 1) await settled(agent, caller, task.id, CATCHING_UP_MS).catch(() => {});
    if (asks && !leavesQuestions) await settled(agent, caller, task.id);
    if (asks && !leavesQuestions) {
      await send(record, agent, caller, message(`answer ${name}.${count}`, { taskId: task.id }));
    }
  }
}

/** Streams messages to their end: whenever its stream breaks it subscribes again, and a settled task it reads. */
export async function streamer(record, agent, caller, name, goesOn) {
  for (let count = 0; goesOn(); count += 1) {
    const content = message(`work ${name}.${count}`);
    let taskId;
    let lastSeen;
    let subscriptions = 0;
    await until(
      "a streamed task's end is seen",
      async () => {
        if (taskId !== undefined && TERMINAL.test((lastSeen = await agent.as(caller).state(taskId)))) return true;
        const stream = await (taskId === undefined
          ? agent.as(caller).sendStreaming(content, { timeoutMs: PATIENCE_MS })
          : agent.as(caller).subscribe(taskId, { timeoutMs: PATIENCE_MS }));
        subscriptions += 1;
        for (;;) {
          const frame = await stream.next(PATIENCE_MS);
          if (frame === undefined) return TERMINAL.test(lastSeen ?? "");
          taskId ??= frame.task?.id;
          lastSeen = (frame.task ?? frame.statusUpdate)?.status.state ?? lastSeen;
        }
      },
      PATIENCE_MS,
    );
    record.sends.push({ caller, messageId: content.messageId, taskId, text: content.parts[0].text });
    record.streams.push({ taskId, lastSeen, subscriptions });
  }
}

/** A native source: hands events over until each is acknowledged. */
export async function source(record, agent, token, goesOn) {
  for (let count = 0; goesOn(); count += 1) {
    const text = `work event.${count}`;
    const parts = [{ text }];
    const key = `event-${count}`;
    const body = {
      source: "chat",
      providerEventId: key,
      dedupeKey: key,
      conversationKey: `conversation-${count % 3}`,
      nativeLocator: { channel: "c" },
      receivedAt: new Date().toISOString(),
      parts,
      contentDigest: `sha256:${createHash("sha256").update(JSON.stringify(parts)).digest("hex")}`,
    };
    const accepted = await insist("an event is acknowledged", () =>
      agent.call("POST", "/trusted/v1/activations", { token, body, headers: { "content-type": "application/json" } }),
    );
    const taskId = accepted.taskId ?? accepted.task?.id;
    record.events.push({ key, taskId, text });
    if (count % AT_ONCE === AT_ONCE - 1) await settled(agent, "alice", taskId, CATCHING_UP_MS).catch(() => {});
  }
}

/** Hangs up in the middle of each request: nothing of it may be kept. */
export async function cutter(record, agent, caller, next, goesOn) {
  while (goesOn()) {
    const body = JSON.stringify({ message: message("cut off", { messageId: `cut-${record.cuts}` }) });
    const head =
      `POST /message:send HTTP/1.1\r\nhost: agent\r\nauthorization: Bearer ${agent.tokens[caller]}\r\n` +
      `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
    const whole = head + body;
    const sent = whole.slice(0, head.length + Math.floor(next() * (body.length - 1)));
    await exchange(agent, sent, { destroy: true }).catch(() => {});
    record.cuts += 1;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
