// The requests of the benchmark, written out: head and body, ASCII.

const NEW_LINE = "\r\n";

/** What a caller says: some 200 characters, as a short instruction has. */
const TEXT = "Summarize the open review comments of the last week and list who is waiting for whom. ".repeat(2).trim();

/** @param {string} token @param {string} messageId */
export function send(token, messageId) {
  const message = { messageId, role: "ROLE_USER", parts: [{ text: TEXT }] };
  return request(
    "POST",
    "/message:send",
    token,
    JSON.stringify({ message, configuration: { returnImmediately: true } }),
  );
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

/** @param {string} method @param {string} path @param {string} token @param {string} [body] */
export function request(method, path, token, body) {
  const lines = [
    `${method} ${path} HTTP/1.1`,
    "host: bench",
    `authorization: Bearer ${token}`,
    "a2a-version: 1.0",
    ...(body === undefined ? [] : ["content-type: application/a2a+json", `content-length: ${body.length}`]),
  ];
  return lines.join(NEW_LINE) + NEW_LINE + NEW_LINE + (body ?? "");
}
