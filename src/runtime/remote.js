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

/** The data of a stream's events, in order. */
export class EventReader {
  #abort = new AbortController();
  #reader;
  #decoder = new TextDecoder();
  #rest = "";
  #data = "";
  #pending;
  #maxCharacters;

  constructor(maxCharacters) {
    this.#maxCharacters = maxCharacters;
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
    let timer;
    let lives = false;
    const over = new Promise((resolve) => {
      timer = setTimeout(resolve, waitMs, SILENT);
    });
    try {
      for (;;) {
        const data = this.#event();
        if (data !== undefined) return [data];
        if (this.#rest.length + this.#data.length > this.#maxCharacters) return "large";
        this.#pending ??= this.#reader.read();
        const step = await Promise.race([this.#pending, over]);
        if (step === SILENT) return lives ? [] : "silent";
        this.#pending = undefined;
        if (step.done) return "end";
        lives = true;
        this.#rest += this.#decoder.decode(step.value, { stream: true });
      }
    } catch {
      return "failed";
    } finally {
      clearTimeout(timer);
    }
  }

  /** The data of the next whole event that has some, as the HTML standard reads lines. */
  #event() {
    for (;;) {
      const end = /\r\n|\n|\r(?=[^])/.exec(this.#rest);
      if (!end) return undefined;
      const line = this.#rest.slice(0, end.index);
      this.#rest = this.#rest.slice(end.index + end[0].length);
      if (line === "" && this.#data !== "") {
        const data = this.#data;
        this.#data = "";
        return data;
      }
      if (line.startsWith("data:")) {
        const value = line.slice(line[5] === " " ? 6 : 5);
        this.#data += this.#data === "" ? value : `\n${value}`;
      }
    }
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
