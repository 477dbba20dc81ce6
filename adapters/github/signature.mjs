// Whether a webhook is GitHub's: the HMAC-SHA-256 of its raw body under the secret that both know.

const HEADER = /^sha256=([0-9a-f]{64})$/;

/**
 * Checks `X-Hub-Signature-256`. The comparison is the platform's, which takes as long for a wrong signature as for a right
 * one.
 *
 * @param {string} secret
 * @param {string | null} header
 * @param {Uint8Array} body as it came
 * @returns {Promise<boolean>}
 */
export async function isSigned(secret, header, body) {
  const hex = HEADER.exec(header ?? "")?.[1];
  if (hex === undefined) return false;
  const signature = Uint8Array.from(hex.match(/../g), (byte) => Number.parseInt(byte, 16));
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", new TextEncoder().encode(secret), algorithm, false, ["verify"]);
  return crypto.subtle.verify("HMAC", key, signature, body);
}
