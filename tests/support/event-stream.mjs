// A server-sent event stream, read by the contract and nothing more lenient: each block is `data: {json}` or a comment,
// then a blank line.

import { begin } from "./http.mjs";
import { within } from "./until.mjs";

/** A stream that is open, or has ended. */
export class EventStream {
  /** The decoded stream so far, byte for byte. */
  raw = "";
  /** @type {any[]} every frame so far */
  frames = [];
  comments = 0;
  ended = false;
  #read = 0;
  #pending = "";
  #failure;
  /** @type {Set<() => void>} */
  #waiting = new Set();
  #request;

  /**
   * Opens a stream; fails where the answer is none.
   *
   * @param {string} url
   * @param {string} method
   * @param {import("./http.mjs").RequestOptions} [options]
   */
  static async open(url, method, options) {
    const { request, response } = await begin(url, method, options);
    const type = response.headers["content-type"] ?? "";
    if (response.statusCode !== 200 || !type.startsWith("text/event-stream")) {
      const chunks = [];
      for await (const chunk of response) chunks.push(chunk);
      throw new Error(`no stream but ${response.statusCode} ${type}: ${Buffer.concat(chunks)}`);
    }
    return new EventStream(request, response);
  }

  constructor(request, response) {
    this.#request = request;
    this.headers = response.headers;
    response.setEncoding("utf8");
    response.on("data", (text) => this.#take(text));
    response.on("end", () => this.#end());
    response.on("error", (error) => this.#end(error));
    request.on("error", (error) => this.#end(error));
  }

  /** The next frame that was not yet given; undefined at the stream's end. */
  async next(timeoutMs = 15_000) {
    await within(
      `frame ${this.#read} of a stream`,
      this.#until(() => this.frames.length > this.#read || this.ended),
      timeoutMs,
    );
    if (this.frames.length > this.#read) return this.frames[this.#read++];
    if (this.#failure) throw this.#failure;
    return undefined;
  }

  /** Every frame that was not yet given, once the stream has ended. */
  async rest(timeoutMs = 15_000) {
    await within(
      "the end of a stream",
      this.#until(() => this.ended),
      timeoutMs,
    );
    if (this.#failure) throw this.#failure;
    const frames = this.frames.slice(this.#read);
    this.#read = this.frames.length;
    return frames;
  }

  /** Waits for comment number `count`, counted from the stream's begin. */
  async comment(count, timeoutMs = 15_000) {
    await within(
      `comment ${count} of a stream`,
      this.#until(() => this.comments >= count || this.ended),
      timeoutMs,
    );
  }

  /** Leaves without a word, as a client does that is switched off. */
  abandon() {
    this.#request.destroy();
  }

  async #until(holds) {
    while (!holds()) await new Promise((resolve) => this.#waiting.add(resolve));
  }

  #ring() {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }

  #take(text) {
    this.raw += text;
    this.#pending += text;
    for (;;) {
      const end = this.#pending.indexOf("\n\n");
      if (end < 0) break;
      this.#block(this.#pending.slice(0, end));
      this.#pending = this.#pending.slice(end + 2);
    }
    this.#ring();
  }

  #block(block) {
    if (/^:[^\n]*$/.test(block)) {
      this.comments += 1;
    } else if (/^data: \{[^\n]*\}$/.test(block)) {
      this.frames.push(JSON.parse(block.slice("data: ".length)));
    } else {
      this.#failure = new Error(`not in the contract's format: ${JSON.stringify(block)}`);
    }
  }

  #end(error) {
    if (this.#pending !== "" && !error) error = new Error(`an unfinished block: ${JSON.stringify(this.#pending)}`);
    this.#failure ??= error;
    this.ended = true;
    this.#ring();
  }
}
