// Another Worker behind a service binding, asked once: it answers in lines, or gives a file.

const DEADLINE = Symbol("deadline");

/** A service binding; undefined where it is absent or something else. */
export function service(env, name) {
  const value = env[name];
  return typeof value?.fetch === "function" ? value : undefined;
}

/** A time by which something must be there. Its timer must be stopped: it would keep an object in memory. */
class Deadline {
  #passed;
  #timer;

  constructor(deadlineMs) {
    this.#passed = new Promise((resolve) => {
      this.#timer = setTimeout(resolve, deadlineMs, DEADLINE);
    });
  }

  /** Resolves with the promise, or to DEADLINE. */
  before(promise) {
    return Promise.race([promise, this.#passed]);
  }

  stop() {
    clearTimeout(this.#timer);
  }
}

/** What a binding has at an absolute path: its bytes, or a string that says what failed; "deadline" where time ran out. */
export async function readFile(binding, path, maxBytes, deadlineMs) {
  const deadline = new Deadline(deadlineMs);
  let reader;
  try {
    const response = await deadline.before(binding.fetch(new Request(`https://assets${path}`, { redirect: "manual" })));
    if (response === DEADLINE) return "deadline";
    reader = response.body?.getReader();
    if (response.status !== 200) return `status ${response.status}`;
    const bytes = new Uint8Array(maxBytes);
    for (let length = 0; ;) {
      const step = (await deadline.before(reader?.read())) ?? { done: true };
      if (step === DEADLINE) return "deadline";
      if (step.done) return bytes.subarray(0, length);
      if (length + step.value.length > maxBytes) return `over ${maxBytes} bytes`;
      bytes.set(step.value, length);
      length += step.value.length;
    }
  } catch (error) {
    return String(error?.message ?? error);
  } finally {
    deadline.stop();
    reader?.cancel().catch(() => {});
  }
}

/**
 * The lines of an answer. One deadline is for asking and the first whole line together, and one for each whole line
 * after it, so that an answer that comes byte by byte gains no time. Each step resolves to the line's bytes, null at the
 * end, or a string that says what failed; "deadline" where the time ran out.
 */
export class LineReader {
  #reader;
  #rest = new Uint8Array();
  #maxLineBytes;
  #firstLine;

  constructor(maxLineBytes) {
    this.#maxLineBytes = maxLineBytes;
  }

  /** Asks, and resolves to undefined, or to a string that says what failed. */
  async ask(binding, path, body, deadlineMs) {
    this.#firstLine = new Deadline(deadlineMs);
    const failure = await this.#begin(binding, path, body);
    if (failure !== undefined) this.close();
    return failure;
  }

  async #begin(binding, path, body) {
    try {
      const request = new Request(`https://executor${path}`, {
        method: "POST",
        headers: { "content-type": "application/json", accept: "application/x-ndjson, application/json" },
        body,
        redirect: "manual",
      });
      const response = await this.#firstLine.before(binding.fetch(request));
      if (response === DEADLINE) return "deadline";
      if (response.status !== 200) {
        response.body?.cancel().catch(() => {});
        return `status ${response.status}`;
      }
      this.#reader = response.body?.getReader();
      return undefined;
    } catch (error) {
      return String(error?.message ?? error);
    }
  }

  async next(deadlineMs) {
    if (!this.#reader) return null;
    const deadline = this.#firstLine ?? new Deadline(deadlineMs);
    this.#firstLine = undefined;
    try {
      return await this.#line(deadline);
    } catch (error) {
      return String(error?.message ?? error);
    } finally {
      deadline.stop();
    }
  }

  async #line(deadline) {
    for (;;) {
      const end = this.#rest.indexOf(10);
      if (end >= 0) {
        const line = this.#rest.slice(0, end);
        this.#rest = this.#rest.slice(end + 1);
        if (line.some((byte) => byte > 32)) return line;
        continue;
      }
      if (this.#rest.length > this.#maxLineBytes) return "a line is too long";
      const step = await deadline.before(this.#reader.read());
      if (step === DEADLINE) return "deadline";
      if (step.done) {
        this.#reader = undefined;
        const line = this.#rest;
        this.#rest = new Uint8Array();
        return line.some((byte) => byte > 32) ? line : null;
      }
      const joined = new Uint8Array(this.#rest.length + step.value.length);
      joined.set(this.#rest);
      joined.set(step.value, this.#rest.length);
      this.#rest = joined;
    }
  }

  /** Nobody reads on. */
  close() {
    this.#firstLine?.stop();
    this.#reader?.cancel().catch(() => {});
    this.#reader = undefined;
  }
}
