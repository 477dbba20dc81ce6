// The reply to an event: one comment under its issue or pull request, made once.

import { answerOf } from "../answer.mjs";

/** The longest text of a reply, in characters. GitHub takes 65,536 with the marker. */
const MAX_CHARACTERS = 60_000;

/** How a marker begins. No text of an agent's may begin one. */
const MARKER = "<!-- a2a-delivery:";

/** How much earlier than its own event a comment may be, by GitHub's clock, in milliseconds. */
const CLOCK_SKEW_MS = 60 * 60 * 1000;

/**
 * Delivers a task's answer as a comment. The comment ends with a line that GitHub doesn't show and that names the delivery,
 * so that a comment whose answer was lost is found instead of made again.
 *
 * @param {import("../task-plane.mjs").TaskPlane} plane
 * @param {import("./api.mjs").GitHub} github
 * @param {any} task
 * @param {{ nativeLocator: Record<string, string>, receivedAt: string }} origin
 * @param {string} operationId
 */
export function replyByComment(plane, github, task, origin, operationId) {
  const { owner, repo, number } = origin.nativeLocator;
  const place = { owner, repo, number };
  const text = answerOf(task, MAX_CHARACTERS).replaceAll(MARKER, "<!-- ");
  const since = new Date(Date.parse(origin.receivedAt) - CLOCK_SKEW_MS);
  return plane.deliver({
    taskId: task.id,
    operationId,
    payload: { place, text },
    recovery: "LOOKUP",
    send: (deliveryId) => github.comment(place, `${text}\n\n${markerOf(deliveryId)}`, isMarked(deliveryId), since),
    lookUp: (deliveryId) => github.find(place, isMarked(deliveryId), since),
  });
}

function markerOf(deliveryId) {
  return `${MARKER}${deliveryId} -->`;
}

/** A comment whose last line is exactly the delivery's marker. */
function isMarked(deliveryId) {
  const marker = markerOf(deliveryId);
  return ({ body }) => body.trimEnd().split(/\r?\n/).at(-1) === marker;
}
