// The Worker with faults on demand: each object class is the real one, and does to the next command of a kind what a
// test has armed it for. Bundled by faults.mjs, so that it shares the one WebAssembly instance with what it wraps.

import { PrincipalObject as PrincipalCore, panicForTests } from "../../build/wasm/index.js";
import worker, { PrincipalObject as Principal, WakeQueueObject as WakeQueue } from "../../src/runtime/shell.mjs";

const never = () => new Promise(() => {});

/** What can go wrong inside an object. */
const FAULTS = {
  /** It waits for something that takes far too long. */
  hang: () => new Promise((resolve) => setTimeout(resolve, 600_000)),
  /** It waits for something that nobody will ever do. */
  forget: never,
  /** The platform has more callers for it than it can serve. */
  overload: () => {
    throw Object.assign(new Error("too many requests"), { overloaded: true, remote: true });
  },
  throw: () => {
    throw new Error("a detail of the inside");
  },
  panic: () => panicForTests(),
  /** It refuses a watcher in words of nobody's. */
  refuse: () => new Response("no", { status: 404 }),
  /** The WebAssembly instance traps: it reads where there is no memory. */
  trap: () => Object.assign(Object.create(PrincipalCore.prototype), { __wbg_ptr: -16 }).call(new Uint8Array()),
  /** The platform resets it. */
  reset: (ctx) => {
    ctx.abort("reset by a test");
    return never();
  },
};

/** What the platform does for an object: where it does it, and the name of the function. */
const PLATFORM = {
  statement: (ctx) => [ctx.storage.sql, "exec"],
  alarm: (ctx) => [ctx.storage, "setAlarm"],
  waiting: (ctx) => [ctx, "waitUntil"],
};

/** Carries a command out while the platform has no randomness: whatever needs an id panics in its transaction. */
function withoutRandomness(work) {
  Object.defineProperty(crypto, "getRandomValues", {
    configurable: true,
    value: () => {
      throw new Error("no randomness");
    },
  });
  try {
    return work();
  } finally {
    delete crypto.getRandomValues;
  }
}

const WATCH = "Watch";

/** A principal's commands, and a queue's, in the order of their enums in durable-objects/src/commands. */
const PRINCIPAL_COMMANDS = [
  "Send",
  "GetTask",
  "ListTasks",
  "CancelTask",
  "Grant",
  "EndTurn",
  "UseTool",
  "Replay",
  "WakeFailed",
  "Trusted",
  "Agents",
];
const QUEUE_COMMANDS = ["Notify", "Take", "Assign", "Inspect", "Heartbeat", "End", "CallTool"];

/** The number that postcard writes at an offset, and what stands behind it. */
function varint(bytes, offset) {
  let value = 0;
  for (let shift = 0; ; shift += 7) {
    const byte = bytes[offset];
    offset += 1;
    value |= (byte & 127) << shift;
    if (byte < 128) return [value, offset];
  }
}

/** The kind of a principal's command stands behind two texts: whose it is, and the resident. */
function principalKind(bytes) {
  let offset = 0;
  for (let text = 0; text < 2; text += 1) {
    const [length, start] = varint(bytes, offset);
    offset = start + length;
  }
  return PRINCIPAL_COMMANDS[varint(bytes, offset)[0]];
}

function faulty(Class, kindOf) {
  return class extends Class {
    #armed;

    /** The next command of this kind has this fault, before it is carried out, during that (a panic), or after. */
    arm(command, when, fault) {
      this.#armed = { command, when, fault };
    }

    /** The platform refuses the next so many of these calls, of statements those that have a text in them. */
    refuse({ what, times, matching }) {
      const [target, name] = PLATFORM[what](this.ctx);
      let left = times;
      delete target[name];
      const real = target[name].bind(target);
      target[name] = (...given) => {
        if (left === 0 || !String(given[0]).includes(matching)) return real(...given);
        left -= 1;
        throw new Error("refused by a test");
      };
    }

    /** A command as no version has ever written it. */
    garble() {
      try {
        return super.call(new Uint8Array([255, 255, 255]));
      } catch (error) {
        return String(error);
      }
    }

    /** A watcher's upgrade that names nothing to watch. */
    mislead(name) {
      try {
        return super.fetch(new Request(`https://object/${name}`)).status;
      } catch (error) {
        return String(error);
      }
    }

    /** How many watchers the platform holds for this object. */
    watchers() {
      return this.ctx.getWebSockets().length;
    }

    #take(command) {
      const armed = this.#armed;
      if (armed?.command !== command) return {};
      this.#armed = undefined;
      return { [armed.when]: () => FAULTS[armed.fault](this.ctx) };
    }

    async call(bytes) {
      const { before, during, after } = this.#take(kindOf(bytes));
      await before?.();
      const work = () => super.call(bytes);
      const answer = await (during ? withoutRandomness(work) : work());
      await after?.();
      return answer;
    }

    async fetch(request) {
      const { before, after } = this.#take(WATCH);
      const refusal = await before?.();
      if (refusal) return refusal;
      const response = await super.fetch(request);
      await after?.();
      return response;
    }
  };
}

export const PrincipalObject = faulty(Principal, principalKind);
export const WakeQueueObject = faulty(WakeQueue, (bytes) => QUEUE_COMMANDS[varint(bytes, 0)[0]]);

/** Lets everything here live so much later, in milliseconds. Timers go on as they were set. */
function advanceClock(aheadMs) {
  const now = Date.now;
  Date.now = () => now.call(Date) + aheadMs;
}

/** Requests under /faults/ go to the object they name, everything else to the Worker. */
export default {
  async fetch(request, env, ctx) {
    const [, root, binding, name, method] = new URL(request.url).pathname.split("/");
    if (root !== "faults") return worker.fetch(request, env, ctx);
    if (binding === "nothing") return worker.fetch({}, env, ctx);
    if (binding === "clock") {
      advanceClock(Number(name));
      return Response.json(true);
    }
    const object = env[binding].getByName(name);
    if (method === "watchers") return Response.json(await object.watchers());
    if (method === "garble") await object.garble();
    if (method === "mislead") await object.mislead("nothing");
    if (method === "refuse") await object.refuse(await request.json());
    if (method === "arm") {
      const { command, when, fault } = await request.json();
      await object.arm(command, when, fault);
    }
    return Response.json(true);
  },
};
