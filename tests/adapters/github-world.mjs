// The task plane with the GitHub adapter beside it on one workerd, and a stand-in for GitHub's API.

import { randomBytes } from "node:crypto";
import { after } from "node:test";

import { Deployment } from "../support/deployment.mjs";
import { call } from "../support/http.mjs";
import { adapter } from "./bundle.mjs";
import { GitHubApi } from "./github-api.mjs";
import { headersOf } from "./github-events.mjs";

/** The agent's account. */
export const LOGIN = "plane-agent";

const secret = () => randomBytes(24).toString("base64url");

/** The events of a repository, for the principal alice. */
export class GitHubWorld {
  /** @param {Record<string, string | undefined>} [vars] of the adapter, over its defaults; undefined leaves one out */
  static async start(vars = {}) {
    const world = new GitHubWorld();
    world.token = secret();
    world.webhookSecret = secret();
    world.api = await GitHubApi.start(secret(), LOGIN);
    after(() => world.api.stop());
    const all = {
      A2A_TOKEN: world.token,
      GITHUB_WEBHOOK_SECRET: world.webhookSecret,
      GITHUB_TOKEN: world.api.token,
      GITHUB_LOGIN: LOGIN,
      GITHUB_API_URL: world.api.url,
      ...vars,
    };
    world.agent = await Deployment.start({
      credentials: [{ token: world.token, principal: "alice", role: "source", resident: "default" }],
      workers: {
        github: {
          module: { source: await adapter("github") },
          vars: Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)),
          services: { TASK_PLANE: "main" },
          listens: true,
        },
      },
      services: { SOURCE_GITHUB: "github#Settlements" },
    });
    world.resident = world.agent.resident();
    return world;
  }

  /** Where GitHub's webhooks go. */
  get url() {
    return `${this.agent.server.urls.github}/github/webhook`;
  }

  /** Delivers a webhook as GitHub does. */
  send(hook, headers = {}) {
    return call(this.url, "POST", {
      body: hook.body,
      headers: { ...headersOf(hook, this.webhookSecret), ...headers },
    });
  }

  /** Delivers a webhook that must become work. */
  async accepted(hook) {
    const answer = await this.send(hook);
    if (answer.status !== 202 || !answer.json.taskId) throw new Error(`not accepted: ${answer.status} ${answer.text}`);
    return answer.json;
  }

  /** Takes the next turn, which must be this task's, and completes it. */
  async complete(taskId, text) {
    const turn = await this.resident.turn();
    if (turn.taskId !== taskId) throw new Error(`a turn of another task: ${turn.taskId}`);
    await turn.complete(text);
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
