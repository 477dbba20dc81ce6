// A resident by hand: the resident surface over HTTP, one request at a time, for tests that need an exact order of
// events. The real runner is in runner.mjs.

import { call } from "./http.mjs";

/** One session of a resident. */
export class Resident {
  constructor(deployment, token, session) {
    this.deployment = deployment;
    this.token = token;
    this.session = session;
  }

  /** A request on the resident surface, whatever comes of it. */
  call(path, body, token = this.token) {
    return call(`${this.deployment.url}/resident/v1/${path}`, "POST", {
      token,
      body,
      headers: { "content-type": "application/json" },
    });
  }

  /** Takes the next turn; undefined where no wake came in time. */
  async take(waitMs = 10_000) {
    const answer = await this.call("wakes:take", { session: this.session, waitMs });
    if (answer.status === 204) return undefined;
    return new Turn(this, succeeded(answer).turn);
  }

  /** Takes the next turn, which must come. */
  async turn(waitMs) {
    const turn = await this.take(waitMs);
    if (!turn) throw new Error("no wake came");
    return turn;
  }
}

/** A turn that was granted. Its tools are called with its own token. */
export class Turn {
  constructor(resident, grant) {
    this.resident = resident;
    /** The grant as it came. */
    this.grant = grant;
    this.turnId = grant.turnId;
    this.taskId = grant.taskId;
    this.token = grant.token;
  }

  /** Calls a tool, whatever comes of it. */
  tool(name, fields = {}, token = this.token) {
    return this.resident.call(`tools/${name}`, { turnId: this.turnId, taskId: this.taskId, ...fields }, token);
  }

  heartbeat(fields = {}, token = this.token) {
    return this.resident.call(`turns/${this.turnId}:heartbeat`, fields, token);
  }

  tryEnd(fields = { outcome: "ended" }, token = this.resident.token) {
    return this.resident.call(`turns/${this.turnId}:end`, fields, token);
  }

  /** The task as structured JSON. */
  async task() {
    return succeeded(await this.tool("a2a_read_task", { format: "json" })).task;
  }

  /** The task as text between markers. */
  async text() {
    return succeeded(await this.tool("a2a_read_task")).text;
  }

  async complete(response, fields) {
    return succeeded(await this.tool("a2a_complete_task", { response, ...fields })).state;
  }

  async reject(reason) {
    return succeeded(await this.tool("a2a_complete_task", { outcome: "rejected", reason })).state;
  }

  async record(output, value) {
    return succeeded(await this.tool("a2a_record_output", { output, value })).artifactId;
  }

  async ask(question, fields) {
    return succeeded(await this.tool("a2a_require_input", { question, ...fields })).state;
  }

  /** Ends the turn and tells what becomes of its activation. */
  async end() {
    return succeeded(await this.tryEnd()).disposition;
  }

  async fail(reason) {
    return succeeded(await this.tryEnd({ outcome: "failed", reason })).disposition;
  }
}

function succeeded(answer) {
  if (answer.status !== 200) throw new Error(`refused: ${answer.status} ${answer.text}`);
  return answer.json;
}
