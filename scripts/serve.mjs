// Serves the built Worker on workerd itself, with its objects on disk. `make dev`, the tests and the benchmark use it.
//
//   node scripts/serve.mjs [--port N] [--state FOLDER]
//
// The Worker gets the vars of wrangler.toml and .dev.vars. It may call loopback addresses and no others.

import { spawn } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { parseArgs } from "node:util";
import { isMain } from "./main-module.mjs";
import { readDevVars, readWorkerSettings, ROOT } from "./settings.mjs";
import { variableOf, workerdConfig } from "./workerd-config.mjs";

const WORKERD = path.join(ROOT, "node_modules/.bin/workerd");
const BUILD = path.join(ROOT, "build");

/** The served Worker's name. */
const MAIN = "main";

/** How long workerd may take until it listens. It needs some 50 ms; a machine under load needs more. */
const START_TIMEOUT_MS = 30_000;

/** How long workerd may take to stop when asked, before it is killed. */
const STOP_TIMEOUT_MS = 5_000;

/** How much of the end of workerd's output is kept, in characters. */
const LOG_CHARACTERS = 1 << 18;

/**
 * One ES module: its text, or the file that holds it.
 * @typedef {{ source: string } | { path: string }} ModuleSource
 */

/**
 * A Worker beside the served one.
 * @typedef {object} OtherWorker
 * @property {ModuleSource} module
 * @property {Record<string, string>} [vars]
 * @property {Record<string, string>} [services] binding name → Worker name, or `name#Entrypoint`; `main` is the served one
 * @property {Record<string, string>} [objects] binding name → class name
 * @property {boolean} [listens] it answers on a port of its own, too
 */

/**
 * @typedef {object} ServeOptions
 * @property {string} state the folder for the objects' storage; made if absent, and kept
 * @property {number} [port] 0, the default, takes a free one
 * @property {Record<string, string>} [vars] instead of those of wrangler.toml and .dev.vars
 * @property {ModuleSource} [entry] a module in front: it may import `./worker.mjs` and must export what that does
 * @property {Record<string, OtherWorker>} [workers] by name
 * @property {Record<string, string>} [services] binding name → Worker name, or `name#Entrypoint`, or one of `folders`
 * @property {Record<string, string>} [folders] name → folder of files, to be bound as a service
 * @property {Record<string, string>} [objects] further object bindings, for the classes that `entry` adds
 * @property {string[]} [outbound] what the Workers may reach; by default loopback alone
 * @property {(chunk: string) => void} [onOutput] gets what workerd and the Workers print
 */

/**
 * @typedef {object} Server
 * @property {string} url without a trailing slash
 * @property {number} port
 * @property {Record<string, string>} urls of the other Workers that listen, by name
 * @property {number} pid of workerd; another after `restart`
 * @property {Promise<void>} exited when workerd has ended, for whatever reason; another after `restart`
 * @property {() => string} output the end of what workerd and the Workers have printed since the first start
 * @property {() => Promise<void>} stop asks workerd to end, and waits for it
 * @property {() => Promise<void>} kill ends workerd at once, as a crash would, and waits for it
 * @property {() => Promise<void>} restart starts workerd anew, on the same port and state; stops it first if it runs
 */

/**
 * Starts workerd and resolves once it accepts connections. It ends with this process.
 *
 * @param {ServeOptions} options
 * @returns {Promise<Server>}
 */
export async function serve(options) {
  const state = path.resolve(options.state);
  const objectsFolder = path.join(state, "objects");
  await mkdir(objectsFolder, { recursive: true, mode: 0o700 });
  const { workers, environment } = await planWorkers(options, state);

  let output = "";
  const onOutput = (chunk) => {
    output = (output + chunk).slice(-LOG_CHARACTERS);
    options.onOutput?.(chunk);
  };
  const listening = Object.entries(options.workers ?? {}).flatMap(([name, { listens }]) =>
    listens ? [[name, 0]] : [],
  );
  const start = async (ports) => {
    const config = path.join(state, "workerd.capnp");
    const outbound = options.outbound ?? ["local"];
    const sockets = Object.fromEntries(Object.entries(ports).map(([name, port]) => [name, `127.0.0.1:${port}`]));
    await writeFile(config, workerdConfig({ workers, sockets, objectsFolder, folders: options.folders, outbound }));
    return startWorkerd(config, environment, Object.keys(sockets), onOutput);
  };
  let running = await start({ [MAIN]: options.port ?? 0, ...Object.fromEntries(listening) });
  const { ports } = running;
  const urls = Object.fromEntries(Object.entries(ports).map(([name, port]) => [name, `http://127.0.0.1:${port}`]));

  return {
    url: urls[MAIN],
    port: ports[MAIN],
    urls,
    get pid() {
      return running.pid;
    },
    get exited() {
      return running.exited;
    },
    output: () => output,
    stop: () => running.end("SIGTERM"),
    kill: () => running.end("SIGKILL"),
    async restart() {
      await running.end("SIGTERM");
      running = await start(ports);
    },
  };
}

/**
 * @param {ServeOptions} options
 * @param {string} state
 */
async function planWorkers(options, state) {
  const settings = await readWorkerSettings();
  const { compatibilityDate, compatibilityFlags } = settings;
  /** @type {Record<string, string>} */
  const environment = {};
  const environmentFor = (worker, vars) => {
    for (const [name, value] of Object.entries(vars)) environment[variableOf(worker, name)] = value;
    return Object.keys(vars);
  };

  const built = [
    { name: "worker.mjs", type: "esModule", file: path.relative(state, path.join(BUILD, "worker.mjs")) },
    { name: "worker.wasm", type: "wasm", file: path.relative(state, path.join(BUILD, "worker.wasm")) },
  ];
  const entry = options.entry ? [await moduleFile("entry.mjs", options.entry, state)] : [];
  const main = {
    name: MAIN,
    modules: [...entry, ...built],
    vars: environmentFor(MAIN, options.vars ?? { ...settings.vars, ...(await readDevVars()) }),
    services: options.services ?? {},
    objects: { ...settings.objects, ...options.objects },
  };
  const others = await Promise.all(
    Object.entries(options.workers ?? {}).map(async ([name, worker]) => ({
      name,
      modules: [await moduleFile(`${name}.mjs`, worker.module, state)],
      vars: environmentFor(name, worker.vars ?? {}),
      services: worker.services ?? {},
      objects: worker.objects ?? {},
    })),
  );
  return {
    workers: [main, ...others].map((worker) => ({ ...worker, compatibilityDate, compatibilityFlags })),
    environment,
  };
}

/** @param {string} name @param {ModuleSource} module @param {string} state */
async function moduleFile(name, module, state) {
  if ("path" in module) return { name, type: "esModule", file: path.relative(state, path.resolve(module.path)) };
  await writeFile(path.join(state, name), module.source);
  return { name, type: "esModule", file: name };
}

/** Started processes that still run: they end with this one. @type {Set<import("node:child_process").ChildProcess>} */
const children = new Set();
process.on("exit", () => {
  for (const child of children) child.kill("SIGKILL");
});

/**
 * @param {string} config
 * @param {Record<string, string>} environment all that workerd gets
 * @param {string[]} sockets their names
 * @param {(chunk: string) => void} onOutput
 */
async function startWorkerd(config, environment, sockets, onOutput) {
  const child = spawn(WORKERD, ["serve", "--control-fd=3", config], {
    cwd: path.dirname(config),
    // A group of its own: Ctrl-C in a terminal reaches this process, which stops workerd in its own order.
    detached: true,
    env: environment,
    stdio: ["ignore", "pipe", "pipe", "pipe"],
  });
  children.add(child);
  let output = "";
  const collect = (chunk) => {
    output = (output + chunk).slice(-LOG_CHARACTERS);
    onOutput(String(chunk));
  };
  child.stdout.setEncoding("utf8").on("data", collect);
  child.stderr.setEncoding("utf8").on("data", collect);
  /** @type {Promise<void>} */
  const exited = new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", () => {
      children.delete(child);
      resolve();
    });
  });

  const end = async (signal) => {
    const killer = setTimeout(() => child.kill("SIGKILL"), STOP_TIMEOUT_MS);
    child.kill(signal);
    await exited;
    clearTimeout(killer);
  };
  try {
    return { ports: await listening(child, sockets, exited), pid: /** @type {number} */ (child.pid), exited, end };
  } catch (error) {
    await end("SIGKILL").catch(() => {});
    throw new Error(`workerd did not start: ${error.message}\n${output}`);
  }
}

/**
 * The port of each socket, once workerd listens on all: it says so, a line of JSON per socket.
 *
 * @param {import("node:child_process").ChildProcess} child
 * @param {string[]} sockets
 * @param {Promise<void>} exited
 * @returns {Promise<Record<string, number>>}
 */
async function listening(child, sockets, exited) {
  const control = /** @type {import("node:stream").Readable} */ (child.stdio[3]);
  let timer;
  const ports = new Promise((resolve) => {
    let lines = "";
    control.setEncoding("utf8").on("data", (chunk) => {
      lines += chunk;
      const messages = lines
        .split("\n")
        .slice(0, -1)
        .map((line) => JSON.parse(line));
      const listens = messages.filter(({ event, socket }) => event === "listen" && sockets.includes(socket));
      if (listens.length === sockets.length)
        resolve(Object.fromEntries(listens.map(({ socket, port }) => [socket, port])));
    });
  });
  const silent = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`it was silent for ${START_TIMEOUT_MS} ms`)), START_TIMEOUT_MS);
  });
  const gone = exited.then(() => Promise.reject(new Error("it exited")));
  try {
    return await Promise.race([ports, silent, gone]);
  } finally {
    clearTimeout(timer);
    // It exits one day; by then nobody waits here.
    gone.catch(() => {});
  }
}

if (isMain(import.meta.url)) {
  const { values } = parseArgs({
    options: { port: { type: "string", default: "8787" }, state: { type: "string", default: ".state/serve" } },
  });
  const server = await serve({
    port: Number(values.port),
    state: values.state,
    onOutput: (chunk) => process.stderr.write(chunk),
  });
  console.log(server.url);
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => server.stop());
  await server.exited;
}
