// The official client over HTTP+JSON, as a caller would set it up: from the card, with a bearer token.

import { SendMessageRequest, TaskState } from "@a2a-js/sdk";
import {
  ClientFactory,
  ClientFactoryOptions,
  RestTransportFactory,
  createAuthenticatingFetchWithRetry,
} from "@a2a-js/sdk/client";

import { message } from "./deployment.mjs";

/**
 * A client that found the agent by its card.
 *
 * @param {import("./deployment.mjs").Deployment} deployment
 * @param {string} token
 */
export function discover(deployment, token) {
  const fetchImpl = createAuthenticatingFetchWithRetry(fetch, {
    headers: async () => ({ Authorization: `Bearer ${token}` }),
    shouldRetryWithHeaders: async () => undefined,
  });
  const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
    transports: [new RestTransportFactory({ fetchImpl })],
  });
  return new ClientFactory(options).createFromUrl(deployment.url);
}

/** The client's request for a text or a message of the contract. */
export function sending(content, configuration) {
  const body = { message: typeof content === "string" ? message(content) : content };
  if (configuration) body.configuration = configuration;
  return SendMessageRequest.fromJSON(body);
}

/** The texts of all of a task's artifacts. */
export function textsOf(task) {
  return task.artifacts.flatMap(({ parts }) => parts.map(({ content }) => content?.value));
}

/** The ProtoJSON name of a state as the client holds it. */
export function stateName(state) {
  return TaskState[state];
}

/** What a stream's frames hold, each with its kind. */
export function payloadsOf(frames) {
  return frames.map(({ payload }) => payload);
}

/** Collects a stream until its end. */
export async function collect(stream) {
  const frames = [];
  for await (const frame of stream) frames.push(frame);
  return frames;
}
