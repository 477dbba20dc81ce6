// The task plane with the email adapter beside it on one workerd, and a stand-in for Email Service. Email Routing's part,
// calling the `email` handler with a raw mail, is a module in front of the adapter.

import { randomBytes } from "node:crypto";
import { after } from "node:test";

import { Deployment } from "../support/deployment.mjs";
import { call } from "../support/http.mjs";
import { bundled } from "./bundle.mjs";
import { EmailService, MAILER } from "./email-service.mjs";
import { mailOf } from "./mails.mjs";

/** The agent's address. */
export const AGENT = "agent@example.com";

/** A person's. */
export const PERSON = "ann@mail.example.com";

const FRONT = `
import { parseEmail } from "./tests/adapters/routing.mjs";
import adapter, { Settlements as AdapterSettlements } from "./adapters/email/index.mjs";
${MAILER}
const withMailer = (env) => (env.MAILER_URL ? { ...env, SEND_EMAIL: mailerAt(env.MAILER_URL) } : env);

export default {
  async fetch(request, env, ctx) {
    const { message, outcome } = await parseEmail(request);
    try {
      await adapter.email(message, withMailer(env), ctx);
    } catch (error) {
      outcome.thrown = String(error);
    }
    return Response.json(outcome);
  },
};

export class Settlements extends AdapterSettlements {
  constructor(ctx, env) {
    super(ctx, withMailer(env));
  }
}
`;

/** Mails between people and the agent, whose tasks are alice's. */
export class EmailWorld {
  /** @param {Record<string, string | undefined>} [vars] of the adapter, over its defaults; undefined leaves one out */
  static async start(vars = {}) {
    const world = new EmailWorld();
    world.token = randomBytes(24).toString("base64url");
    world.service = await EmailService.start();
    after(() => world.service.stop());
    const all = {
      A2A_TOKEN: world.token,
      ALLOWED_SENDERS: "@mail.example.com",
      MAILER_URL: world.service.url,
      ...vars,
    };
    world.agent = await Deployment.start({
      credentials: [{ token: world.token, principal: "alice", role: "source", resident: "default" }],
      workers: {
        email: {
          module: { source: await bundled(FRONT) },
          vars: Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)),
          services: { TASK_PLANE: "main" },
          listens: true,
        },
      },
      services: { SOURCE_EMAIL: "email#Settlements" },
    });
    world.alice = world.agent.as("alice");
    world.resident = world.agent.resident();
    return world;
  }

  /**
   * A mail comes in. Gives what Email Routing would see: `thrown`, a temporary failure; `rejected`, a permanent one;
   * `forwarded`, where to.
   *
   * @param {object} mail as for `mailOf`; by default from a person to the agent
   * @param {{ from?: string, to?: string }} [envelope] where it differs from the headers
   */
  async receive(mail, envelope = {}) {
    const whole = { from: PERSON, to: AGENT, ...mail };
    const { from, to } = { from: whole.from, to: whole.to, ...envelope };
    const query = new URLSearchParams({ from, to });
    const answer = await call(`${this.agent.server.urls.email}/?${query}`, "POST", { body: mailOf(whole) });
    if (answer.status !== 200) throw new Error(`the handler did not end: ${answer.status} ${answer.text}`);
    return answer.json;
  }

  /** A mail that must be taken; gives the ids of its task. */
  async accepted(mail, envelope) {
    const before = await this.#claims();
    const outcome = await this.receive(mail, envelope);
    if (outcome.thrown || outcome.rejected) throw new Error(`not taken: ${JSON.stringify(outcome)}`);
    const claims = await this.#claims();
    if (claims.length !== before.length + 1) throw new Error(`no new claim for the mail`);
    const { task_id: taskId } = claims.at(-1);
    return { taskId, contextId: (await this.alice.task(taskId)).contextId };
  }

  #claims() {
    return this.agent.rows("PrincipalObject", "SELECT task_id FROM claims ORDER BY activation_id");
  }

  /** Takes the next turn, which must be this task's. */
  async turnOf(taskId) {
    const turn = await this.resident.turn();
    if (turn.taskId !== taskId) throw new Error(`a turn of another task: ${turn.taskId}`);
    return turn;
  }

  /** Completes the task in its turn. */
  async complete(taskId, text) {
    const turn = await this.turnOf(taskId);
    await turn.complete(text);
    await turn.end();
  }

  /** Asks the person in the task's turn. */
  async ask(taskId, question) {
    const turn = await this.turnOf(taskId);
    await turn.ask(question);
    await turn.end();
  }

  /** What was recorded, as an operator sees it. */
  async evidence(query = "") {
    const path = `/operator/v1/evidence?principal=alice${query}`;
    const answer = await this.agent.call("GET", path, { token: this.agent.tokens.operator });
    if (answer.status !== 200) throw new Error(`no evidence: ${answer.status} ${answer.text}`);
    return answer.json.evidence;
  }
}
