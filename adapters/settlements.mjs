// How a source is told that one of its tasks was settled, or asks something: the plane posts it over a service binding.
//
// It is told at least once. A 2xx says that it need not be told again; with anything else the plane comes back.

import { isTold } from "./answer.mjs";
import { TaskPlaneError } from "./task-plane.mjs";

/** The longest notice that is read, in bytes; the plane's have a few hundred. */
const MAX_NOTICE_BYTES = 16_384;

/**
 * Answers the plane's notice of a settlement: reads the task, and hands it to `reply` while it is still as the notice says.
 *
 * @param {Request} request
 * @param {string} source whose notices these are
 * @param {import("./task-plane.mjs").TaskPlane} plane
 * @param {(task: object, origin: object, operationId: string) => Promise<import("./task-plane.mjs").Delivery>} reply
 *   delivers the task's answer under this operation
 * @returns {Promise<Response>}
 */
export async function answerSettlement(request, source, plane, reply) {
  if (request.method !== "POST") return new Response(null, { status: 405, headers: { allow: "POST" } });
  const notice = await noticeOf(request);
  if (notice?.source !== source || typeof notice.taskId !== "string" || typeof notice.state !== "string") {
    return Response.json({ error: `must be a settlement of the source ${source}` }, { status: 400 });
  }
  const { taskId, state } = notice;
  if (!isTold(state)) return told("nothing to tell");
  try {
    const { task, origin } = await plane.task(taskId);
    // A question that was answered meanwhile is not asked any more; what followed has a notice of its own.
    if (task.status.state !== state || origin === undefined) return told("outdated");
    const delivery = await reply(task, origin, operationOf(task));
    log({ event: "reply", taskId, deliveryId: delivery.deliveryId, state: delivery.state });
    return isSettled(delivery) ? told(delivery.state) : later(delivery);
  } catch (error) {
    log({ event: "reply_failed", taskId, reason: String(error?.message ?? error) });
    // Another principal's task, or one past its time, or one whose reply was begun with other content.
    const isFinal = error instanceof TaskPlaneError && ["TASK_NOT_FOUND", "DELIVERY_CONFLICT"].includes(error.reason);
    return isFinal ? told(error.reason) : later({});
  }
}

/**
 * The reply to a task's present status. A task may ask more than once, and be settled after that: each status has its
 * reply, and the same status never two.
 */
function operationOf(task) {
  return `reply:${task.status.state}:${task.status.timestamp}`;
}

function isSettled({ state, refusal }) {
  return state === "DELIVERED" || state === "AMBIGUOUS" || (state === "FAILED" && refusal?.isFinal === true);
}

function told(what) {
  return Response.json({ told: what });
}

function later({ retryAfterMs = 0 }) {
  const headers = retryAfterMs > 0 ? { "retry-after": String(Math.ceil(retryAfterMs / 1000)) } : {};
  return Response.json({ told: "not yet" }, { status: 503, headers });
}

async function noticeOf(request) {
  if (Number(request.headers.get("content-length") ?? 0) > MAX_NOTICE_BYTES) return undefined;
  try {
    return await request.json();
  } catch {
    return undefined;
  }
}

function log(fields) {
  console.log(JSON.stringify(fields));
}
