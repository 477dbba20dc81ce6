// A mail's content as A2A Parts: its text, and its attachments as far as there is room.

import PostalMime from "postal-mime";

import { beginning, line } from "../text.mjs";

/** The longest text that is taken, in bytes. JSON writes a line break as two, and still leaves room for attachments. */
const MAX_TEXT_BYTES = 56 * 1024;

/** The room for attachments in base64, in bytes. With the text it stays within a message's 256 KiB. */
const MAX_ATTACHED_BYTES = 140_000;

/** Most attachments that are taken. */
const MAX_ATTACHMENTS = 32;

/** The longest name of a file, in bytes. */
const MAX_FILENAME_BYTES = 200;

/** The longest subject, in bytes. */
const MAX_SUBJECT_BYTES = 500;

/**
 * Parses a mail.
 *
 * @param {ArrayBuffer} raw
 * @returns {Promise<{ author: string | undefined, subject: string, parts: object[] }>} `author` is the address of its
 *   `From`; `parts` are the same for the same bytes
 */
export async function contentOf(raw) {
  const mail = await PostalMime.parse(raw, { attachmentEncoding: "base64", maxNestingDepth: 32 });
  const subject = line(mail.subject ?? "", MAX_SUBJECT_BYTES);
  const notes = [];
  const text = textOf(mail, notes);
  const files = filesOf(mail.attachments, notes);
  const heading = subject === "" ? [] : [`Subject: ${subject}`, ""];
  const said = [...heading, text.text, ...(notes.length > 0 ? ["", ...notes] : [])].join("\n");
  return {
    author: mail.from?.address,
    subject,
    parts: [{ ...text, text: said }, ...files],
  };
}

/** The plain text; the HTML where there is none. */
function textOf(mail, notes) {
  const isPlain = mail.text !== undefined && mail.text.trim() !== "";
  const whole = (isPlain ? mail.text : (mail.html ?? "")).replaceAll("\r\n", "\n").trimEnd();
  const text = beginning(whole, MAX_TEXT_BYTES);
  if (text.length < whole.length) notes.push(`[left out: ${whole.length - text.length} more characters of text]`);
  return { text, mediaType: isPlain || whole === "" ? "text/plain" : "text/html" };
}

function filesOf(attachments, notes) {
  const files = [];
  let room = MAX_ATTACHED_BYTES;
  for (const { filename, mimeType, content } of attachments) {
    const name = line(filename ?? "", MAX_FILENAME_BYTES) || "unnamed";
    const mediaType = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+$/.test(mimeType) ? mimeType : "application/octet-stream";
    const raw = String(content);
    if (raw.length > room || files.length === MAX_ATTACHMENTS) {
      notes.push(`[left out: the attachment ${name}, ${mediaType}, ${Math.floor((raw.length * 3) / 4)} bytes]`);
      continue;
    }
    room -= raw.length;
    files.push({ raw, filename: name, mediaType });
  }
  return files;
}
