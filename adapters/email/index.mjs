// Mail as a source: a Worker between Cloudflare's Email Routing, the task plane, and Email Service.
//
//   email                       a mail becomes a task, or answers what a task asked
//   entrypoint Settlements      the plane says that a task was settled, or asks; the answer, or the question, is mailed
//
// Nothing of it has an address on the internet: mails come from Email Routing, and only a Worker of the account that binds
// the entrypoint can call that.

import { WorkerEntrypoint } from "cloudflare:workers";

import { answerSettlement } from "../settlements.mjs";
import { TaskPlane } from "../task-plane.mjs";
import { receive } from "./inbound.mjs";
import { replyByMail } from "./reply.mjs";
import { settingsOf } from "./settings.mjs";

/** The source's name at the task plane. */
const SOURCE = "email";

/** Once for each instance: the plane keeps it. */
let declaration;

/** Tells the plane that a direct reply to a mail of ours continues its task. A failure is tried again by the next mail. */
function declare(plane) {
  declaration ??= plane.declare(["REPLY_ANCHOR"]).catch((error) => {
    declaration = undefined;
    throw error;
  });
  return declaration;
}

function unconfigured(missing) {
  console.error(JSON.stringify({ event: "not_configured", missing }));
}

export default {
  async email(message, env) {
    const settings = settingsOf(env);
    if (settings.missing) {
      unconfigured(settings.missing);
      if (settings.forwardTo !== undefined) return void (await message.forward(settings.forwardTo));
      return message.setReject("This address takes no mail");
    }
    const plane = new TaskPlane(settings.plane, settings.token, SOURCE);
    await receive(message, settings, plane, () => declare(plane));
  },
};

/** Where the plane tells of settlements: its service binding `SOURCE_EMAIL` names this entrypoint. */
export class Settlements extends WorkerEntrypoint {
  async fetch(request) {
    const settings = settingsOf(this.env);
    if (settings.missing) {
      unconfigured(settings.missing);
      return Response.json({ error: "not configured" }, { status: 503 });
    }
    const plane = new TaskPlane(settings.plane, settings.token, SOURCE);
    return answerSettlement(request, SOURCE, plane, (task, origin, operationId) =>
      replyByMail(plane, settings.mailer, task, origin, operationId),
    );
  }
}
