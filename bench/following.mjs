// What it costs that one principal follows many remote tasks at once: time, CPU and memory of the server while nothing
// moves, and how soon the task that asked is woken once all have settled. This Worker alone.

import { randomBytes, randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { serve } from "../scripts/serve.mjs";
import * as used from "./usage.mjs";

/** How long nothing moves, in milliseconds. */
const STILL_MS = 30_000;

/**
 * @param {string} state the folder for the objects' storage
 * @param {number} count remote tasks
 * @returns {Promise<import("./report.mjs").Figure[]>} with one value each; none where the system has no /proc
 */
export async function measureFollowing(state, count) {
  const remote = await Remote.start();
  const [caller, resident] = [randomBytes(24).toString("base64url"), randomBytes(24).toString("base64url")];
  const credentials = [
    { token: caller, principal: "caller" },
    { token: resident, role: "resident" },
  ];
  const vars = {
    A2A_CREDENTIALS: JSON.stringify({ credentials }),
    A2A_REQUEST_LOG: "off",
    A2A_REMOTES_LOOPBACK: "on",
    A2A_REMOTE_FAR: remote.url,
    A2A_REMOTES_ENABLED: '["far"]',
  };
  const server = await serve({ state, vars });
  try {
    return await measure(new Plane(server, caller, resident), remote, count);
  } finally {
    await server.stop();
    remote.stop();
  }
}

async function measure(plane, remote, count) {
  const session = randomUUID();
  await plane.post(plane.caller, "/message:send", {
    message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "delegate" }] },
    configuration: { returnImmediately: true },
  });
  const take = () => plane.post(plane.resident, "/resident/v1/wakes:take", { session, waitMs: 20_000 });
  const { turn } = await take();
  const idle = await plane.usage();
  const began = performance.now();
  for (let index = 0; index < count; index += 1) {
    await plane.post(plane.resident, "/resident/v1/tools/a2a_send_agent", {
      turnId: turn.turnId,
      taskId: turn.taskId,
      address: "a2a://far",
      text: "work",
    });
  }
  const sendMs = (performance.now() - began) / count;
  await plane.post(plane.resident, `/resident/v1/turns/${turn.turnId}:end`, { outcome: "ended" });

  // By now most have been looked at a few times, and the pauses have grown.
  await pause(STILL_MS);
  const [before, polls] = [await plane.usage(), remote.polls];
  await pause(STILL_MS);
  const after = await plane.usage();
  const looks = remote.polls - polls;

  remote.done = true;
  const settled = performance.now();
  const { turn: woken } = await take().then((taken) => taken ?? take());
  const wokenMs = performance.now() - settled;
  if (woken.taskId !== turn.taskId) throw new Error("another task was woken");

  const figure = (name, unit, value) => ({ name, unit, better: "less", values: [value], ratio: 1 });
  const cpuMs = after.cpuMs - before.cpuMs;
  return [
    figure(`message to a remote agent`, "ms", sendMs),
    figure(`${count} remote tasks followed, looks a minute`, "", (looks * 60_000) / STILL_MS),
    figure("a look, server's CPU", "ms", cpuMs / Math.max(looks, 1)),
    figure(`${count} followed, server's CPU a minute`, "ms", (cpuMs * 60_000) / STILL_MS),
    figure(`${count} followed, memory over idle`, "MB", (after.memoryBytes - idle.memoryBytes) / 2 ** 20),
    figure("first settlement to turn", "ms", wokenMs),
  ];
}

/** This server. */
class Plane {
  constructor(server, caller, resident) {
    [this.server, this.caller, this.resident] = [server, caller, resident];
  }

  async post(token, path, body) {
    const answer = await fetch(this.server.url + path, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    if (answer.status === 204) return undefined;
    const text = await answer.text();
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${text}`);
    return JSON.parse(text);
  }

  async usage() {
    const { pid } = this.server;
    return { cpuMs: await used.cpuMs(pid), memoryBytes: (await used.memoryKb(pid)) * 1024 };
  }
}

/** A remote agent whose tasks go on until it is told otherwise. It offers no streams, so all are looked at. */
class Remote {
  polls = 0;
  done = false;

  static async start() {
    const remote = new Remote();
    const server = createServer((request, answer) => {
      request.resume();
      answer.setHeader("content-type", "application/a2a+json");
      answer.end(JSON.stringify(remote.#answer(request.url)));
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    remote.url = `http://127.0.0.1:${server.address().port}`;
    remote.stop = () => {
      server.closeAllConnections();
      server.close();
    };
    return remote;
  }

  #answer(path) {
    if (path.endsWith(".json")) {
      const interfaces = [{ url: this.url, protocolBinding: "HTTP+JSON", protocolVersion: "1.0" }];
      return { name: "Far", version: "1", description: "Works.", supportedInterfaces: interfaces, capabilities: {} };
    }
    if (path.endsWith(":send")) return { task: this.#task(randomUUID()) };
    this.polls += 1;
    return this.#task(path.split("/").at(-1).split("?")[0]);
  }

  #task(id) {
    return { id, contextId: "c", status: { state: this.done ? "TASK_STATE_COMPLETED" : "TASK_STATE_WORKING" } };
  }
}
