// Digests and ids: how content gets one name, whoever writes it down.

/**
 * RFC 8785 canonical JSON. Keys are sorted by UTF-16 code units, which is how JavaScript compares strings, and numbers and
 * strings are written as ECMAScript writes them, which is what the RFC prescribes.
 *
 * @param {unknown} value plain JSON; a lone surrogate, which JSON text can't carry safely, is replaced
 * @returns {string}
 */
export function canonicalJson(value) {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (value !== null && typeof value === "object") {
    const fields = Object.keys(value)
      .filter((key) => value[key] !== undefined)
      .sort()
      .map((key) => `${canonicalJson(key)}:${canonicalJson(value[key])}`);
    return `{${fields.join(",")}}`;
  }
  return JSON.stringify(typeof value === "string" ? value.toWellFormed() : value);
}

/** `sha256:` and the lower-case hex of the SHA-256 over the value's canonical JSON. */
export async function digestOf(value) {
  return `sha256:${await sha256Hex(canonicalJson(value))}`;
}

/** An identifier of the contract for any text: the same for the same text, and no other's. */
export async function identifierOf(text) {
  return `sha256-${await sha256Hex(text)}`;
}

async function sha256Hex(text) {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
