// A deployment for one test file: its own tokens, folder and port, gone when the file ends.

import { randomBytes, randomUUID } from "node:crypto";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";

import { serve } from "../../scripts/serve.mjs";
import { EventStream } from "./event-stream.mjs";
import { moveStorage } from "./fixture.mjs";
import { call } from "./http.mjs";
import { keepUntilExit } from "./processes.mjs";
import { Resident } from "./resident.mjs";
import { databases, rows } from "./storage.mjs";
import { until } from "./until.mjs";

const token = () => randomBytes(24).toString("base64url");

/** Alice and Bob are two principals whose work goes to the resident `default`; Carol's goes to `second`. */
const SERVED_BY = { alice: "default", bob: "default", carol: "second" };

function newTokens() {
  const names = [...Object.keys(SERVED_BY), "resident", "second", "operator"];
  return Object.fromEntries(names.map((name) => [name, token()]));
}

/**
 * The secret with these tokens.
 *
 * @param {Record<string, string>} tokens
 * @param {Record<string, string>} [servedBy] the resident of each principal
 * @param {object[]} [more] further credentials
 */
export function credentialsOf(tokens, servedBy = SERVED_BY, more = []) {
  const principals = Object.entries(servedBy).map(([principal, resident]) => ({
    token: tokens[principal],
    principal,
    resident,
  }));
  return JSON.stringify({
    credentials: [
      ...principals,
      { token: tokens.resident, role: "resident" },
      { token: tokens.second, role: "resident", resident: "second" },
      { token: tokens.operator, principal: "operator", role: "operator" },
      ...more,
    ],
  });
}

/** The agent on a real workerd. */
export class Deployment {
  /**
   * Starts a deployment; the end of the test file stops it.
   *
   * @param {object} [options]
   * @param {Record<string, string | undefined>} [options.vars] over the defaults; undefined leaves one out
   * @param {string} [options.entry] the text of a module in front of the built Worker
   * @param {string} [options.executor] the text of a Worker that is bound as `EXECUTOR`
   * @param {string} [options.assets] a folder whose files are bound as `ASSETS`
   * @param {string} [options.folder] what an earlier deployment has stored; an empty one otherwise
   * @param {object[]} [options.credentials] further credentials
   * @param {Record<string, import("../../scripts/serve.mjs").OtherWorker>} [options.workers] Workers beside it, by name
   * @param {Record<string, string>} [options.services] its bindings to them
   */
  static async start({ vars = {}, entry, executor, assets, folder, credentials, workers, services } = {}) {
    folder ??= keepUntilExit(await mkdtemp(join(tmpdir(), "a2a-test-")));
    const tokens = newTokens();
    const all = { A2A_CREDENTIALS: credentialsOf(tokens, SERVED_BY, credentials), ...vars };
    const options = {
      state: folder,
      vars: Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)),
      entry: entry === undefined ? undefined : { source: entry },
      workers: { ...workers, ...(executor === undefined ? {} : { executor: { module: { source: executor } } }) },
      folders: assets === undefined ? undefined : { assets },
      services: {
        ...services,
        ...(executor === undefined ? {} : { EXECUTOR: "executor" }),
        ...(assets === undefined ? {} : { ASSETS: "assets" }),
      },
    };
    const deployment = new Deployment(options, tokens, await serve(options));
    after(() => deployment.kill());
    return deployment;
  }

  constructor(options, tokens, server) {
    this.options = options;
    this.folder = options.state;
    this.tokens = tokens;
    this.server = server;
    this.url = server.url;
  }

  /** Ends workerd at once, as a crash would. */
  kill() {
    return this.server.kill();
  }

  /** Starts workerd anew on the same port and storage, after a kill. Another connection may hold the port for a while. */
  restart() {
    return until("workerd starts again", () => this.server.restart().then(() => true));
  }

  /** Lets so much time pass, by moving all that is stored back by as much while nothing is served. */
  async letPass(ms) {
    await this.server.stop();
    await moveStorage(this.folder, -ms);
    await this.restart();
  }

  /** Deploys it anew with other vars, on the same port and storage. The log begins anew too. */
  async redeploy(vars) {
    await this.server.stop();
    const { port } = this.server;
    this.options = { ...this.options, vars: { ...this.options.vars, ...vars } };
    this.server = await until("workerd starts again", () => serve({ ...this.options, port }));
  }

  /** What the deployment has logged, the end of it if that is long. */
  get log() {
    return this.server.output();
  }

  /** Waits until the log has this: what is written comes a moment after what it tells of. */
  logged(pattern) {
    return until(`the log has ${pattern}`, () => pattern.exec(this.log));
  }

  /** The databases that its objects have made, as `Class/id.sqlite`. */
  storedObjects() {
    return databases(this.folder);
  }

  /** What a query finds in the databases of all objects of a class. */
  rows(type, query, ...parameters) {
    return rows(this.folder, type, query, parameters);
  }

  /** A request with no token unless one is given. */
  call(method, path, options) {
    return call(this.url + path, method, options);
  }

  /** The A2A operations as the principal of this name. */
  as(name) {
    return new Principal(this, this.tokens[name]);
  }

  /** A scripted resident in a new session. */
  resident(name = "resident", session = randomUUID()) {
    return new Resident(this, this.tokens[name], session);
  }
}

/** A message of the contract, with a new id. */
export function message(text, fields = {}) {
  return { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text }], ...fields };
}

/** A principal's raw requests. */
class Principal {
  constructor(deployment, principalToken) {
    this.deployment = deployment;
    this.token = principalToken;
  }

  call(method, path, options) {
    return this.deployment.call(method, path, { token: this.token, ...options });
  }

  stream(method, path, options) {
    return EventStream.open(this.deployment.url + path, method, { token: this.token, ...options });
  }

  /** Sends a text or a message; blocking unless the configuration says otherwise. */
  send(content, configuration, options) {
    return this.call("POST", "/message:send", { body: sending(content, configuration), ...options });
  }

  /** Sends a text or a message and gives the task at once, as it was accepted. */
  async submit(content, options) {
    const answer = await this.send(content, { returnImmediately: true }, options);
    if (answer.status !== 200) throw new Error(`not accepted: ${answer.status} ${answer.text}`);
    return answer.json.task;
  }

  /** Opens `message:stream`. */
  sendStreaming(content, options) {
    return this.stream("POST", "/message:stream", { body: sending(content), ...options });
  }

  subscribe(taskId, options) {
    return this.stream("GET", `/tasks/${taskId}:subscribe`, options);
  }

  /** Reads a task that must be there. */
  async task(taskId) {
    const answer = await this.call("GET", `/tasks/${taskId}`);
    if (answer.status !== 200) throw new Error(`no task: ${answer.status} ${answer.text}`);
    return answer.json;
  }

  async state(taskId) {
    return (await this.task(taskId)).status.state;
  }

  cancel(taskId, options) {
    return this.call("POST", `/tasks/${taskId}:cancel`, options);
  }
}

function sending(content, configuration) {
  const body = { message: typeof content === "string" ? message(content) : content };
  if (configuration) body.configuration = configuration;
  return body;
}
