// JSON of another shape than the contract's.

import { test } from "node:test";

import { assertError } from "../support/contract.mjs";
import { message } from "../support/deployment.mjs";
import { Refusing } from "./refusals.mjs";

const refusing = await Refusing.start();

const withMessage = (fields) => ({ message: message("good", fields) });
const withPart = (part) => withMessage({ parts: [{ text: "good" }, part] });
const configured = (configuration) => ({ message: message("good"), configuration });
const without = (field) => {
  const { [field]: _, ...rest } = message("good");
  return { message: rest };
};
const long = "x".repeat(129);

/** Each request, and the fields that the refusal names. */
const requests = {
  "an array": [[], "body"],
  "a string": ['"hello"', "body"],
  null: ["null", "body"],
  "a number": ["7", "body"],
  "an empty object": [{}, "message"],
  "JSON-RPC": [{ jsonrpc: "2.0", id: 1, method: "message/send", params: { message: message("x") } }, "message"],
  "a message that is text": [{ message: "hello" }, "message"],
  "a message that is null": [{ message: null }, "message"],
  "an empty message": [{ message: {} }, ["message.messageId", "message.role", "message.parts"]],
  "no messageId": [without("messageId"), "message.messageId"],
  "no role": [without("role"), "message.role"],
  "no parts": [without("parts"), "message.parts"],
  "an empty list of parts": [withMessage({ parts: [] }), "message.parts"],
  "parts that are no list": [withMessage({ parts: { text: "x" } }), "message.parts"],
  "too many parts": [withMessage({ parts: Array(101).fill({ text: "x" }) }), "message.parts"],
  "a part with no content": [withPart({}), "message.parts[1]"],
  "a part of metadata alone": [withPart({ metadata: { a: 1 } }), "message.parts[1]"],
  "a part of another protocol version": [withPart({ kind: "text", value: "x" }), "message.parts[1]"],
  "a part with text and data": [withPart({ text: "x", data: {} }), "message.parts[1]"],
  "a part with text and url": [withPart({ text: "x", url: "https://example.com" }), "message.parts[1]"],
  "a part with raw and url": [withPart({ raw: "aGk=", url: "https://example.com" }), "message.parts[1]"],
  "a part with all four": [withPart({ text: "", raw: "", url: "u", data: 1 }), "message.parts[1]"],
  "a part that is text": [withPart("hello"), "message.parts[1]"],
  "a part that is null": [withPart(null), "message.parts[1]"],
  "text that is a number": [withPart({ text: 1 }), "message.parts[1].text"],
  "raw that is not base64": [withPart({ raw: "not base64!" }), "message.parts[1].raw"],
  "an empty url": [withPart({ url: "" }), "message.parts[1].url"],
  "metadata that is a list": [withMessage({ metadata: [] }), "message.metadata"],
  "extensions that are no URIs": [withMessage({ extensions: ["no uri"] }), "message.extensions[0]"],
  "references that are no ids": [withMessage({ referenceTaskIds: ["a/b"] }), "message.referenceTaskIds[0]"],
  "configuration that is a list": [configured([]), "configuration"],
  "a historyLength that is negative": [configured({ historyLength: -1 }), "configuration.historyLength"],
  "a historyLength that is a fraction": [configured({ historyLength: 0.5 }), "configuration.historyLength"],
  "a historyLength that is text": [configured({ historyLength: "1" }), "configuration.historyLength"],
  "returnImmediately that is text": [configured({ returnImmediately: "yes" }), "configuration.returnImmediately"],
  "output modes that are no list": [configured({ acceptedOutputModes: "text" }), "configuration.acceptedOutputModes"],
  "a tenant": [{ message: message("x"), tenant: "acme" }, "tenant"],
  "request metadata that is text": [{ message: message("x"), metadata: "x" }, "metadata"],
  "a field under both of its names": [withMessage({ message_id: "m-1" }), "message.messageId"],
};
for (const role of ["ROLE_AGENT", "ROLE_UNSPECIFIED", "ROLE_SYSTEM", "user", "USER", "", 1, 2, true, {}]) {
  requests[`the role ${JSON.stringify(role)}`] = [withMessage({ role }), "message.role"];
}
for (const id of [
  " ",
  "a b",
  "a/b",
  "-a",
  ".a",
  "_a",
  ":a",
  "a\n",
  "a~",
  "ä",
  "a\u0000",
  "%41",
  long,
  1,
  true,
  [],
  {},
]) {
  for (const field of ["messageId", "contextId", "taskId"]) {
    const shown = id === long ? "129 letters" : JSON.stringify(id);
    requests[`${field} ${shown}`] = [withMessage({ [field]: id }), `message.${field}`];
  }
}

test("a request of another shape is refused by its fields, and stores nothing", async (t) => {
  for (const [name, [body, fields]] of Object.entries(requests)) {
    await t.test(name, async () => {
      const options = { body, headers: { "content-type": "application/a2a+json" } };
      assertError(await refusing.alice.call("POST", "/message:send", options), "INVALID_REQUEST", fields);
      assertError(await refusing.alice.call("POST", "/message:stream", options), "INVALID_REQUEST", fields);
    });
  }
  await refusing.assertUntouched();
});

test("a push notification config is refused for what it is", async () => {
  const body = configured({ taskPushNotificationConfig: { url: "https://example.com/hook" } });
  const answer = await refusing.alice.call("POST", "/message:send", { body });
  assertError(answer, "PUSH_NOTIFICATION_NOT_SUPPORTED");
  await refusing.assertUntouched();
});

test("the answer to many wrong fields is bounded", async () => {
  const body = withMessage({ parts: Array(100).fill({ text: 1 }) });
  const answer = await refusing.alice.call("POST", "/message:send", { body });
  assertError(answer, "INVALID_REQUEST");
  if (answer.text.length > 4096) throw new Error(`an answer of ${answer.text.length} bytes`);
  await refusing.assertUntouched();
});

test("what a cancel or a subscription says in its body must agree with its path", async () => {
  for (const [body, field] of [
    [[], "body"],
    ["nonsense", "body"],
    [{ id: "another" }, "id"],
    [{ id: 1 }, "id"],
    [{ tenant: "acme" }, "tenant"],
    [{ metadata: 1 }, "metadata"],
  ]) {
    for (const verb of ["cancel", "subscribe"]) {
      const options = { body, headers: { "content-type": "application/json" } };
      assertError(await refusing.alice.call("POST", `/tasks/t-1:${verb}`, options), "INVALID_REQUEST", field);
    }
  }
  await refusing.assertUntouched();
});
