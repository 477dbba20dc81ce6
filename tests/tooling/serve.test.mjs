// How the tests and `make dev` run the Worker.

import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

import { serve } from "../../scripts/serve.mjs";

/** Stands in front of the built Worker and answers what these tests ask. */
const PROBE = `
  import * as worker from "./worker.mjs";
  export const { PrincipalObject, WakeQueueObject } = worker;
  export default {
    async fetch(request, env) {
      const url = new URL(request.url);
      if (url.pathname === "/reach") {
        const answer = await fetch(url.searchParams.get("url")).catch(() => undefined);
        return new Response(answer === undefined ? "refused" : "reached");
      }
      if (url.pathname === "/beside") return env.BESIDE.fetch(request);
      return new Response(env.VALUE);
    },
  };
`;

async function start(options = {}) {
  const state = await mkdtemp(join(tmpdir(), "a2a-serve-"));
  after(() => rm(state, { recursive: true, force: true }));
  const server = await serve({ state, vars: {}, entry: { source: PROBE }, ...options });
  after(() => server.kill());
  return { server, state };
}

async function get(server, path) {
  const answer = await fetch(server.url + path);
  return answer.text();
}

test("the Worker reaches loopback and nothing else", async () => {
  const { server } = await start({ vars: { VALUE: "" } });
  const reach = (url) => get(server, `/reach?url=${encodeURIComponent(url)}`);
  assert.equal(await reach(`${server.url}/`), "reached");
  // Addresses reserved for documentation: nobody answers there in any case, so it must be workerd that refuses.
  assert.equal(await reach("http://192.0.2.1/"), "refused");
  assert.equal(await reach("http://[2001:db8::1]/"), "refused");
});

test("vars reach the Worker whatever they hold, and no file", async () => {
  const value = `"quoted" \\back\\ \n two lines, ünïcode ☃`;
  const { server, state } = await start({ vars: { VALUE: value } });
  assert.equal(await get(server, "/"), value);
  for (const entry of await readdir(state, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const text = await readFile(join(entry.parentPath, entry.name), "latin1");
    assert.ok(!text.includes("two lines"), entry.name);
  }
});

test("a killed Worker is served again at the same address by another process", async () => {
  const { server } = await start({ vars: { VALUE: "here" } });
  const { pid, url } = server;
  await server.kill();
  await assert.rejects(fetch(url));
  await server.restart();
  assert.notEqual(server.pid, pid);
  assert.equal(server.url, url);
  assert.equal(await get(server, "/"), "here");
});

test("another Worker is reached by a service binding", async () => {
  const { server } = await start({
    workers: { beside: { module: { source: `export default { fetch: () => new Response("beside") };` } } },
    services: { BESIDE: "beside" },
  });
  assert.equal(await get(server, "/beside"), "beside");
});

test("a Worker that does not load is refused with workerd's reason", async () => {
  const state = await mkdtemp(join(tmpdir(), "a2a-serve-"));
  after(() => rm(state, { recursive: true, force: true }));
  await assert.rejects(serve({ state, vars: {}, entry: { source: "this is no JavaScript" } }), /SyntaxError/);
});
