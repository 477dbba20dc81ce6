// A stand-in for api.github.com: the issue comments of its REST API, with GitHub's paging and its errors, and with
// failures to order.

import { createServer } from "node:http";

const COMMENTS = /^\/repos\/([^/]+)\/([^/]+)\/issues\/(\d+)\/comments$/;

/**
 * What becomes of the next request to make a comment:
 *   `refuse`  it is answered with a status, and nothing is made
 *   `cut`     the connection breaks without an answer; `made` says whether the comment was made before, or is made later,
 *             when `proceed` is called
 *   `hold`    it is made only when `proceed` is called; the answer is lost if nobody waits for it by then
 * @typedef {{ refuse: number } | { cut: true, made: boolean | "later" } | { hold: true }} Order
 */

/** A running stand-in. */
export class GitHubApi {
  /** The comments of all issues, in the order of their making. */
  comments = [];

  /** What came in, as `METHOD /path?query`. */
  requests = [];

  #orders = [];
  #held = [];
  #nextId = 3_000_000_001;
  #server;

  /**
   * @param {string} token what must be sent
   * @param {string} login whose it is
   */
  static async start(token, login) {
    const api = new GitHubApi();
    api.token = token;
    api.login = login;
    api.#server = createServer((request, response) => api.#answer(request, response));
    await new Promise((resolve) => api.#server.listen(0, "127.0.0.1", resolve));
    api.url = `http://127.0.0.1:${api.#server.address().port}`;
    return api;
  }

  stop() {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  /** @param {Order} order */
  order(order) {
    this.#orders.push(order);
  }

  /** How many requests to make a comment are held. */
  get held() {
    return this.#held.length;
  }

  /** Makes the comments that are held. */
  proceed() {
    for (const make of this.#held.splice(0)) make();
  }

  /** The comments of one issue. */
  of(number) {
    return this.comments.filter((each) => each.number === number);
  }

  /** A comment that somebody else makes, or that was there before. */
  add(number, body, login = "octocat") {
    const comment = {
      number,
      id: this.#nextId++,
      body,
      user: { login },
      created_at: new Date().toISOString(),
      updated_at: new Date().toISOString(),
    };
    this.comments.push(comment);
    return comment;
  }

  async #answer(request, response) {
    this.requests.push(`${request.method} ${request.url}`);
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const answer = (status, value, headers = {}) => {
      response.writeHead(status, { "content-type": "application/json; charset=utf-8", ...headers });
      response.end(JSON.stringify(value));
    };
    const { authorization, "user-agent": agent, accept } = request.headers;
    if (!agent) return answer(403, { message: "Request forbidden by administrative rules." });
    if (authorization !== `Bearer ${this.token}`) return answer(401, { message: "Bad credentials" });
    if (accept !== "application/vnd.github+json") return answer(415, { message: "Unsupported media type" });
    const url = new URL(request.url, this.url);
    const number = Number(COMMENTS.exec(url.pathname)?.[3]);
    if (!number) return answer(404, { message: "Not Found" });
    if (request.method === "GET") return this.#list(url, number, answer);
    if (request.method !== "POST") return answer(404, { message: "Not Found" });

    const { body } = JSON.parse(Buffer.concat(chunks).toString("utf8"));
    if (typeof body !== "string" || body.length > 65_536) return answer(422, { message: "Validation Failed" });
    const order = this.#orders.shift() ?? {};
    if (order.refuse) return answer(order.refuse, { message: `ordered ${order.refuse}` });
    if (order.cut) {
      const make = () => this.add(number, body, this.login);
      if (order.made === "later") this.#held.push(make);
      else if (order.made) make();
      return request.socket.destroy();
    }
    const make = () => answer(201, this.add(number, body, this.login));
    if (order.hold) this.#held.push(make);
    else make();
  }

  #list(url, number, answer) {
    const perPage = Math.min(Number(url.searchParams.get("per_page") ?? 30), 100);
    const page = Number(url.searchParams.get("page") ?? 1);
    const since = Date.parse(url.searchParams.get("since") ?? "1970-01-01T00:00:00Z");
    const all = this.of(number).filter((each) => Date.parse(each.updated_at) >= since);
    const last = Math.max(1, Math.ceil(all.length / perPage));
    const link = (to, rel) => {
      const next = new URL(url);
      next.searchParams.set("page", String(to));
      return `<${next}>; rel="${rel}"`;
    };
    const links = [
      ...(page > 1 ? [link(page - 1, "prev"), link(1, "first")] : []),
      ...(page < last ? [link(page + 1, "next"), link(last, "last")] : []),
    ];
    answer(200, all.slice((page - 1) * perPage, page * perPage), links.length > 0 ? { link: links.join(", ") } : {});
  }
}
