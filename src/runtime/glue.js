// The JavaScript side of `runtime`: each function does in one crossing what would otherwise take many.
// Expected failures come back as values, not as exceptions: the Rust side names them.

/** What `readBody` answers instead of the bytes. Kept in step with `BodyError` in body.rs. */
const BODY_TOO_LARGE = 1;
const BODY_ABORTED = 2;
const BODY_STALLED = 3;

/** The headers that every request is asked for. Kept in step with `RequestHead` in request.rs. */
const HEAD = ["authorization", "a2a-version", "a2a-extensions", "origin", "traceparent", "x-request-id"];

/** Method, URL and those headers, a line each, `:` before a header's value. None can hold a line break. */
export function requestHead(request) {
  const { headers } = request;
  let head = `${request.method}\n${request.url}`;
  for (const name of HEAD) {
    const value = headers.get(name);
    head += value === null ? "\n" : `\n:${value}`;
  }
  return head;
}

/** A header's value, or undefined. Never throws: an unusable name is an absent header. */
export function header(request, name) {
  return request.headers.get(name) ?? undefined;
}

/**
 * Settles with the body's bytes, or with one of the codes above.
 * A declared length over the limit is refused before anything is read; an undeclared one is counted while it is read,
 * and the rest of the stream is cancelled.
 */
export function readBody(request, limitBytes, deadlineMs, settled, slot) {
  const declared = request.headers.get("content-length");
  if (declared !== null && Number(declared) > limitBytes) {
    discard(request.body);
    settled(slot, true, BODY_TOO_LARGE);
    return;
  }
  const clock = clockFor(deadlineMs, () => settled(slot, true, BODY_STALLED));
  // `bytes()` would make one promise more.
  const body = declared === null ? collect(request.body, limitBytes) : request.arrayBuffer();
  body.then(
    (outcome) => handOn(clock, settled, slot, outcome instanceof ArrayBuffer ? new Uint8Array(outcome) : outcome),
    () => handOn(clock, settled, slot, BODY_ABORTED),
  );
}

async function collect(body, limitBytes) {
  if (body === null) return new Uint8Array();
  const reader = body.getReader();
  const chunks = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > limitBytes) {
      discard(reader);
      return BODY_TOO_LARGE;
    }
    chunks.push(value);
  }
  if (chunks.length === 1) return chunks[0];
  const whole = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    whole.set(chunk, offset);
    offset += chunk.length;
  }
  return whole;
}

/** Stops a stream whose rest nobody wants; what the sender thinks of it doesn't matter. */
function discard(stream) {
  stream?.cancel().catch(() => {});
}

/**
 * Headers as `Response` takes them, from `name:value` lines. Rust keeps what comes of lines that it uses again. An object,
 * because a list of pairs makes a response half as expensive again; each name stands once.
 */
export function headersFrom(headerLines) {
  const headers = {};
  for (const line of headerLines.split("\n")) {
    const colon = line.indexOf(":");
    if (colon > 0) headers[line.slice(0, colon)] = line.slice(colon + 1);
  }
  return headers;
}

/**
 * A response with a text for a body (undefined: none), and the request's line in the log. `headers` may be kept for the
 * next response: the request's id, which is no other's, is written over each time.
 */
export function respond(status, headers, requestId, body, logLine) {
  if (logLine !== undefined) console.log(logLine);
  if (requestId !== undefined) headers["x-request-id"] = requestId;
  return new Response(body, { status, headers });
}

/** Adds headers to a response that is ready to go, in place of any of the same name, and logs the request's line. */
export function finish(response, headerLines, requestId, logLine) {
  if (logLine !== undefined) console.log(logLine);
  const { headers } = response;
  for (const [name, value] of Object.entries(headersFrom(headerLines))) headers.set(name, value);
  headers.set("x-request-id", requestId);
}

/** A text binding; undefined where it is absent or something else. */
export function variable(env, name) {
  const value = env[name];
  return typeof value === "string" ? value : undefined;
}

/** A Durable Object namespace binding; undefined where it is absent or something else. */
export function namespace(env, name) {
  const value = env[name];
  return typeof value?.getByName === "function" ? value : undefined;
}

/** When the deployed version was made, from a version metadata binding; undefined where it is absent. */
export function versionTimestamp(env, name) {
  const timestamp = env[name]?.timestamp;
  return typeof timestamp === "string" ? timestamp : undefined;
}

/** A rate limiting binding; undefined where it is absent or something else. */
export function rateLimiter(env, name) {
  const value = env[name];
  return typeof value?.limit === "function" ? value : undefined;
}

/** An Analytics Engine binding; undefined where it is absent or something else. */
export function dataset(env, name) {
  const value = env[name];
  return typeof value?.writeDataPoint === "function" ? value : undefined;
}

/** A data point. The platform sends it later; where it refuses, nothing is. */
export function writeDataPoint(target, index, blob, doubles) {
  try {
    target.writeDataPoint({ indexes: [index], blobs: [index, blob], doubles: [...doubles] });
  } catch (error) {
    console.error(JSON.stringify({ event: "metric_not_written", reason: String(error?.message ?? error) }));
  }
}

/** Counts one request against a key's limit: resolves to whether it is within. */
export async function countAgainstLimit(limiter, key, deadlineMs) {
  const { success } = await before(deadlineMs, limiter.limit({ key }));
  return success;
}

/**
 * Calls `settled(slot, fulfilled, value)` with what the promise came to. Wherever that callback is passed, the first call
 * for a slot counts and later ones do nothing.
 */
export function settle(promise, settled, slot) {
  promise.then(
    (value) => settled(slot, true, value),
    (error) => settled(slot, false, error),
  );
}

/** Answers that Rust still owes. */
const owed = new Set();

/** A promise that Rust settles. */
export class Deferred {
  #resolve;
  #reject;

  constructor() {
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    owed.add(this);
  }

  resolve(value) {
    owed.delete(this);
    this.#resolve(value);
  }

  reject(error) {
    owed.delete(this);
    this.#reject(error);
  }
}

/** After a trap: nothing that the instance owed will come, so whoever waits for it is told, and then the shell. */
export function instanceLost(tell) {
  const error = new Error("the instance was lost");
  for (const answer of [...owed]) answer.reject(error);
  tell();
}

/** The longest that a clock's timer runs before it looks at the time, in ms: seldom less than a request takes. */
const TICK_MS = 5_000;

/**
 * Calls `overdue` when a wait has taken too long. Setting and clearing a timer costs as much as several SQL statements, so
 * a request has one clock for its waits, and one timer as long as it ends within a tick.
 */
class Clock {
  #timer;
  #ticksAtMs;
  #endsAtMs;
  #overdue;

  /** Begins a wait. A shorter one than is left to the timer needs another. */
  begin(deadlineMs, overdue) {
    const nowMs = Date.now();
    this.#overdue = overdue;
    this.#endsAtMs = nowMs + deadlineMs;
    if (this.#timer !== undefined && this.#ticksAtMs <= this.#endsAtMs) return;
    this.stop();
    this.#run(nowMs);
  }

  #run(nowMs) {
    const leftMs = Math.min(this.#endsAtMs - nowMs, TICK_MS);
    this.#ticksAtMs = nowMs + leftMs;
    this.#timer = setTimeout(() => this.#tick(), leftMs);
  }

  #tick() {
    this.#timer = undefined;
    const nowMs = Date.now();
    if (nowMs < this.#endsAtMs) this.#run(nowMs);
    else this.#overdue();
  }

  /** A timer that still ran would keep an object awake. */
  stop() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}

/** The clock of a wait that is just ending, for the one that begins in the same step, which is the same request's. */
let handedOn;

function clockFor(deadlineMs, overdue) {
  const clock = handedOn ?? new Clock();
  handedOn = undefined;
  clock.begin(deadlineMs, overdue);
  return clock;
}

/** Ends a wait with its outcome. */
function handOn(clock, settled, slot, outcome, fulfilled = true) {
  handedOn = clock;
  try {
    settled(slot, fulfilled, outcome);
  } finally {
    handedOn?.stop();
    handedOn = undefined;
  }
}

const DEADLINE = Symbol("deadline");

/** The `failure(…)` of a deadline. */
const OVERDUE = [true, false, false, ""];

/** Ends with the promise, or rejects with DEADLINE. The timer never outlives the call: it would keep objects awake. */
function before(deadlineMs, promise) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(reject, deadlineMs, DEADLINE);
    promise.then(
      (value) => {
        clearTimeout(timer);
        resolve(value);
      },
      (error) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });
}

/** The rows that the answer which is being settled has cost its object. */
let answeredRows = [0, 0];

/** Rows read, and written, in one number: what one command can cost is far below 2^24. */
export function rowsOfAnswer() {
  const [read, written] = answeredRows;
  return read * 2 ** 24 + written;
}

/** One command to one object. Settles with its answer, or fails with `failure(…)`. A deadline of 0 is none. */
export function invoke(objects, name, command, deadlineMs, settled, slot) {
  let answer;
  try {
    // The command stands in the instance's memory: it is copied out before the instance goes on.
    answer = objects.getByName(name).call(command.slice());
  } catch (error) {
    settled(slot, false, failure(error));
    return;
  }
  const clock = deadlineMs === 0 ? undefined : clockFor(deadlineMs, () => settled(slot, false, OVERDUE));
  answer.then(
    ([value, rows]) => {
      answeredRows = rows;
      handOn(clock, settled, slot, value);
    },
    (error) => handOn(clock, settled, slot, failure(error), false),
  );
}

/** What went wrong between the Worker and an object, as four values that Rust reads in one crossing. */
function failure(error) {
  if (error === DEADLINE) return OVERDUE;
  return [false, error?.retryable === true, error?.overloaded === true, String(error?.message ?? error)];
}

/**
 * A WebSocket to an object: resolves to the socket, which its reader accepts once it listens, or to `[status, text]` where
 * the object refused. One that comes after the deadline is closed: nobody would read it.
 */
export async function openSocket(objects, name, pathAndQuery, deadlineMs) {
  try {
    const request = new Request(`https://object${pathAndQuery}`, { headers: { upgrade: "websocket" } });
    const opening = objects.getByName(name).fetch(request);
    const answer = await before(deadlineMs, opening).catch((error) => {
      if (error === DEADLINE) opening.then(hangUp, () => {});
      throw error;
    });
    return answer.webSocket ?? [answer.status, await before(deadlineMs, answer.text())];
  } catch (error) {
    throw failure(error);
  }
}

function hangUp({ webSocket }) {
  webSocket?.accept();
  webSocket?.close(1000, "too late");
}

/** Resolves after so many milliseconds. */
export function sleep(delayMs) {
  return new Promise((resolve) => {
    setTimeout(resolve, delayMs);
  });
}

/**
 * Runs one SQL statement. `shape` tells each parameter in two numbers: 0 null; 1 and the integer; 2 and the length of
 * the text, in UTF-16 units, that is next in `texts`.
 */
function exec(sql, query, shape, texts) {
  const parameters = [];
  let offset = 0;
  for (let index = 0; index < shape.length; index += 2) {
    const value = shape[index + 1];
    switch (shape[index]) {
      case 1:
        parameters.push(value);
        break;
      case 2:
        parameters.push(texts.slice(offset, offset + value));
        offset += value;
        break;
      default:
        parameters.push(null);
    }
  }
  return sql.exec(query, ...parameters);
}

/** Where a database keeps how many rows its statements have read and written: shell.mjs takes what a call has cost. */
const ROWS = Symbol.for("a2a.rows");

function count(sql, cursor) {
  const rows = (sql[ROWS] ??= [0, 0]);
  rows[0] += cursor.rowsRead;
  rows[1] += cursor.rowsWritten;
}

/** A statement whose rows nobody reads. Returns what went wrong, or undefined. */
export function sqlExecute(sql, query, shape, texts) {
  try {
    count(sql, exec(sql, query, shape, texts));
  } catch (error) {
    return String(error?.message ?? error);
  }
}

/** A statement's rows, an array of arrays, as JSON; undefined where there are none; `!` and what went wrong. */
export function sqlQuery(sql, query, shape, texts) {
  try {
    const cursor = exec(sql, query, shape, texts);
    const rows = cursor.raw().toArray();
    count(sql, cursor);
    return rows.length === 0 ? undefined : JSON.stringify(rows);
  } catch (error) {
    return `!${error?.message ?? error}`;
  }
}

/** Sets an object's alarm; the commit waits for it, and a failure breaks the object, so nobody need await it. */
export function setAlarm(storage, atMs) {
  storage.setAlarm(atMs).catch(reportAlarm);
}

/** Clears an object's alarm, under the same promise as `setAlarm`. */
export function deleteAlarm(storage) {
  storage.deleteAlarm().catch(reportAlarm);
}

function reportAlarm(error) {
  console.error(JSON.stringify({ event: "alarm_not_set", reason: String(error?.message ?? error) }));
}

/** The name an object was addressed by; undefined where the platform does not tell. */
export function objectName(ctx) {
  return ctx.id.name;
}

/** Accepts one end of a new socket for hibernation and gives it; `upgrade` carries the other end away. */
export function acceptSocket(ctx, tagLines, attachment) {
  const { 0: client, 1: server } = new WebSocketPair();
  ctx.acceptWebSocket(server, tagLines === "" ? [] : tagLines.split("\n"));
  if (attachment !== undefined) server.serializeAttachment(attachment);
  return [server, new Response(null, { status: 101, webSocket: client })];
}

/** Lets the platform answer pings without waking the object. */
export function answerPings(ctx, ping, pong) {
  ctx.setWebSocketAutoResponse(new WebSocketRequestResponsePair(ping, pong));
}

/** When the platform last answered a ping on this socket, in ms since the epoch; undefined: never. */
export function lastPing(ctx, socket) {
  return ctx.getWebSocketAutoResponseTimestamp(socket)?.getTime();
}

/** A socket's attachment where it is text. */
export function attachment(socket) {
  const value = socket.deserializeAttachment();
  return typeof value === "string" ? value : undefined;
}

/** Sends a frame to every open socket with the tag, and tells how many took it. */
export function broadcast(ctx, tag, frame) {
  let reached = 0;
  for (const socket of ctx.getWebSockets(tag)) {
    try {
      socket.send(frame);
      reached += 1;
    } catch {
      // Closed in the meantime: its watcher resubscribes.
    }
  }
  return reached;
}
