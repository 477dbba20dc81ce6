// One keep-alive HTTP/1.1 connection, one request at a time. It knows only what the benchmark's servers send, so that
// the load generator costs as little as it can.

import net from "node:net";

/** A stream's event: one line of data, then an empty one. */
const EVENT = /\ndata: [^\n]*\n\r?\n/;

/**
 * @typedef {object} Answer
 * @property {number} status
 * @property {string} body
 */

export class Connection {
  #socket;
  /** What has arrived and is not used yet. */
  #received = "";
  #onData = () => {};
  #onLost = () => {};
  /** Why nothing more will come. @type {Error | undefined} */
  #lost;

  /** @param {string} host @param {number} port @returns {Promise<Connection>} */
  static async open(host, port) {
    const socket = net.connect({ host, port, noDelay: true });
    await new Promise((resolve, reject) => {
      socket.once("connect", resolve);
      socket.once("error", reject);
    });
    return new Connection(socket);
  }

  /** @param {net.Socket} socket */
  constructor(socket) {
    this.#socket = socket;
    socket.setEncoding("latin1");
    socket.on("data", (text) => {
      this.#received += text;
      this.#onData();
    });
    const lost = (error) => {
      this.#lost ??= error ?? new Error("the server closed the connection");
      this.#onLost(this.#lost);
    };
    socket.on("error", lost);
    socket.on("close", () => lost());
  }

  /**
   * Sends a request and waits for its whole answer.
   * @param {string} request head and body, ASCII
   * @returns {Promise<Answer>}
   */
  exchange(request) {
    this.#received = "";
    this.#socket.write(request, "latin1");
    return this.#until(() => wholeAnswer(this.#received));
  }

  /**
   * Sends a request whose answer is a stream, and waits for its first event.
   * @param {string} request
   */
  async openStream(request) {
    this.#received = "";
    this.#socket.write(request, "latin1");
    await this.nextEvent();
  }

  /** Waits for the stream's next event; comments are none. */
  async nextEvent() {
    this.#received = await this.#until(() => {
      if (this.#received.startsWith("HTTP/1.1 ") && !this.#received.startsWith("200", 9)) {
        throw new Error(`no stream but:\n${this.#received}`);
      }
      const event = EVENT.exec(this.#received);
      return event ? this.#received.slice(event.index + event[0].length) : undefined;
    });
  }

  close() {
    this.#onLost = () => {};
    this.#socket.destroy();
  }

  /** @template T @param {() => T | undefined} attempt @returns {Promise<T>} */
  #until(attempt) {
    return new Promise((resolve, reject) => {
      this.#onLost = reject;
      if (this.#lost) reject(this.#lost);
      this.#onData = () => {
        try {
          const outcome = attempt();
          if (outcome === undefined) return;
          this.#onData = () => {};
          resolve(outcome);
        } catch (error) {
          reject(error);
        }
      };
      this.#onData();
    });
  }
}

/** The answer, once all of it is there. @param {string} text @returns {Answer | undefined} */
function wholeAnswer(text) {
  const headEnd = text.indexOf("\r\n\r\n");
  if (headEnd < 0) return undefined;
  if (text.startsWith("204", 9)) return { status: 204, body: "" };
  const length = /\r\ncontent-length: *(\d+)/i.exec(text.slice(0, headEnd));
  if (!length) throw new Error(`an answer without a length:\n${text.slice(0, headEnd)}`);
  const bodyEnd = headEnd + 4 + Number(length[1]);
  if (text.length < bodyEnd) return undefined;
  return { status: Number(text.slice(9, 12)), body: text.slice(headEnd + 4, bodyEnd) };
}
