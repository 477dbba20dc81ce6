// The answer to a mail: one mail to its sender, in its thread, sent at most once.

import { answerOf } from "../answer.mjs";
import { Refused } from "../task-plane.mjs";
import { referencesTo } from "./thread.mjs";

/** The longest text of an answer, in characters. */
const MAX_CHARACTERS = 200_000;

/** Refusals of Email Service that pass, or that an operator mends: a limit, or a domain that is not set up yet. */
const REFUSED_FOR_NOW = [
  "E_RATE_LIMIT_EXCEEDED",
  "E_DAILY_LIMIT_EXCEEDED",
  "E_SENDER_NOT_VERIFIED",
  "E_SENDER_DOMAIN_NOT_AVAILABLE",
];

/** Its failures that don't say whether the mail is on its way. */
const IN_DOUBT = ["E_DELIVERY_FAILED", "E_INTERNAL_SERVER_ERROR"];

/**
 * Delivers a task's answer, or its question, as a mail.
 *
 * Email Service takes no idempotency key, and can't be asked for a mail that it may have sent. So a lost answer is
 * ambiguous: it is never sent again, and a person finds out. Each mail carries its delivery's id as `X-A2A-Delivery`.
 * The service gives each mail its Message-ID, and says which: the anchor of the mail that answers it.
 *
 * @param {import("../task-plane.mjs").TaskPlane} plane
 * @param {{ send: (mail: object) => Promise<{ messageId: string }> }} mailer the `send_email` binding
 * @param {any} task
 * @param {{ nativeLocator: Record<string, string> }} origin
 * @param {string} operationId
 */
export function replyByMail(plane, mailer, task, origin, operationId) {
  const { from, to } = origin.nativeLocator;
  const last = lastMailOf(task) ?? { messageId: origin.nativeLocator.messageId, subject: "", references: [] };
  const mail = {
    from: to,
    to: from,
    subject: subjectOf(last.subject),
    text: textOf(task),
    headers: {
      "In-Reply-To": last.messageId,
      References: referencesTo(last.messageId, last.references),
      // Answering machines leave it alone.
      "Auto-Submitted": "auto-replied",
    },
  };
  return plane.deliver({
    taskId: task.id,
    operationId,
    payload: mail,
    recovery: "AMBIGUOUS",
    send: (deliveryId) => sent(mailer, { ...mail, headers: { ...mail.headers, "X-A2A-Delivery": deliveryId } }),
  });
}

async function sent(mailer, mail) {
  try {
    const { messageId } = await mailer.send(mail);
    return messageId;
  } catch (error) {
    const code = String(error?.code ?? "");
    if (!code.startsWith("E_") || IN_DOUBT.includes(code)) throw error;
    throw new Refused(`${code}: ${error.message}`, { isFinal: !REFUSED_FOR_NOW.includes(code) });
  }
}

/** The latest mail that the task was told of, as its activation describes it. */
function lastMailOf(task) {
  for (const message of (task.history ?? []).toReversed()) {
    const email = message.parts?.[0]?.metadata?.email;
    if (message.role === "ROLE_USER" && typeof email?.messageId === "string") return email;
  }
  return undefined;
}

function textOf(task) {
  const text = answerOf(task, MAX_CHARACTERS);
  const isQuestion = task.status.state === "TASK_STATE_INPUT_REQUIRED";
  return isQuestion ? `${text}\n\n-- \nAnswer by replying to this mail.\n` : `${text}\n`;
}

function subjectOf(subject) {
  if (subject === "") return "Re: your mail";
  return /^re:/i.test(subject) ? subject : `Re: ${subject}`;
}
