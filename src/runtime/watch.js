// The Worker's end of a watcher's WebSocket: read frame by frame, or pumped into a server-sent event stream.

import { headersFrom } from "./glue.js";

/** UTF-16 units of frames that may wait for a slow client, beyond the first of them, before it is given up. */
const BACKLOG_UNITS = 1 << 20;

/** Bytes of one write: each that is taken shows that the client goes on reading, however large a frame is. */
const WRITE_BYTES = 1 << 16;

/** Frames one by one, for one reader at a time. */
export class FrameReader {
  #socket;
  #frames = [];
  #closed = false;
  #waiting;
  #ticker;

  constructor(socket, tickMs, ping) {
    this.#socket = socket;
    socket.addEventListener("message", (event) => {
      if (typeof event.data !== "string" || event.data === "pong") return;
      this.#frames.push(event.data);
      this.#waiting?.();
    });
    const ended = () => {
      this.#end();
      this.#waiting?.();
    };
    socket.addEventListener("close", ended);
    socket.addEventListener("error", ended);
    socket.accept();
    this.#ticker = setInterval(() => attempt(() => socket.send(ping)), tickMs);
  }

  /** The next frame; null after the deadline, undefined when there will be no more. */
  async next(deadlineMs) {
    if (this.#frames.length === 0 && !this.#closed) {
      await new Promise((resolve) => {
        const timer = setTimeout(resolve, deadlineMs);
        this.#waiting = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      this.#waiting = undefined;
    }
    if (this.#frames.length > 0) return this.#frames.shift();
    return this.#closed ? undefined : null;
  }

  close() {
    this.#end();
    attempt(() => this.#socket.close(1000, "done"));
  }

  #end() {
    this.#closed = true;
    clearInterval(this.#ticker);
  }
}

/**
 * Answers with a stream of what `eventOf` makes of each frame: undefined skips it, `+text` goes on, `.text` ends.
 * Frames that arrive while a write is under way go out together in the next one.
 */
export function streamFrames(socket, headerLines, tickMs, ping, comment, eventOf, context) {
  const { readable, writable } = new IdentityTransformStream();
  const response = new Response(readable, { headers: headersFrom(headerLines) });
  context.waitUntil(pump(socket, writable.getWriter(), tickMs, ping, comment, eventOf));
  return response;
}

async function pump(socket, writer, tickMs, ping, comment, eventOf) {
  const encoder = new TextEncoder();
  let pending = "";
  let behindFirst = 0;
  let ended = false;
  let silentTicks = 0;
  let wake;

  // The client is gone, or can't keep up: what is pending will never be read.
  const giveUp = (reason) => {
    pending = "";
    ended = true;
    writer.abort(reason).catch(() => {});
    wake?.();
  };
  const offer = (text) => {
    // A frame alone always goes out, whatever its size: what counts is what piles up behind it.
    behindFirst = pending === "" ? 0 : behindFirst + text.length;
    pending += text;
    if (behindFirst > BACKLOG_UNITS) giveUp("the client is too slow");
    wake?.();
  };
  socket.addEventListener("message", (event) => {
    if (ended || typeof event.data !== "string" || event.data === "pong") return;
    let next;
    try {
      next = eventOf(event.data);
    } catch {
      ended = true;
      wake?.();
      return;
    }
    if (next === undefined) return;
    ended = next[0] === ".";
    offer(next.slice(1));
  });
  const closed = () => {
    ended = true;
    wake?.();
  };
  socket.addEventListener("close", closed);
  socket.addEventListener("error", closed);
  socket.accept();
  const ticker = setInterval(() => {
    silentTicks += 1;
    if (silentTicks > 2) return giveUp("the client takes nothing");
    if (ended) return;
    attempt(() => socket.send(ping));
    if (pending === "") offer(comment);
  }, tickMs);

  try {
    for (;;) {
      if (pending !== "") {
        const bytes = encoder.encode(pending);
        pending = "";
        for (let start = 0; start < bytes.length; start += WRITE_BYTES) {
          await writer.write(bytes.subarray(start, start + WRITE_BYTES));
          silentTicks = 0;
        }
      } else if (ended) {
        break;
      } else {
        await new Promise((resolve) => {
          wake = resolve;
        });
        wake = undefined;
      }
    }
    await writer.close();
  } catch {
    // The client is gone; its watcher goes with it.
  } finally {
    ended = true;
    clearInterval(ticker);
    attempt(() => socket.close(1000, "done"));
  }
}

/** Runs what may fail because the socket is already closed. */
function attempt(action) {
  try {
    action();
  } catch {
    // Closed: the close event ends whatever there is to end.
  }
}
