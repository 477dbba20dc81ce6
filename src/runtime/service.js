// Another Worker behind a service binding, asked once and answering in lines.

const DEADLINE = Symbol("deadline");

/** A service binding; undefined where it is absent or something else. */
export function service(env, name) {
  const value = env[name];
  return typeof value?.fetch === "function" ? value : undefined;
}

/** Resolves with the promise, or to DEADLINE. The timer never outlives the wait. */
function before(deadlineMs, promise) {
  let timer;
  const deadline = new Promise((resolve) => {
    timer = setTimeout(resolve, deadlineMs, DEADLINE);
  });
  return Promise.race([promise, deadline]).finally(() => clearTimeout(timer));
}

/**
 * The lines of an answer. Each step resolves to the line's bytes, null at the end, or a string that says what failed;
 * "deadline" where the time ran out.
 */
export class LineReader {
  #reader;
  #rest = new Uint8Array();
  #maxLineBytes;

  constructor(maxLineBytes) {
    this.#maxLineBytes = maxLineBytes;
  }

  /** Asks, and resolves to undefined, or to a string that says what failed. */
  async ask(binding, path, body, deadlineMs) {
    try {
      const request = new Request(`https://executor${path}`, {
        method: "POST",
        headers: { "content-type": "application/json", accept: "application/x-ndjson, application/json" },
        body,
        redirect: "manual",
      });
      const response = await before(deadlineMs, binding.fetch(request));
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
    try {
      for (;;) {
        const end = this.#rest.indexOf(10);
        if (end >= 0) {
          const line = this.#rest.slice(0, end);
          this.#rest = this.#rest.slice(end + 1);
          if (line.some((byte) => byte > 32)) return line;
          continue;
        }
        if (this.#rest.length > this.#maxLineBytes) return "a line is too long";
        const step = await before(deadlineMs, this.#reader.read());
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
    } catch (error) {
      return String(error?.message ?? error);
    }
  }

  /** Nobody reads on. */
  close() {
    this.#reader?.cancel().catch(() => {});
    this.#reader = undefined;
  }
}
