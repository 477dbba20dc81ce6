// What happens when: everything random comes from one seed, so that a schedule can be run again.

/**
 * Numbers from 0 up to 1, the same for the same seed (mulberry32).
 *
 * @param {number} seed
 * @returns {() => number}
 */
export function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * @typedef {object} Disaster
 * @property {number} afterMs of work since the last one
 * @property {boolean} resident the resident is killed, too
 */

/**
 * @param {number} seed
 * @param {number} kills
 * @returns {Disaster[]}
 */
export function disasters(seed, kills) {
  const next = random(seed);
  return Array.from({ length: kills }, () => ({
    afterMs: 100 + Math.floor(next() * 1400),
    resident: next() < 0.35,
  }));
}
