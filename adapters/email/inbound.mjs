// A mail that came in: it becomes a task, or goes on with one, or is counted.
//
// What this function returns from has been dealt with: the platform then tells the sending server that the mail was taken.
// What it throws is a temporary failure, and the sending server keeps the mail and tries again. `setReject` is for good.

import { identifierOf } from "../digest.mjs";
import { TaskPlaneError } from "../task-plane.mjs";
import { automatismOf } from "./automatic.mjs";
import { contentOf } from "./content.mjs";
import { isAllowed } from "./settings.mjs";
import { threadOf } from "./thread.mjs";

/** The largest mail that is read, in bytes. Routing takes up to 25 MiB, which would not fit a Worker's memory parsed. */
const MAX_MAIL_BYTES = 10 * 1024 * 1024;

/** Mails that may pass on to a locator: the plane's bound of one of its values, in characters. */
const MAX_ADDRESS_CHARACTERS = 320;

/**
 * @param {ForwardableEmailMessage} message
 * @param {{ allowedSenders: string[], forwardTo?: string }} settings
 * @param {import("../task-plane.mjs").TaskPlane} plane
 * @param {() => Promise<void>} declared resolves when the plane knows how this source's tasks are continued
 */
export async function receive(message, settings, plane, declared) {
  const automatism = automatismOf(message);
  if (automatism !== undefined) {
    await counted(plane, "AUTOMATIC_MAIL", automatism);
    if (settings.forwardTo !== undefined) await message.forward(settings.forwardTo);
    return;
  }
  const thread = threadOf(message.headers);
  if (thread.messageId === undefined) return message.setReject("A Message-ID is required");
  if (message.rawSize > MAX_MAIL_BYTES)
    return message.setReject(`Mails of up to ${MAX_MAIL_BYTES} bytes are read here`);
  if (message.from.length > MAX_ADDRESS_CHARACTERS) return message.setReject("The sender's address is too long");

  const raw = await new Response(message.raw).arrayBuffer();
  // A mail that can't be read can't be read next time either.
  const content = await contentOf(raw).catch((error) => log({ event: "unreadable", reason: String(error?.message) }));
  if (content === undefined) return message.setReject("This mail can't be read");
  // Both must be allowed: answers go to the envelope's sender, and the header's is who is believed to have written.
  if (![message.from, content.author ?? ""].every((address) => isAllowed(settings.allowedSenders, address))) {
    await counted(plane, "SENDER_NOT_ALLOWED", "SENDER_NOT_ALLOWED");
    return message.setReject("This address takes no mail from you");
  }

  await declared();
  try {
    const accepted = await plane.accept(await eventOf(message, thread, content));
    log({ event: "accepted", ...accepted });
  } catch (error) {
    log({ event: "not_accepted", reason: String(error?.message ?? error) });
    if (isOfTheMail(error)) return message.setReject(`This mail can't be taken: ${error.reason}`);
    throw error;
  }
}

/** The activation. One mail to two of the agent's addresses is two events. */
async function eventOf(message, { messageId, replyTo, root, references }, { subject, parts }) {
  const event = await identifierOf(`${messageId}\n${message.to.toLowerCase()}`);
  const [first, ...rest] = parts;
  return {
    providerEventId: event,
    dedupeKey: event,
    conversationKey: await identifierOf(root),
    nativeLocator: { messageId, from: message.from, to: message.to },
    receivedAt: new Date(),
    // What an answer needs to be one in the same thread.
    parts: [{ ...first, metadata: { email: { messageId, subject, references } } }, ...rest],
    replyTo,
  };
}

/** Whether the plane refused this very mail, so that sending it again is no use: its content, or its id used twice. */
function isOfTheMail(error) {
  if (!(error instanceof TaskPlaneError)) return false;
  return ["INVALID_REQUEST", "DUPLICATE_MESSAGE_ID", "PAYLOAD_TOO_LARGE"].includes(error.reason);
}

/** Counts a mail that becomes no task. That it isn't counted is no reason to send it again. */
async function counted(plane, kind, reason) {
  try {
    await plane.count(reason, kind, { reason });
  } catch (error) {
    log({ event: "not_counted", reason: String(error?.message ?? error) });
  }
}

function log(fields) {
  console.log(JSON.stringify(fields));
}
