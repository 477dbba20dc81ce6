// Mails as mail programs write them (RFC 5322, RFC 2045).

import { randomBytes } from "node:crypto";

const CRLF = "\r\n";

/** A Message-ID of its own. */
export function newMessageId(domain = "mail.example.com") {
  return `<${randomBytes(12).toString("hex")}@${domain}>`;
}

/**
 * The raw bytes of a mail in plain text.
 *
 * @param {object} mail
 * @param {string} mail.from
 * @param {string} mail.to
 * @param {string} [mail.subject]
 * @param {string} [mail.text]
 * @param {string} [mail.messageId] none with `null`
 * @param {string} [mail.inReplyTo]
 * @param {string[]} [mail.references]
 * @param {Record<string, string>} [mail.headers] more of them
 * @param {string} [mail.body] the MIME body, with its headers in `headers`, instead of `text`
 */
export function mailOf({
  from,
  to,
  subject = "A question",
  text = "Hello.",
  messageId,
  inReplyTo,
  references,
  headers,
  body,
}) {
  const fields = [
    ["Received", "from mx.example.com by mx.cloudflare.net with ESMTPS; Tue, 1 Dec 2026 00:00:00 +0000"],
    ["From", from],
    ["To", to],
    ["Subject", subject],
    ["Date", "Tue, 1 Dec 2026 00:00:00 +0000"],
    ...(messageId === null ? [] : [["Message-ID", messageId ?? newMessageId()]]),
    ...(inReplyTo === undefined ? [] : [["In-Reply-To", inReplyTo]]),
    ...(references === undefined ? [] : [["References", references.join(`${CRLF} `)]]),
    ["MIME-Version", "1.0"],
    ...Object.entries(headers ?? { "Content-Type": "text/plain; charset=utf-8" }),
  ];
  const head = fields.map(([name, value]) => `${name}: ${value}`).join(CRLF);
  return Buffer.from(`${head}${CRLF}${CRLF}${body ?? text}${CRLF}`, "utf8");
}

/** A multipart body and its headers, from parts that are each headers and content. */
export function multipart(type, parts) {
  const boundary = "=_boundary-0123456789";
  const written = parts.map(({ headers, content }) => {
    const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
    return [`--${boundary}`, ...head, "", content].join(CRLF);
  });
  return {
    headers: { "Content-Type": `multipart/${type}; boundary="${boundary}"` },
    body: [...written, `--${boundary}--`].join(CRLF),
  };
}
