// GitHub as a source: a Worker between GitHub's webhooks and the task plane.
//
//   POST /github/webhook        an event becomes a task, or is counted
//   entrypoint Settlements      the plane says that a task was settled; its answer becomes a comment
//
// The entrypoint has no address on the internet: only a Worker of the account that binds it can call it.

import { WorkerEntrypoint } from "cloudflare:workers";

import { answerSettlement } from "../settlements.mjs";
import { TaskPlane } from "../task-plane.mjs";
import { GitHub } from "./api.mjs";
import { replyByComment } from "./reply.mjs";
import { settingsOf } from "./settings.mjs";
import { answerWebhook } from "./webhook.mjs";

/** The source's name at the task plane. */
const SOURCE = "github";

/** What is not configured takes nothing. The names go to the log; a stranger learns nothing of the deployment. */
function unconfigured(missing) {
  console.error(JSON.stringify({ event: "not_configured", missing }));
  return Response.json({ error: "not configured" }, { status: 503 });
}

export default {
  async fetch(request, env) {
    if (new URL(request.url).pathname !== "/github/webhook") return new Response(null, { status: 404 });
    const settings = settingsOf(env);
    if (settings.missing) return unconfigured(settings.missing);
    return answerWebhook(request, settings, new TaskPlane(settings.plane, settings.token, SOURCE));
  },
};

/** Where the plane tells of settlements: its service binding `SOURCE_GITHUB` names this entrypoint. */
export class Settlements extends WorkerEntrypoint {
  async fetch(request) {
    const settings = settingsOf(this.env);
    if (settings.missing) return unconfigured(settings.missing);
    const plane = new TaskPlane(settings.plane, settings.token, SOURCE);
    const github = new GitHub(settings);
    return answerSettlement(request, SOURCE, plane, (task, origin, operationId) =>
      replyByComment(plane, github, task, origin, operationId),
    );
  }
}
