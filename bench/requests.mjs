// The requests of the benchmark, written out: head and body, ASCII.

const NEW_LINE = "\r\n";

/** What a caller says: some 200 characters, as a short instruction has. */
const TEXT = "Summarize the open review comments of the last week and list who is waiting for whom. ".repeat(2).trim();

/** @param {string} token @param {string} messageId @param {string} [text] */
export function send(token, messageId, text = TEXT) {
  const message = { messageId, role: "ROLE_USER", parts: [{ text }] };
  return request(
    "POST",
    "/message:send",
    token,
    JSON.stringify({ message, configuration: { returnImmediately: true } }),
  );
}

/** A message whose task is worked on until it is canceled. @param {string} token @param {string} messageId */
export function wait(token, messageId) {
  return send(token, messageId, `wait ${TEXT}`);
}

/** A message that is answered when its task is settled. @param {string} token @param {string} messageId */
export function complete(token, messageId) {
  const message = { messageId, role: "ROLE_USER", parts: [{ text: `complete ${TEXT}` }] };
  return request("POST", "/message:send", token, JSON.stringify({ message }));
}

/** A page of ten tasks, newest first. @param {string} token */
export function list(token) {
  return request("GET", "/tasks?pageSize=10", token);
}

/** A request of the resident surface. @param {string} token @param {string} path @param {object} body */
export function resident(token, path, body) {
  return request("POST", `/resident/v1/${path}`, token, JSON.stringify(body), "application/json");
}

/** @param {string} token @param {string} taskId */
export function get(token, taskId) {
  return request("GET", `/tasks/${taskId}`, token);
}

/** @param {string} token @param {string} taskId */
export function cancel(token, taskId) {
  return request("POST", `/tasks/${taskId}:cancel`, token, "{}");
}

/** @param {string} token @param {string} taskId */
export function subscribe(token, taskId) {
  return request("GET", `/tasks/${taskId}:subscribe`, token);
}

/** @param {string} method @param {string} path @param {string} token @param {string} [body] @param {string} [type] */
export function request(method, path, token, body, type = "application/a2a+json") {
  const lines = [
    `${method} ${path} HTTP/1.1`,
    "host: bench",
    `authorization: Bearer ${token}`,
    "a2a-version: 1.0",
    ...(body === undefined ? [] : [`content-type: ${type}`, `content-length: ${body.length}`]),
  ];
  return lines.join(NEW_LINE) + NEW_LINE + NEW_LINE + (body ?? "");
}
