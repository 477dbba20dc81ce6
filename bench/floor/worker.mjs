// The floor: what a Worker written by hand in JavaScript costs on this runtime when it stores the same rows in the
// same tables and checks nothing. There is no authentication, validation, negotiation, duplicate or bound.
//
// The tables and indexes are those of migrations/, and a send, a cancel and a whole task leave the same rows in both
// objects; tests/operations/floor.test.mjs compares them. What stands in a row may be cheaper: digests are constant and
// ids random. What the start of a resident's session writes, once, is left out.
//
// It keeps the promises that cost something: one transaction per send, an outbox row that is deleted when the queue
// has answered, an alarm that would retry it, a turn that is reserved before it is granted and ending before it is over,
// and answers that wait for the commit.

import { DurableObject } from "cloudflare:workers";

const JSON_HEADERS = { "content-type": "application/a2a+json", "cache-control": "private, no-store" };
const STREAM_HEADERS = { "content-type": "text/event-stream", "cache-control": "no-cache, no-transform" };

const SUBMITTED = 1;
const WORKING = 2;
const COMPLETED = 3;
const CANCELED = 5;
const STATES = {
  [SUBMITTED]: "TASK_STATE_SUBMITTED",
  [WORKING]: "TASK_STATE_WORKING",
  [COMPLETED]: "TASK_STATE_COMPLETED",
  [CANCELED]: "TASK_STATE_CANCELED",
};

/** Claims: woken by a turn, and done. */
const WOKEN = 1;
const DONE = 2;

/** The turn: reserved, live, ending. */
const RESERVED = 0;
const LIVE = 1;
const ENDING = 2;

/** As long as a digest. */
const DIGEST = "0".repeat(64);

const OUTBOX_RETRY_MS = 2_000;
const RETENTION_MS = 30 * 24 * 60 * 60 * 1_000;
const LEASE_MS = 60_000;

const RESIDENT = "/resident/v1/";

export default {
  async fetch(request, env, ctx) {
    const token = request.headers.get("authorization").slice("Bearer ".length);
    const { pathname } = new URL(request.url);
    if (pathname.startsWith(RESIDENT))
      return resident(env, token, pathname.slice(RESIDENT.length), await request.json());
    const principal = token;
    const object = env.PRINCIPAL.getByName(principal);
    if (pathname === "/message:send") return answer(await object.send(principal, await request.text()));
    const [id, verb] = pathname.slice("/tasks/".length).split(":");
    if (verb === undefined) return answer(await object.get(id));
    if (verb === "cancel") return answer(await object.cancel(principal, id));
    return stream(await object.fetch(`https://object/${id}`, { headers: { upgrade: "websocket" } }), ctx);
  },
};

function answer(json) {
  return new Response(json, { headers: JSON_HEADERS });
}

/** What a resident asks of the queue that it is named after. */
async function resident(env, name, path, body) {
  const queue = env.WAKE_QUEUE.getByName(name);
  if (path === "wakes:take") {
    const turn = await queue.take(name, body.session, body.waitMs);
    return turn === undefined ? new Response(null, { status: 204 }) : Response.json({ turn });
  }
  if (path.startsWith("turns/")) return Response.json({ disposition: await queue.end() });
  const object = env.PRINCIPAL.getByName(await queue.renew());
  if (path === "tools/a2a_read_task") return Response.json({ text: await object.get(body.taskId) });
  await object.complete(body.taskId, body.response);
  return Response.json({ state: STATES[COMPLETED] });
}

/** The resident that works for a principal. */
function residentOf(principal) {
  return principal.replace("principal", "resident");
}

/** A watcher's frames as server-sent events. */
function stream({ webSocket }, ctx) {
  const { readable, writable } = new IdentityTransformStream();
  const writer = writable.getWriter();
  const encoder = new TextEncoder();
  const closed = new Promise((resolve) => webSocket.addEventListener("close", resolve));
  webSocket.addEventListener("message", ({ data }) => {
    const written = writer.write(encoder.encode(`data: ${data}\n\n`));
    if (data.includes("CANCELED")) written.then(() => writer.close()).then(() => webSocket.close());
  });
  webSocket.accept();
  ctx.waitUntil(closed);
  return new Response(readable, { headers: STREAM_HEADERS });
}

function createTables(sql, schema) {
  const { tables } = sql.exec("SELECT count(*) AS tables FROM sqlite_master WHERE name = 'schema_version'").one();
  if (tables === 0) sql.exec(`CREATE TABLE schema_version (version INTEGER NOT NULL); ${schema}`);
}

/** What an answer waits for: a settlement, or a wake. Whoever waits is told once. */
class Waiting {
  #told = new Map();

  /** @param {string} key @param {number} [limitMs] */
  until(key, limitMs) {
    return new Promise((resolve) => {
      this.#told.set(key, resolve);
      if (limitMs !== undefined) setTimeout(resolve, limitMs);
    });
  }

  tell(key) {
    this.#told.get(key)?.();
    this.#told.delete(key);
  }
}

export class PrincipalObject extends DurableObject {
  #storage = this.ctx.storage;
  #sql = this.ctx.storage.sql;
  #alarmMs = 0;
  #settled = new Waiting();

  constructor(ctx, env) {
    super(ctx, env);
    createTables(this.#sql, env.PRINCIPAL_SCHEMA);
  }

  async send(principal, body) {
    const { message, configuration } = JSON.parse(body);
    const now = Date.now();
    const [contextId, taskId] = [crypto.randomUUID(), crypto.randomUUID()];
    const kept = JSON.stringify({ contextId, taskId, ...message });
    const notice = this.#storage.transactionSync(() => {
      const sql = this.#sql;
      sql.exec(
        "INSERT INTO contexts (context_id, source, conversation_key, last_event_ms, tasks) VALUES (?, 'a2a', NULL, ?, 1)",
        contextId,
        now,
      );
      const { activation_id: activationId } = sql
        .exec(
          "INSERT INTO claims (source, dedupe_key, digest, task_id, accepted_ms, extensions, wake_state, deliveries, " +
            "failures) VALUES ('a2a', ?, ?, ?, ?, 0, 0, 0, 0) RETURNING activation_id",
          message.messageId,
          DIGEST,
          taskId,
          now,
        )
        .one();
      sql.exec(
        "INSERT INTO tasks (task_id, context_id, source, state, status_ms, created_ms, activation_id, next_ordinal, " +
          "awaits_answer) VALUES (?, ?, 'a2a', ?, ?, ?, ?, 1, 0)",
        taskId,
        contextId,
        SUBMITTED,
        now,
        now,
        activationId,
      );
      sql.exec(
        "UPDATE task_counts SET state_1 = state_1 + 1, moved = 0, resident = ?, retention_ms = coalesce(retention_ms, ?)",
        residentOf(principal),
        now + RETENTION_MS,
      );
      sql.exec("INSERT INTO messages (task_id, ordinal, message) VALUES (?, 0, ?)", taskId, kept);
      this.#record(now, "ACCEPTED", taskId, activationId);
      return this.#owe(now, { kind: "wake", principal, activationId, taskId });
    });
    this.#deliver(notice);
    if (configuration?.returnImmediately) return `{"task":${taskJson(taskId, contextId, SUBMITTED, now, [kept], [])}}`;
    await this.#settled.until(taskId);
    return `{"task":${this.get(taskId)}}`;
  }

  get(taskId) {
    const sql = this.#sql;
    const task = sql.exec("SELECT context_id, state, status_ms FROM tasks WHERE task_id = ?", taskId).one();
    const made = sql.exec("SELECT artifact FROM artifacts WHERE task_id = ? ORDER BY ordinal", taskId).toArray();
    const artifacts = made.map(({ artifact }) => artifact);
    const messages = sql.exec("SELECT message FROM messages WHERE task_id = ? ORDER BY ordinal", taskId).toArray();
    const history = messages.map(({ message }) => message);
    return taskJson(taskId, task.context_id, task.state, task.status_ms, history, artifacts);
  }

  /** Gives the task to a turn. */
  grant({ activationId, taskId, turnId, resident }) {
    const now = Date.now();
    const sql = this.#sql;
    return this.#storage.transactionSync(() => {
      sql.exec(
        "UPDATE claims SET wake_state = ?, deliveries = deliveries + 1 WHERE activation_id = ?",
        WOKEN,
        activationId,
      );
      sql.exec("UPDATE task_counts SET state_1 = state_1 - 1, state_2 = state_2 + 1");
      const { context_id: contextId } = sql
        .exec(
          "UPDATE tasks SET state = ?, status_ms = ?, turn_id = ?, turn_resident = ? WHERE task_id = ? RETURNING context_id",
          WORKING,
          now,
          turnId,
          resident,
          taskId,
        )
        .one();
      this.#record(now, "WOKEN", taskId, activationId, turnId);
      return contextId;
    });
  }

  complete(taskId, text) {
    const now = Date.now();
    const sql = this.#sql;
    this.#storage.transactionSync(() => {
      sql.exec(
        "INSERT INTO artifacts (task_id, ordinal, artifact_id, artifact, sealed) VALUES (?, 0, 'response', ?, 1)",
        taskId,
        JSON.stringify({ artifactId: "response", name: "response", parts: [{ text }] }),
      );
      sql.exec("UPDATE task_counts SET state_2 = state_2 - 1, state_3 = state_3 + 1");
      sql.exec("UPDATE tasks SET state = ?, status_ms = ? WHERE task_id = ?", COMPLETED, now, taskId);
    });
    this.#settled.tell(taskId);
  }

  endTurn({ activationId, taskId, turnId }) {
    const sql = this.#sql;
    this.#storage.transactionSync(() => {
      sql.exec("UPDATE claims SET wake_state = ? WHERE activation_id = ?", DONE, activationId);
      sql.exec("UPDATE tasks SET turn_id = NULL, turn_resident = NULL WHERE task_id = ?", taskId);
      sql.exec(
        "INSERT INTO ended_turns (activation_id, turn_id, disposition) VALUES (?, ?, '\"settled\"')",
        activationId,
        turnId,
      );
    });
  }

  cancel(principal, taskId) {
    const now = Date.now();
    const sql = this.#sql;
    const notice = this.#storage.transactionSync(() => {
      sql.exec("UPDATE task_counts SET state_1 = state_1 - 1, state_5 = state_5 + 1");
      const { activation_id: activationId } = sql
        .exec(
          "UPDATE tasks SET state = ?, status_ms = ? WHERE task_id = ? RETURNING activation_id",
          CANCELED,
          now,
          taskId,
        )
        .one();
      this.#record(now, "CANCELED", taskId, activationId);
      return this.#owe(now, { kind: "withdraw", principal, activationId, taskId });
    });
    const task = this.get(taskId);
    const { contextId, status } = JSON.parse(task);
    for (const socket of this.ctx.getWebSockets(taskId)) {
      socket.send(JSON.stringify({ statusUpdate: { taskId, contextId, status } }));
    }
    this.#deliver(notice);
    return task;
  }

  /** A watcher: the first frame is the task. */
  fetch(request) {
    const taskId = new URL(request.url).pathname.slice(1);
    const { 0: client, 1: server } = new WebSocketPair();
    this.ctx.acceptWebSocket(server, [taskId]);
    server.send(`{"task":${this.get(taskId)}}`);
    return new Response(null, { status: 101, webSocket: client });
  }

  webSocketClose(socket) {
    socket.close();
  }

  async alarm() {
    this.#alarmMs = 0;
    const owed = this.#sql.exec("SELECT outbox_id, notice FROM outbox").toArray();
    for (const { outbox_id: id, notice } of owed) await this.#notify(id, JSON.parse(notice));
  }

  #record(now, kind, taskId, activationId, detail = null) {
    this.#sql.exec(
      "INSERT INTO evidence (at_ms, kind, task_id, activation_id, detail) VALUES (?, ?, ?, ?, ?)",
      now,
      kind,
      taskId,
      activationId,
      detail,
    );
  }

  #owe(now, notice) {
    const dueMs = now + OUTBOX_RETRY_MS;
    const { outbox_id: id } = this.#sql
      .exec(
        "INSERT INTO outbox (resident, notice, due_ms, attempts) VALUES (?, ?, ?, 0) RETURNING outbox_id",
        residentOf(notice.principal),
        JSON.stringify(notice),
        dueMs,
      )
      .one();
    if (this.#alarmMs === 0) {
      this.#alarmMs = dueMs;
      this.#storage.setAlarm(dueMs);
    }
    return { id, notice };
  }

  #deliver({ id, notice }) {
    this.ctx.waitUntil(this.#notify(id, notice));
  }

  async #notify(id, notice) {
    await this.env.WAKE_QUEUE.getByName(residentOf(notice.principal)).notify(notice);
    this.#sql.exec("DELETE FROM outbox WHERE outbox_id = ?", id);
  }
}

export class WakeQueueObject extends DurableObject {
  #storage = this.ctx.storage;
  #sql = this.ctx.storage.sql;
  #woken = new Waiting();

  constructor(ctx, env) {
    super(ctx, env);
    createTables(this.#sql, env.WAKE_QUEUE_SCHEMA);
  }

  notify({ kind, principal, activationId, taskId }) {
    const sql = this.#sql;
    if (kind === "withdraw") {
      sql.exec("DELETE FROM wakes WHERE principal = ? AND activation_id = ?", principal, activationId);
      return;
    }
    this.#storage.transactionSync(() => {
      sql.exec(
        "INSERT INTO principals (principal, assigned, attempts) VALUES (?, 0, 0) ON CONFLICT DO NOTHING",
        principal,
      );
      sql.exec(
        "INSERT INTO wakes (principal, activation_id, task_id) VALUES (?, ?, ?)",
        principal,
        activationId,
        taskId,
      );
    });
    this.#woken.tell("wake");
  }

  /** The next turn; undefined where no wake comes within `waitMs`. */
  async take(resident, session, waitMs) {
    const turn = this.#reserve(session) ?? (await this.#woken.until("wake", waitMs), this.#reserve(session));
    if (turn === undefined) return undefined;
    const { principal, activationId, taskId, turnId } = turn;
    const object = this.env.PRINCIPAL.getByName(principal);
    const contextId = await object.grant({ activationId, taskId, turnId, resident });
    this.#sql.exec(
      "UPDATE turn SET phase = ?, context_id = ?, delivery = 1, due_ms = ?, secret_sha256 = ?",
      LIVE,
      contextId,
      Date.now() + LEASE_MS,
      DIGEST,
    );
    return { contextId, taskId, turnId };
  }

  #reserve(session) {
    const sql = this.#sql;
    const [wake] = sql
      .exec(
        "SELECT wake_id, principal, activation_id, task_id FROM wakes WHERE not_before_ms IS NULL ORDER BY wake_id LIMIT 1",
      )
      .toArray();
    if (wake === undefined) return undefined;
    const turnId = crypto.randomUUID();
    const now = Date.now();
    this.#storage.transactionSync(() => {
      sql.exec("DELETE FROM wakes WHERE wake_id = ?", wake.wake_id);
      sql.exec(
        "INSERT INTO turn (only, turn_id, session, principal, activation_id, task_id, context_id, delivery, " +
          "secret_sha256, phase, lease_ms, reserved_ms, due_ms, attempts) VALUES (1, ?, ?, ?, ?, ?, '', 0, '', ?, ?, ?, ?, 0)",
        turnId,
        session,
        wake.principal,
        wake.activation_id,
        wake.task_id,
        RESERVED,
        LEASE_MS,
        now,
        now + LEASE_MS,
      );
    });
    return { principal: wake.principal, activationId: wake.activation_id, taskId: wake.task_id, turnId };
  }

  /** A sign of life of the turn. Tells whose task it is. */
  renew() {
    const renewed = this.#sql.exec(
      "UPDATE turn SET due_ms = ?, attempts = 1 RETURNING principal",
      Date.now() + LEASE_MS,
    );
    return renewed.one().principal;
  }

  async end() {
    const sql = this.#sql;
    const now = Date.now();
    const turn = this.#storage.transactionSync(() => {
      const ending = sql
        .exec(
          "UPDATE turn SET phase = ?, outcome = '\"ended\"', due_ms = ?, attempts = 1 " +
            "RETURNING principal, activation_id, task_id, turn_id",
          ENDING,
          now + OUTBOX_RETRY_MS,
        )
        .one();
      sql.exec("INSERT INTO ended_turns (turn_id, reason, ended_ms) VALUES (?, 'ended', ?)", ending.turn_id, now);
      return ending;
    });
    const { principal, activation_id: activationId, task_id: taskId, turn_id: turnId } = turn;
    await this.env.PRINCIPAL.getByName(principal).endTurn({ activationId, taskId, turnId });
    sql.exec("DELETE FROM turn");
    return "settled";
  }
}

function taskJson(id, contextId, state, statusMs, history, artifacts) {
  const status = `{"state":"${STATES[state]}","timestamp":"${new Date(statusMs).toISOString()}"}`;
  const made = artifacts.length === 0 ? "" : `,"artifacts":[${artifacts.join(",")}]`;
  return `{"id":"${id}","contextId":"${contextId}","status":${status},"history":[${history.join(",")}]${made}}`;
}
