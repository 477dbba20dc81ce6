// A stand-in for Cloudflare's Email Service behind a `send_email` binding: what its documentation says of `send()`, its
// errors and the headers that it lets through, with failures to order.

import { randomBytes } from "node:crypto";
import { createServer } from "node:http";

/** Headers that a Worker may set, besides those that begin with X-. */
const ALLOWED_HEADERS = ["in-reply-to", "references", "auto-submitted", "precedence", "list-id", "list-unsubscribe"];

const MAX_HEADER_BYTES = 2048;

/**
 * What becomes of the next mail:
 *   `refuse`  it is refused with this error code, and not sent
 *   `cut`     the call fails without a word; `sent` says whether the mail went out before
 *   `hold`    it goes out, and nobody is told until `proceed` is called
 * @typedef {{ refuse: string } | { cut: true, sent: boolean } | { hold: true }} Order
 */

/** A running stand-in. The binding's side of it is `MAILER`. */
export class EmailService {
  /** The mails that went out, each with the `messageId` that it was given. */
  sent = [];

  #orders = [];
  #held = [];
  #server;

  static async start() {
    const service = new EmailService();
    service.#server = createServer((request, response) => service.#answer(request, response));
    await new Promise((resolve) => service.#server.listen(0, "127.0.0.1", resolve));
    service.url = `http://127.0.0.1:${service.#server.address().port}`;
    return service;
  }

  stop() {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  /** @param {Order} order */
  order(order) {
    this.#orders.push(order);
  }

  /** How many senders wait for the answer to a mail that is held. */
  get held() {
    return this.#held.length;
  }

  /** Tells the senders that wait. */
  proceed() {
    for (const tell of this.#held.splice(0)) tell();
  }

  /** What was sent to this address. */
  to(address) {
    return this.sent.filter((mail) => mail.to === address);
  }

  async #answer(request, response) {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const mail = JSON.parse(Buffer.concat(chunks).toString("utf8"));
    const answer = (status, value) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify(value));
    };
    const wrong = wrongWith(mail);
    if (wrong !== undefined) return answer(400, { code: wrong });
    const order = this.#orders.shift() ?? {};
    if (order.refuse) return answer(400, { code: order.refuse });
    if (order.cut) {
      if (order.sent) this.#send(mail);
      return request.socket.destroy();
    }
    const { messageId } = this.#send(mail);
    const tell = () => answer(200, { messageId });
    if (order.hold) this.#held.push(tell);
    else tell();
  }

  /** The service gives each mail its Message-ID. */
  #send(mail) {
    const sent = { ...mail, messageId: `<${randomBytes(18).toString("hex")}@send.example.net>` };
    this.sent.push(sent);
    return sent;
  }
}

function wrongWith({ from, to, subject, text, headers }) {
  if (![from, to, subject, text].every((field) => typeof field === "string" && field !== "")) return "E_FIELD_MISSING";
  for (const [name, value] of Object.entries(headers ?? {})) {
    const lower = name.toLowerCase();
    if (!lower.startsWith("x-") && !ALLOWED_HEADERS.includes(lower)) return "E_HEADER_NOT_ALLOWED";
    if (value === "" || /[\r\n]/.test(value)) return "E_HEADER_VALUE_INVALID";
    if (Buffer.byteLength(value) > MAX_HEADER_BYTES) return "E_HEADER_VALUE_TOO_LONG";
  }
  return undefined;
}

/** The text of the function that stands in for a binding, inside a Worker: it passes each mail to the service. */
export const MAILER = `
function mailerAt(url) {
  return {
    async send(mail) {
      const response = await fetch(url, { method: "POST", body: JSON.stringify(mail) });
      const answer = await response.json();
      if (response.ok) return answer;
      throw Object.assign(new Error("the mail was refused"), answer);
    },
  };
}
`;
