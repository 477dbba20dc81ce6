// How mails belong together: the identification fields of RFC 5322 §3.6.4.

/** A Message-ID that the plane takes as a provider's id: visible ASCII, within its bound. */
const MESSAGE_ID = /<[!-;=?-~]{1,500}>/g;

/** The longest value of a header that Email Service sends, in bytes. */
const MAX_HEADER_BYTES = 2048;

/** The Message-IDs that a header's value lists, in order. */
export function messageIdsIn(value) {
  return (value ?? "").match(MESSAGE_ID) ?? [];
}

/**
 * The place of a mail in its conversation.
 *
 * @param {Headers} headers
 * @returns {{ messageId: string | undefined, replyTo: string | undefined, root: string | undefined, references: string[] }}
 *   `replyTo` is the one mail that this one directly answers: what its `In-Reply-To` says, and never what `References`
 *   does, which only tells the conversation. `root` is the mail that began it.
 */
export function threadOf(headers) {
  const [messageId] = messageIdsIn(headers.get("message-id"));
  const answered = messageIdsIn(headers.get("in-reply-to"));
  const references = messageIdsIn(headers.get("references"));
  return {
    messageId,
    replyTo: answered.length === 1 ? answered[0] : undefined,
    root: references[0] ?? answered[0] ?? messageId,
    references,
  };
}

/** The `References` of an answer: the conversation's root, and as many of the latest mails as there is room for. */
export function referencesTo(messageId, references) {
  const [root, ...later] = references.filter((each) => each !== messageId);
  const kept = [messageId];
  let length = messageId.length + (root === undefined ? 0 : root.length + 1);
  for (const each of later.reverse()) {
    length += each.length + 1;
    if (length > MAX_HEADER_BYTES) break;
    kept.unshift(each);
  }
  return (root === undefined ? kept : [root, ...kept]).join(" ");
}
