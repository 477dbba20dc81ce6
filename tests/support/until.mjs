// Waiting without fixed sleeps: look again, often, until a deadline.

const LOOK_AGAIN_MS = 15;

/**
 * Calls `look` until it gives something truthy, and gives that. An exception of `look` counts as "not yet".
 *
 * @template T
 * @param {string} what what is waited for, for the failure's message
 * @param {() => T | Promise<T>} look
 * @param {number} [timeoutMs]
 * @returns {Promise<T>}
 */
export async function until(what, look, timeoutMs = 15_000) {
  const deadline = Date.now() + timeoutMs;
  let cause;
  for (;;) {
    try {
      const seen = await look();
      if (seen) return seen;
      cause = undefined;
    } catch (error) {
      cause = error;
    }
    if (Date.now() > deadline) throw new Error(`not within ${timeoutMs} ms: ${what}`, { cause });
    await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS));
  }
}

/**
 * The promise's outcome, or a failure once the deadline has passed.
 *
 * @template T
 * @param {string} what
 * @param {Promise<T>} promise
 * @param {number} [timeoutMs]
 * @returns {Promise<T>}
 */
export function within(what, promise, timeoutMs = 15_000) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not within ${timeoutMs} ms: ${what}`)), timeoutMs);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
