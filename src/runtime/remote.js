// Requests to remote agents: one bounded exchange, or a stream of server-sent events. No redirect is followed: what is
// sent is for that server alone.

const VALIDITY = ["cache-control", "age", "expires", "etag", "last-modified"];

function headersOf(headerLines) {
  return headerLines
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1)]);
}

/**
 * Resolves to `[status, bytes, cache-control, age, expires, etag, last-modified]`, or to a string that says what failed:
 * "deadline" where not all of it came in time, "large" where it is longer than asked for, "failed".
 */
export async function exchange(method, url, headerLines, body, maxBytes, deadlineMs) {
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), deadlineMs);
  try {
    const response = await fetch(url, {
      method,
      headers: headersOf(headerLines),
      body,
      redirect: "manual",
      signal: abort.signal,
    });
    const bytes = await whole(response, maxBytes);
    if (!bytes) return "large";
    return [response.status, bytes, ...VALIDITY.map((name) => response.headers.get(name) ?? undefined)];
  } catch {
    return abort.signal.aborted ? "deadline" : "failed";
  } finally {
    clearTimeout(timer);
  }
}

async function whole(response, maxBytes) {
  const chunks = [];
  let length = 0;
  const reader = response.body?.getReader();
  for (;;) {
    const step = (await reader?.read()) ?? { done: true };
    if (step.done) break;
    length += step.value.length;
    if (length > maxBytes) {
      reader.cancel().catch(() => {});
      return undefined;
    }
    chunks.push(step.value);
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}

const SILENT = Symbol("silent");
const LF = 10;
const CR = 13;

/** The data of a stream's events, in order. Each byte is looked at once, however the stream is cut into chunks. */
export class EventReader {
  #abort = new AbortController();
  #reader;
  #pending;
  #maxBytes;
  /** What has come and is not read yet, from `#at` on. */
  #chunk = new Uint8Array(0);
  #at = 0;
  /** The line that has begun: the first `#length` bytes of a buffer that grows by doubling. */
  #line = new Uint8Array(256);
  #length = 0;
  /** The last line ended with a carriage return: a line feed that follows belongs to it. */
  #isReturned = false;
  /** The lines of the event's data, and their bytes. */
  #data = [];
  #dataBytes = 0;

  constructor(maxBytes) {
    this.#maxBytes = maxBytes;
  }

  /** Resolves to undefined, or to a string that says what failed; `status N` where it was refused. */
  async open(url, headerLines, deadlineMs) {
    const timer = setTimeout(() => this.#abort.abort(), deadlineMs);
    try {
      const response = await fetch(url, {
        headers: headersOf(headerLines),
        redirect: "manual",
        signal: this.#abort.signal,
      });
      const type = (response.headers.get("content-type") ?? "").toLowerCase();
      if (response.status === 200 && type.startsWith("text/event-stream") && response.body) {
        this.#reader = response.body.getReader();
        return undefined;
      }
      this.close();
      return `status ${response.status === 200 ? 406 : response.status}`;
    } catch {
      return this.#abort.signal.aborted ? "deadline" : "failed";
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * Resolves to `[data]` of the next event, to `[]` where none came whole within the time though the stream lives, or to
   * a string: "end", "silent", "large", "failed".
   */
  async next(waitMs) {
    let lives = false;
    let isOver = false;
    let giveUp;
    const timer = setTimeout(() => {
      isOver = true;
      giveUp?.(SILENT);
    }, waitMs);
    try {
      for (;;) {
        const data = this.#event();
        if (data !== undefined) return [data];
        if (this.#isLarge()) return "large";
        this.#pending ??= this.#reader.read();
        // Not a race: what races with each chunk in turn would remember them all.
        const step = await new Promise((resolve, reject) => {
          giveUp = resolve;
          this.#pending.then(resolve, reject);
          if (isOver) resolve(SILENT);
        });
        if (step === SILENT) return lives ? [] : "silent";
        this.#pending = undefined;
        if (step.done) return "end";
        lives = true;
        this.#chunk = step.value;
        this.#at = 0;
      }
    } catch {
      return "failed";
    } finally {
      clearTimeout(timer);
    }
  }

  #isLarge() {
    return this.#length + this.#dataBytes > this.#maxBytes;
  }

  /** The data of the next whole event that has some, as the HTML standard reads lines. */
  #event() {
    while (this.#at < this.#chunk.length && !this.#isLarge()) {
      let end = this.#at;
      while (end < this.#chunk.length && this.#chunk[end] !== LF && this.#chunk[end] !== CR) end += 1;
      this.#keep(this.#chunk.subarray(this.#at, end));
      this.#at = end + 1;
      if (end === this.#chunk.length) break;
      const isSecondHalf = this.#isReturned && this.#length === 0 && this.#chunk[end] === LF;
      this.#isReturned = this.#chunk[end] === CR;
      const data = isSecondHalf ? "" : this.#takeLine();
      if (data) return data;
    }
    return undefined;
  }

  #keep(bytes) {
    const length = this.#length + bytes.length;
    if (length > this.#line.length) {
      const grown = new Uint8Array(Math.max(length, 2 * this.#line.length));
      grown.set(this.#line.subarray(0, this.#length));
      this.#line = grown;
    }
    this.#line.set(bytes, this.#length);
    this.#length = length;
  }

  /** Takes a whole line in. Gives the event's data where it ends an event that has some. */
  #takeLine() {
    const line = new TextDecoder().decode(this.#line.subarray(0, this.#length));
    this.#length = 0;
    if (line === "") {
      const data = this.#data.join("\n");
      this.#data = [];
      this.#dataBytes = 0;
      return data;
    }
    if (line.startsWith("data:")) {
      const value = line.slice(line[5] === " " ? 6 : 5);
      this.#data.push(value);
      this.#dataBytes += value.length + 1;
    }
    return undefined;
  }

  /** Nobody reads on. */
  close() {
    this.#abort.abort();
  }
}

/** `[name, value, name, value, …]` of the text variables whose names begin so, in any case. */
export function variablesNamed(env, prefix) {
  return Object.keys(env)
    .filter((name) => name.toUpperCase().startsWith(prefix) && typeof env[name] === "string")
    .flatMap((name) => [name, env[name]]);
}
