// A client of the task plane's trusted surface (`/trusted/v1`), for a source that is a Worker beside it.
//
// What may be repeated is repeated: the plane knows events by their dedupe key and deliveries by what they are. So a call
// that got no answer is made again, a few times, and what remains is thrown. Counting alone is repeated only where nothing
// was counted for certain.

import { digestOf } from "./digest.mjs";
import { line } from "./text.mjs";

/** How often a call is made before its failure is the caller's. */
const ATTEMPTS = 3;

/** The first wait between two attempts, in milliseconds; the next is four times as long. */
const FIRST_WAIT_MS = 200;

/** How long one answer may take, in milliseconds. The plane itself gives up after 10 seconds. */
const ANSWER_TIMEOUT_MS = 12_000;

/** The longest reason that the plane keeps with a delivery, in bytes. */
const MAX_REASON_BYTES = 1000;

/** The plane's own answer that says no, or the lack of any: then `status` is 0. */
export class TaskPlaneError extends Error {
  /**
   * @param {number} status of HTTP; 0 where there was no answer
   * @param {string} reason `ErrorInfo.reason`, such as `DUPLICATE_MESSAGE_ID`; `UNREACHED` where there was no answer
   * @param {string} message
   * @param {{ field: string, description: string }[]} fields those at fault
   * @param {Record<string, string>} metadata `ErrorInfo.metadata`
   */
  constructor(status, reason, message, fields = [], metadata = {}) {
    super(`${reason}: ${message}`);
    this.name = "TaskPlaneError";
    this.status = status;
    this.reason = reason;
    this.fields = fields;
    this.metadata = metadata;
  }

  /** Whether the same call may succeed later. */
  get isTransient() {
    return this.status === 0 || this.status >= 500 || this.status === 408 || this.status === 429;
  }

  /** Whether the plane turned the call away before it did anything. */
  get isTurnedAway() {
    return this.status === 429 || this.status === 503;
  }
}

/** What a send at the provider throws when it was refused for certain: nothing was made. Any other error is a doubt. */
export class Refused extends Error {
  /**
   * @param {string} reason kept with the delivery, for operators
   * @param {{ isFinal?: boolean }} [options] whether another attempt would be refused just the same
   */
  constructor(reason, { isFinal = false } = {}) {
    super(reason);
    this.name = "Refused";
    this.isFinal = isFinal;
  }
}

/**
 * How a delivery stands after `deliver`: `DELIVERED`, `AMBIGUOUS` (a person must find out), `HELD` (another attempt is
 * under way, or its outcome is not known yet: ask again later), or `FAILED` (refused; `refusal` says whether for good).
 * @typedef {object} Delivery
 * @property {string} deliveryId
 * @property {"DELIVERED" | "AMBIGUOUS" | "HELD" | "FAILED"} state
 * @property {Refused} [refusal]
 * @property {number} [retryAfterMs]
 * @property {string} [providerResponseId]
 */

/** The trusted surface, as one source of one principal. */
export class TaskPlane {
  #binding;
  #token;
  #source;

  /**
   * @param {{ fetch: (request: Request) => Promise<Response> }} binding the service binding to the plane
   * @param {string} token a credential with role `source`
   * @param {string} source the source's name
   */
  constructor(binding, token, source) {
    this.#binding = binding;
    this.#token = token;
    this.#source = source;
  }

  /**
   * Says how this source's tasks may be continued.
   *
   * @param {("REPLY_ANCHOR" | "TASK_ID")[]} continuation
   */
  declare(continuation) {
    return this.#call("PUT", `sources/${this.#source}`, { continuation });
  }

  /**
   * Hands over one event. When this returns, the plane has it for good. An event whose key and content are there already,
   * and which only came by another way than then, say with another address in its locator, is the one that is there.
   *
   * @param {object} event
   * @param {string} event.providerEventId
   * @param {string} event.dedupeKey
   * @param {string} [event.conversationKey]
   * @param {Record<string, string>} event.nativeLocator
   * @param {Date} event.receivedAt
   * @param {object[]} event.parts A2A Parts
   * @param {string} [event.displayUrl]
   * @param {string} [event.replyTo] the provider's id of the response that it directly replies to
   * @returns {Promise<{ activationId?: string, taskId?: string, contextId?: string, disposition: "created" | "continued" | "duplicate" }>}
   */
  async accept({ receivedAt, ...event }) {
    const contentDigest = await digestOf(event.parts);
    const activation = { source: this.#source, ...event, receivedAt: receivedAt.toISOString(), contentDigest };
    try {
      return await this.#call("POST", "activations", activation);
    } catch (error) {
      const isTheSame = error.reason === "DUPLICATE_MESSAGE_ID" && error.metadata.contentDigest === contentDigest;
      if (isTheSame) return { disposition: "duplicate" };
      throw error;
    }
  }

  /** A task that one of this source's events made, with where it came from. */
  task(taskId) {
    return this.#call("GET", `tasks/${encodeURIComponent(taskId)}`);
  }

  /**
   * Counts something that became no task.
   *
   * @param {string} counter its id
   * @param {string} kind UPPER_SNAKE
   * @param {Record<string, string>} [detail]
   */
  count(counter, kind, detail) {
    const body = { source: this.#source, evidenceId: counter, kind, detail, aggregation: "COUNTER" };
    return this.#call("POST", "evidence", body, (error) => error.isTurnedAway);
  }

  /**
   * Makes one mutation at the provider, once: begins the delivery, and sends, looks up, or leaves it, as the plane says.
   *
   * @param {object} delivery
   * @param {string} delivery.taskId
   * @param {string} delivery.operationId which mutation of the task's
   * @param {unknown} delivery.payload what is sent, as JSON: its digest belongs to the delivery
   * @param {"IDEMPOTENT" | "LOOKUP" | "AMBIGUOUS"} delivery.recovery what the provider offers for a lost answer
   * @param {(deliveryId: string) => Promise<string | undefined>} delivery.send gives the provider's id of what it made;
   *   throws `Refused` where it made nothing for certain, and anything else in doubt
   * @param {(deliveryId: string) => Promise<string | undefined>} [delivery.lookUp] with `LOOKUP`: the provider's id of
   *   what an earlier attempt made; undefined only where it has made nothing
   * @returns {Promise<Delivery>}
   */
  async deliver({ taskId, operationId, payload, recovery, send, lookUp }) {
    const begun = await this.#call("POST", "deliveries", {
      taskId,
      source: this.#source,
      operationId,
      payloadDigest: await digestOf(payload),
      recovery,
      payloadPolicy: "FIXED",
      canReconcile: lookUp !== undefined,
      // Asked again after a lost answer, it is the same attempt.
      attempt: crypto.randomUUID(),
    });
    const { deliveryId, disposition, attempt } = begun;
    const settle = (outcome, fields) => this.#settle(deliveryId, attempt, outcome, fields);
    if (disposition === "RECONCILE") {
      const found = await lookUp(deliveryId);
      if (found !== undefined) return settle("DELIVERED", { providerResponseId: found });
      await settle("ABSENT");
    } else if (disposition !== "SEND") {
      return { deliveryId, state: disposition, ...picked(begun, ["retryAfterMs", "providerResponseId"]) };
    }
    try {
      const made = await send(deliveryId);
      return await settle("DELIVERED", made === undefined ? {} : { providerResponseId: made });
    } catch (error) {
      if (error instanceof TaskPlaneError) throw error;
      const refusal = error instanceof Refused ? error : undefined;
      const settled = await settle(refusal ? "REFUSED" : "INDETERMINATE", { reason: reasonOf(error) });
      return { ...settled, refusal };
    }
  }

  async #settle(deliveryId, attempt, outcome, fields = {}) {
    const body = { attempt, outcome, ...fields };
    const { state } = await this.#call("POST", `deliveries/${deliveryId}:settle`, body);
    // What is still being sent after its attempt was settled waits to be looked up.
    return { deliveryId, state: state === "SENDING" ? "HELD" : state, ...picked(fields, ["providerResponseId"]) };
  }

  /** Makes a call, and makes it again after an error that allows it. */
  async #call(method, path, body, mayRepeat = (error) => error.isTransient) {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#callOnce(method, path, body);
      } catch (error) {
        if (!(error instanceof TaskPlaneError) || !mayRepeat(error) || attempt === ATTEMPTS) throw error;
        await new Promise((resolve) => setTimeout(resolve, FIRST_WAIT_MS * 4 ** (attempt - 1)));
      }
    }
  }

  async #callOnce(method, path, body) {
    const request = new Request(`https://task-plane/trusted/v1/${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.#token}`,
        accept: "application/json",
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
      redirect: "manual",
      signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
    });
    let response;
    let text;
    try {
      response = await this.#binding.fetch(request);
      text = await response.text();
    } catch (error) {
      throw new TaskPlaneError(0, "UNREACHED", String(error?.message ?? error));
    }
    const answer = parsed(text);
    if (response.ok && answer !== undefined) return answer;
    throw refusalOf(response.status, answer);
  }
}

/** The plane's error, read from its A2A form (§11.6): a `google.rpc.Status` with an `ErrorInfo`. */
function refusalOf(status, answer) {
  const details = Array.isArray(answer?.error?.details) ? answer.error.details : [];
  const info = details.find((detail) => typeof detail?.reason === "string");
  const fields = details.flatMap((detail) => detail?.fieldViolations ?? []);
  const message = answer?.error?.message ?? "an answer that is no A2A error";
  return new TaskPlaneError(status, info?.reason ?? `HTTP_${status}`, message, fields, info?.metadata);
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Those of the fields that an object has. */
function picked(object, names) {
  return Object.fromEntries(names.filter((name) => object[name] !== undefined).map((name) => [name, object[name]]));
}

/** What an operator reads about a failed send. */
function reasonOf(error) {
  return line(String(error?.message ?? error), MAX_REASON_BYTES);
}
