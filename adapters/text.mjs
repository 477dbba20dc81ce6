// Text within bounds, cut between characters.

const encoder = new TextEncoder();

/**
 * The text's beginning, in at most so many bytes of UTF-8. What no text may hold is taken out: lone surrogates, and control
 * characters other than tabs and line breaks.
 */
export function beginning(text, maxBytes) {
  const clean = text.toWellFormed().replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g, " ");
  const { read } = encoder.encodeInto(clean, new Uint8Array(maxBytes));
  return clean.slice(0, read);
}

/** The same in one line. */
export function line(text, maxBytes) {
  return beginning(text.replace(/\s+/g, " ").trim(), maxBytes);
}
