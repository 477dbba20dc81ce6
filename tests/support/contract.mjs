// What every answer must look like.

import assert from "node:assert/strict";

const ERROR_INFO = "type.googleapis.com/google.rpc.ErrorInfo";
const BAD_REQUEST = "type.googleapis.com/google.rpc.BadRequest";
export const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** HTTP status and `google.rpc.Code` of each reason. */
const REASONS = {
  TASK_NOT_FOUND: [404, "NOT_FOUND"],
  TASK_NOT_CANCELABLE: [400, "FAILED_PRECONDITION"],
  PUSH_NOTIFICATION_NOT_SUPPORTED: [501, "UNIMPLEMENTED"],
  UNSUPPORTED_OPERATION: [400, "FAILED_PRECONDITION"],
  CONTENT_TYPE_NOT_SUPPORTED: [400, "INVALID_ARGUMENT"],
  VERSION_NOT_SUPPORTED: [400, "FAILED_PRECONDITION"],
  EXTENDED_AGENT_CARD_NOT_CONFIGURED: [400, "FAILED_PRECONDITION"],
  INVALID_REQUEST: [400, "INVALID_ARGUMENT"],
  UNAUTHENTICATED: [401, "UNAUTHENTICATED"],
  PERMISSION_DENIED: [403, "PERMISSION_DENIED"],
  NOT_FOUND: [404, "NOT_FOUND"],
  METHOD_NOT_ALLOWED: [405, "UNIMPLEMENTED"],
  DUPLICATE_MESSAGE_ID: [409, "ALREADY_EXISTS"],
  TURN_NOT_LIVE: [409, "ABORTED"],
  SESSION_SUPERSEDED: [409, "ABORTED"],
  NO_CONTINUATION: [409, "ABORTED"],
  OUTPUT_NOT_DECLARED: [400, "INVALID_ARGUMENT"],
  WORKFLOW_NOT_CONFIGURED: [400, "FAILED_PRECONDITION"],
  PAYLOAD_TOO_LARGE: [413, "INVALID_ARGUMENT"],
  ALREADY_EXISTS: [409, "ALREADY_EXISTS"],
  AGENT_NOT_CONFIGURED: [404, "NOT_FOUND"],
  REGISTRY_NOT_CONFIGURED: [501, "UNIMPLEMENTED"],
  AUTHORIZATION_UNRESOLVED: [400, "FAILED_PRECONDITION"],
  CARD_UNREACHABLE: [502, "UNAVAILABLE"],
  INTERFACE_UNSUPPORTED: [400, "FAILED_PRECONDITION"],
  REMOTE_FAILED: [502, "UNAVAILABLE"],
  RESOURCE_EXHAUSTED: [429, "RESOURCE_EXHAUSTED"],
  INVALID_AGENT_RESPONSE: [500, "INTERNAL"],
  INTERNAL: [500, "INTERNAL"],
  CREDENTIALS_NOT_CONFIGURED: [503, "UNAVAILABLE"],
  UNAVAILABLE: [503, "UNAVAILABLE"],
  DEADLINE_EXCEEDED: [504, "DEADLINE_EXCEEDED"],
  CONTEXT_NOT_FOUND: [404, "NOT_FOUND"],
  LOCATOR_NOT_ACTIVE: [404, "NOT_FOUND"],
  CHECKPOINT_AHEAD: [409, "FAILED_PRECONDITION"],
  CHECKPOINT_MOVED: [409, "ABORTED"],
  ANCHOR_TAKEN: [409, "ALREADY_EXISTS"],
  DELIVERY_CONFLICT: [409, "ALREADY_EXISTS"],
  DELIVERY_SETTLED: [409, "ABORTED"],
  DELIVERY_NOT_HELD: [409, "ABORTED"],
  DELIVERY_NOT_FOUND: [404, "NOT_FOUND"],
};

/**
 * Asserts that the answer is an error of the contract's exact shape, and gives its ErrorInfo.
 *
 * @param {import("./http.mjs").Answer} answer
 * @param {keyof typeof REASONS} reason
 * @param {string | string[]} [fields] the fields that it must name, in order; unset: no field is asked for
 */
export function assertError(answer, reason, fields) {
  const [code, status] = REASONS[reason];
  const shown = `${answer.status} ${answer.text}`;
  assert.equal(answer.status, code, shown);
  assert.equal(answer.headers["content-type"], "application/a2a+json", shown);
  assert.deepEqual(Object.keys(answer.json ?? {}), ["error"], shown);
  const { error } = answer.json;
  assert.deepEqual(Object.keys(error).sort(), ["code", "details", "message", "status"], shown);
  assert.equal(error.code, code, shown);
  assert.equal(error.status, status, shown);
  assert.equal(typeof error.message, "string", shown);
  assert.notEqual(error.message, "", shown);
  const [info, badRequest, ...others] = error.details;
  assert.equal(info["@type"], ERROR_INFO, shown);
  assert.equal(info.reason, reason, shown);
  assert.equal(info.domain, "a2a-protocol.org", shown);
  for (const value of Object.values(info.metadata ?? {})) assert.equal(typeof value, "string", shown);
  assert.deepEqual(others, [], shown);
  if (badRequest !== undefined) {
    assert.equal(badRequest["@type"], BAD_REQUEST, shown);
    assert.ok(badRequest.fieldViolations.length > 0, shown);
    for (const violation of badRequest.fieldViolations) {
      assert.deepEqual(Object.keys(violation).sort(), ["description", "field"], shown);
      assert.notEqual(violation.field, "", shown);
      assert.notEqual(violation.description, "", shown);
    }
  }
  if (fields !== undefined) {
    const named = badRequest?.fieldViolations.map(({ field }) => field);
    assert.deepEqual(named, [fields].flat(), shown);
  }
  assertNothingInternal(answer);
  return info;
}

/** Asserts that an answer shows nothing of the inside: no stack trace, file, panic or statement. */
export function assertNothingInternal(answer) {
  const shown = `${answer.text}\n${JSON.stringify(answer.headers)}`;
  for (const inside of [
    /\.rs\b/,
    /\.m?js:\d/,
    /\n\s*at /,
    /panick/i,
    /wasm/i,
    /sqlite/i,
    /SELECT |INSERT /,
    /durable/i,
  ]) {
    assert.doesNotMatch(shown, inside);
  }
}

/**
 * Asserts that the value is a Task of the contract in this state: every field there is by its ProtoJSON name, none is
 * null, and the timestamp ends in `Z` with milliseconds.
 */
export function assertTask(task, state) {
  const shown = JSON.stringify(task);
  assert.equal(typeof task?.id, "string", shown);
  assert.equal(typeof task.contextId, "string", shown);
  assert.equal(task.status.state, state, shown);
  assert.match(task.status.timestamp, TIMESTAMP, shown);
  const known = ["id", "contextId", "status", "artifacts", "history", "metadata"];
  assert.deepEqual(
    Object.keys(task).filter((field) => !known.includes(field)),
    [],
    shown,
  );
  assert.doesNotMatch(shown, /:null/);
  return task;
}

/** The states that the frames of a stream went through: the Task's first, then each status update's. */
export function statesOf(frames) {
  return frames.flatMap((frame) => {
    const state = frame.task?.status.state ?? frame.statusUpdate?.status.state;
    return state === undefined ? [] : [state];
  });
}

/** The kinds of the frames, by their one field. */
export function kindsOf(frames) {
  return frames.map((frame) => Object.keys(frame).join());
}
