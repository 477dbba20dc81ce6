// A native source by hand: the trusted surface over HTTP, one request at a time.

import assert from "node:assert/strict";
import { createHash, randomBytes, randomUUID } from "node:crypto";

import { Deployment } from "../support/deployment.mjs";

/** Who hands over native events: a source and a platform of Alice's, and the same of Bob's. */
const INTAKES = {
  source: { principal: "alice", role: "source" },
  platform: { principal: "alice", role: "trusted" },
  bobsSource: { principal: "bob", role: "source" },
  bobsPlatform: { principal: "bob", role: "trusted" },
};

/**
 * Starts a deployment with sources and platforms.
 *
 * @param {Parameters<typeof Deployment.start>[0]} [options]
 * @returns {Promise<Record<keyof typeof INTAKES, Intake> & { agent: Deployment }>}
 */
export async function start(options) {
  const intakes = Object.entries(INTAKES).map(([name, credential]) => [
    name,
    { token: randomBytes(24).toString("base64url"), ...credential },
  ]);
  const credentials = intakes.map(([, credential]) => credential);
  const agent = await Deployment.start({ ...options, credentials });
  const started = intakes.map(([name, { token }]) => [name, new Intake(agent, token)]);
  return { agent, ...Object.fromEntries(started) };
}

/** The canonical JSON of RFC 8785, which is what JavaScript writes once the keys are sorted. */
export function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const members = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`);
  return `{${members.join()}}`;
}

/** The digest of a value's canonical JSON. */
export function digestOf(value) {
  return `sha256:${createHash("sha256").update(canonical(value)).digest("hex")}`;
}

/** A new event of the source `chat`, with a digest that fits its parts. */
export function event(text, fields = {}) {
  const id = randomUUID();
  const parts = fields.parts ?? [{ text }];
  return {
    source: "chat",
    providerEventId: id,
    dedupeKey: id,
    nativeLocator: { channel: "C-1", message: id },
    receivedAt: new Date().toISOString(),
    parts,
    contentDigest: digestOf(parts),
    ...fields,
  };
}

/** Requests with one token. */
export class Intake {
  constructor(deployment, token) {
    this.deployment = deployment;
    this.token = token;
  }

  /** A request of the trusted surface, whatever comes of it. */
  call(method, path, body, options) {
    return this.deployment.call(method, `/trusted/v1/${path}`, { token: this.token, body, ...options });
  }

  /** The answer to a request that must succeed. */
  async done(method, path, body) {
    const answer = await this.call(method, path, body);
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.headers["content-type"], "application/json");
    assert.equal(answer.headers["cache-control"], "no-store");
    return answer.json;
  }

  /** Hands over an event, or a text as a new event; it must be accepted. */
  accept(content, fields) {
    return this.done("POST", "activations", typeof content === "string" ? event(content, fields) : content);
  }

  /** The same, whatever comes of it. */
  tryAccept(content) {
    return this.call("POST", "activations", content);
  }

  declare(continuation, source = "chat") {
    return this.done("PUT", `sources/${source}`, { continuation });
  }

  read(taskId) {
    return this.done("GET", `tasks/${taskId}`);
  }

  async state(taskId) {
    return (await this.read(taskId)).task.status.state;
  }

  anchor(taskId, providerResponseId, source = "chat") {
    return this.done("POST", "anchors", { source, providerResponseId, taskId });
  }

  begin(taskId, fields = {}) {
    return this.done("POST", "deliveries", delivery(taskId, fields));
  }

  settle(deliveryId, fields) {
    return this.done("POST", `deliveries/${deliveryId}:settle`, fields);
  }

  reconcile(deliveryId, fields) {
    return this.done("POST", `deliveries/${deliveryId}:reconcile`, fields);
  }
}

/** A delivery to begin. */
export function delivery(taskId, fields = {}) {
  return {
    taskId,
    source: "chat",
    operationId: "reply",
    payloadDigest: digestOf("the reply"),
    recovery: "IDEMPOTENT",
    ...fields,
  };
}

/** All evidence of a principal, newest first, as the operator reads it. */
export async function evidenceOf(deployment, principal, query = "") {
  const answer = await askForEvidence(deployment, `principal=${principal}&pageSize=100${query}`);
  assert.equal(answer.status, 200, answer.text);
  return answer.json.evidence;
}

/** What the operator is answered, whatever comes of it. */
export function askForEvidence(deployment, query, token = deployment.tokens.operator) {
  return deployment.call("GET", `/operator/v1/evidence?${query}`, { token });
}

/** Takes the turn of this task, which must come next. */
export async function turnOf(resident, taskId) {
  const turn = await resident.turn();
  assert.equal(turn.taskId, taskId);
  return turn;
}

/** Takes the task's turn and asks, so that the task waits for an answer. */
export async function ask(resident, taskId, fields) {
  const turn = await turnOf(resident, taskId);
  await turn.ask("which one?", fields);
  await turn.end();
}

/** Completes whatever waits for the resident. */
export async function drain(resident) {
  for (let turn = await resident.take(0); turn; turn = await resident.take(0)) {
    await turn.complete("done");
    await turn.end();
  }
}
