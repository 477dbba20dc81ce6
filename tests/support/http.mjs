// Requests exactly as a test spells them: no header is added, no connection is shared, nothing is retried.

import http from "node:http";

/**
 * Every server under test refuses a longer body by its Content-Length, and then closes: what is still on its way is
 * answered by a reset, which can overtake the refusal. So no more than the head of such a request is sent; a server
 * that waits for the rest makes its test fail by the time limit.
 */
const SENT_BODY_BYTES = 1024 * 1024;

/**
 * @typedef {object} Answer
 * @property {number} status
 * @property {http.IncomingHttpHeaders} headers
 * @property {string} text the body
 * @property {any} json the body's value; undefined where it is no JSON
 */

/**
 * @typedef {object} RequestOptions
 * @property {string} [token] goes out as a bearer token
 * @property {Record<string, string>} [headers]
 * @property {unknown} [body] a string or bytes as they are; anything else as JSON
 * @property {number} [timeoutMs] for the whole answer
 */

/**
 * Starts a request and gives the response once its headers are there.
 *
 * @param {string} url
 * @param {string} method
 * @param {RequestOptions} [options]
 * @returns {Promise<{ request: http.ClientRequest, response: http.IncomingMessage }>}
 */
export function begin(url, method, { token, headers = {}, body, timeoutMs = 20_000 } = {}) {
  const fields = { ...headers };
  if (token !== undefined) fields.authorization ??= `Bearer ${token}`;
  let bytes = body;
  if (body !== undefined && typeof body !== "string" && !(body instanceof Uint8Array)) {
    bytes = JSON.stringify(body);
    fields["content-type"] ??= "application/a2a+json";
  }
  return new Promise((resolve, reject) => {
    const request = http.request(url, { method, headers: fields, agent: false });
    const timer = setTimeout(() => {
      request.destroy(new Error(`no answer to ${method} ${url} within ${timeoutMs} ms`));
    }, timeoutMs);
    request.on("error", (error) => {
      clearTimeout(timer);
      reject(error);
    });
    request.on("response", (response) => {
      clearTimeout(timer);
      resolve({ request, response });
    });
    const length = bytes === undefined ? 0 : Buffer.byteLength(bytes);
    if (length <= SENT_BODY_BYTES) return request.end(bytes);
    request.setHeader("content-length", length);
    request.flushHeaders();
  });
}

/**
 * A request and its whole answer.
 *
 * @param {string} url
 * @param {string} method
 * @param {RequestOptions} [options]
 * @returns {Promise<Answer>}
 */
export async function call(url, method, options) {
  const { response } = await begin(url, method, options);
  const chunks = [];
  for await (const chunk of response) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString("utf8");
  return { status: response.statusCode ?? 0, headers: response.headers, text, json: parsed(text) };
}

/** The JSON value of a text; undefined where it has none. */
export function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
