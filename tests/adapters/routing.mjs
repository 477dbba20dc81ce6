// Email Routing's side of the `email` handler, inside a Worker: the message object that its documentation describes.

import PostalMime from "postal-mime";

/**
 * The message that a request brings: the envelope in its query, the raw mail in its body.
 *
 * @param {Request} request
 */
export async function parseEmail(request) {
  const raw = await request.arrayBuffer();
  const { headers } = await PostalMime.parse(raw);
  const envelope = new URL(request.url).searchParams;
  /** @type {{ rejected?: string, forwarded: string[], thrown?: string }} */
  const outcome = { forwarded: [] };
  const message = {
    from: envelope.get("from"),
    to: envelope.get("to"),
    headers: new Headers(headers.map(({ key, value }) => [key, value.replace(/\s+/g, " ")])),
    raw: new Response(raw).body,
    rawSize: raw.byteLength,
    canBeForwarded: true,
    setReject(reason) {
      outcome.rejected = reason;
    },
    async forward(address) {
      outcome.forwarded.push(address);
    },
  };
  return { message, outcome };
}
