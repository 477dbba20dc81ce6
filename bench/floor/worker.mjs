// The floor: what a Worker written by hand in JavaScript costs on this runtime when it stores the same rows in the
// same tables and checks nothing. There is no authentication, validation, negotiation, duplicate or bound.
//
// It keeps the promises that cost something: one transaction per send, an outbox row that is deleted when the queue
// has answered, an alarm that would retry it, and answers that wait for the commit.

import { DurableObject } from "cloudflare:workers";

const JSON_HEADERS = { "content-type": "application/a2a+json", "cache-control": "private, no-store" };
const STREAM_HEADERS = { "content-type": "text/event-stream", "cache-control": "no-cache, no-transform" };

const SUBMITTED = 1;
const CANCELED = 5;
const STATES = { [SUBMITTED]: "TASK_STATE_SUBMITTED", [CANCELED]: "TASK_STATE_CANCELED" };

/** As long as a digest. */
const DIGEST = "0".repeat(64);

const OUTBOX_RETRY_MS = 2_000;

export default {
  async fetch(request, env, ctx) {
    const principal = request.headers.get("authorization").slice("Bearer ".length);
    const object = env.PRINCIPAL.getByName(principal);
    const { pathname } = new URL(request.url);
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

export class PrincipalObject extends DurableObject {
  #storage = this.ctx.storage;
  #sql = this.ctx.storage.sql;
  #alarmMs = 0;

  constructor(ctx, env) {
    super(ctx, env);
    createTables(this.#sql, env.PRINCIPAL_SCHEMA);
  }

  send(principal, body) {
    const { message } = JSON.parse(body);
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
      sql.exec("UPDATE task_counts SET state_1 = state_1 + 1");
      sql.exec("INSERT INTO messages (task_id, ordinal, message) VALUES (?, 0, ?)", taskId, kept);
      this.#record(now, "ACCEPTED", taskId, activationId);
      return this.#owe(now, { kind: "wake", principal, activationId, taskId });
    });
    this.#deliver(notice);
    return `{"task":${taskJson(taskId, contextId, SUBMITTED, now, [kept])}}`;
  }

  get(taskId) {
    const sql = this.#sql;
    const task = sql.exec("SELECT context_id, state, status_ms FROM tasks WHERE task_id = ?", taskId).one();
    sql.exec("SELECT artifact FROM artifacts WHERE task_id = ? ORDER BY ordinal", taskId).toArray();
    const messages = sql.exec("SELECT message FROM messages WHERE task_id = ? ORDER BY ordinal", taskId).toArray();
    const history = messages.map(({ message }) => message);
    return taskJson(taskId, task.context_id, task.state, task.status_ms, history);
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

  #record(now, kind, taskId, activationId) {
    this.#sql.exec(
      "INSERT INTO evidence (at_ms, kind, task_id, activation_id, detail) VALUES (?, ?, ?, ?, NULL)",
      now,
      kind,
      taskId,
      activationId,
    );
  }

  #owe(now, notice) {
    const dueMs = now + OUTBOX_RETRY_MS;
    const { outbox_id: id } = this.#sql
      .exec(
        "INSERT INTO outbox (resident, notice, due_ms, attempts) VALUES (?, ?, ?, 0) RETURNING outbox_id",
        notice.principal,
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
    await this.env.WAKE_QUEUE.getByName(notice.principal).notify(notice);
    this.#sql.exec("DELETE FROM outbox WHERE outbox_id = ?", id);
  }
}

export class WakeQueueObject extends DurableObject {
  #sql = this.ctx.storage.sql;

  constructor(ctx, env) {
    super(ctx, env);
    createTables(this.#sql, env.WAKE_QUEUE_SCHEMA);
  }

  notify({ kind, principal, activationId, taskId }) {
    if (kind === "withdraw") {
      this.#sql.exec("DELETE FROM wakes WHERE principal = ? AND activation_id = ?", principal, activationId);
      return;
    }
    this.#sql.exec(
      "INSERT INTO wakes (principal, activation_id, task_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
      principal,
      activationId,
      taskId,
    );
  }
}

function taskJson(id, contextId, state, statusMs, history) {
  const status = `{"state":"${STATES[state]}","timestamp":"${new Date(statusMs).toISOString()}"}`;
  return `{"id":"${id}","contextId":"${contextId}","status":${status},"history":[${history.join(",")}]}`;
}
