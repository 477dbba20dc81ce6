// The module that workerd loads. It hands every event to the Rust exports and holds no logic of its own, except for
// one thing that Rust can't do for itself: replacing its own instance after a trap.

import { DurableObject } from "cloudflare:workers";
import {
  PrincipalObject as PrincipalCore,
  WakeQueueObject as WakeQueueCore,
  __wbg_reset_state as newInstance,
  fetch as answer,
  internalError,
  onInstanceLost,
} from "../../build/wasm/index.js";

/** As in glue.js, which the build gives a place of its own: no module state is shared with it. */
const ROWS = Symbol.for("a2a.rows");

let generation = 0;
let lost = false;
watchInstance();

function watchInstance() {
  onInstanceLost(() => {
    lost = true;
  });
}

/** To be called before anything in the instance is: after a trap it makes a new one. */
function ensureInstance() {
  if (!lost) return;
  lost = false;
  newInstance();
  generation += 1;
  watchInstance();
  console.error(JSON.stringify({ event: "instance_replaced", generation }));
}

export default {
  async fetch(request, env, ctx) {
    ensureInstance();
    try {
      return await answer(request, env, ctx);
    } catch (error) {
      console.error(JSON.stringify({ event: "request_failed", reason: String(error?.message ?? error) }));
      ensureInstance();
      return internalError();
    }
  },
};

/** An object class whose work is done by a Rust class, made at the first event and anew in every new instance. */
function objectClass(Core) {
  return class extends DurableObject {
    #core;
    #generation = -1;

    #live() {
      ensureInstance();
      if (this.#generation !== generation) {
        this.#core = new Core(this.ctx, this.env);
        this.#generation = generation;
      }
      return this.#core;
    }

    /**
     * One command from the Worker or another object, as bytes. Its answer, and the rows that it has read and written: those
     * before its first wait, where it has to wait.
     */
    call(command) {
      const core = this.#live();
      const { sql } = this.ctx.storage;
      sql[ROWS] = [0, 0];
      const answer = core.call(command);
      const rows = sql[ROWS];
      return typeof answer?.then === "function" ? answer.then((value) => [value, rows]) : [answer, rows];
    }

    /** A watcher's upgrade. */
    fetch(request) {
      return this.#live().fetch(request);
    }

    alarm() {
      return this.#live().alarm();
    }

    webSocketMessage(socket, message) {
      return this.#live().webSocketMessage(socket, message);
    }

    webSocketClose(socket, code, reason, wasClean) {
      return this.#live().webSocketClose(socket, code, reason, wasClean);
    }

    webSocketError(socket, error) {
      return this.#live().webSocketError(socket, error);
    }
  };
}

export const PrincipalObject = objectClass(PrincipalCore);
export const WakeQueueObject = objectClass(WakeQueueCore);
