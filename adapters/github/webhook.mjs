// `POST /github/webhook`: what GitHub sends, checked before anything of it is believed.

import { TaskPlaneError } from "../task-plane.mjs";
import { workOf } from "./events.mjs";
import { isSigned } from "./signature.mjs";

/** The longest payload that is read, in bytes. GitHub sends up to 25 MB, but none of the events that are work is so long. */
const MAX_BODY_BYTES = 2 * 1024 * 1024;

/** An identifier of the task plane. GitHub's delivery ids are GUIDs. */
const IDENTIFIER = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/;

/** An event's name. */
const EVENT = /^[a-z_]{1,64}$/;

/**
 * Answers a webhook. What is not signed with the secret gets 401 and leaves no trace.
 *
 * @param {Request} request
 * @param {{ secret: string, login: string, mention: string, associations: string[] }} settings
 * @param {import("../task-plane.mjs").TaskPlane} plane
 * @returns {Promise<Response>}
 */
export async function answerWebhook(request, settings, plane) {
  if (request.method !== "POST") return new Response(null, { status: 405, headers: { allow: "POST" } });
  const body = await bodyOf(request);
  if (body === undefined) return refused(413, `the payload must be at most ${MAX_BODY_BYTES} bytes`);
  if (!(await isSigned(settings.secret, request.headers.get("x-hub-signature-256"), body))) {
    return refused(401, "X-Hub-Signature-256 must be this body's HMAC-SHA-256 under the webhook's secret");
  }

  const deliveryId = request.headers.get("x-github-delivery") ?? "";
  const event = request.headers.get("x-github-event") ?? "";
  if (!IDENTIFIER.test(deliveryId)) return refused(400, "X-GitHub-Delivery must be the delivery's GUID");
  if (!EVENT.test(event)) return refused(400, "X-GitHub-Event must be an event's name");
  const payload = parsed(body);
  if (payload === undefined)
    return refused(400, "the payload must be a JSON object: set the content type application/json");

  const { work, ignored } = workOf(event, payload, settings);
  try {
    if (work === undefined) return await counted(plane, event, payload, ignored);
    const accepted = await plane.accept({
      ...work,
      providerEventId: deliveryId,
      dedupeKey: deliveryId,
      receivedAt: new Date(),
    });
    console.log(JSON.stringify({ event: "accepted", deliveryId, ...accepted }));
    return Response.json(accepted, { status: 202 });
  } catch (error) {
    console.error(JSON.stringify({ event: "not_accepted", deliveryId, reason: String(error?.message ?? error) }));
    if (error instanceof TaskPlaneError && !error.isTransient)
      return refused(422, `the task plane refused it: ${error.reason}`);
    return refused(503, "the task plane can't be reached now: redeliver this event");
  }
}

/** One counter for each event, action and reason. */
async function counted(plane, event, payload, reason) {
  const action = typeof payload.action === "string" && EVENT.test(payload.action) ? payload.action : "none";
  await plane.count(`${event}.${action}.${reason}`, "EVENT_IGNORED", { event, action, reason });
  return Response.json({ ignored: reason }, { status: 202 });
}

/** The raw body; undefined where it is too long, which is noticed before it has been read to its end. */
async function bodyOf(request) {
  if (Number(request.headers.get("content-length") ?? 0) > MAX_BODY_BYTES) return undefined;
  const chunks = [];
  let length = 0;
  for await (const chunk of request.body ?? []) {
    length += chunk.length;
    if (length > MAX_BODY_BYTES) return undefined;
    chunks.push(chunk);
  }
  return new Uint8Array(await new Blob(chunks).arrayBuffer());
}

function parsed(body) {
  try {
    const value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function refused(status, error) {
  return Response.json({ error }, { status });
}
