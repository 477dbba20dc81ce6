// A module in front of the built Worker, for what workerd alone does not offer: a binding of Cloudflare's platform, and
// a request that came by https.

/**
 * @param {object} [options]
 * @param {string} [options.bindings] an object expression: further bindings
 * @param {string} [options.origin] the origin that requests seem to have come to
 */
export function frontOf({ bindings = "{}", origin }) {
  const moved = `new Request(${JSON.stringify(origin)} + url.pathname + url.search, request)`;
  return `
    import worker from "./worker.mjs";
    export * from "./worker.mjs";
    const bindings = ${bindings};
    export default {
      fetch(request, env, ctx) {
        const url = new URL(request.url);
        return worker.fetch(${origin ? moved : "request"}, { ...env, ...bindings }, ctx);
      },
    };
  `;
}
