// Writes a configuration for workerd: one Worker with its objects on disk, and others beside it.

/**
 * @typedef {object} Module
 * @property {string} name how other modules import it, without `./`
 * @property {"esModule" | "wasm"} type
 * @property {string} file relative to the configuration
 */

/**
 * @typedef {object} WorkerConfig
 * @property {string} name the service's name
 * @property {Module[]} modules the first is the entry
 * @property {string} compatibilityDate
 * @property {string[]} compatibilityFlags
 * @property {string[]} vars names of text bindings; their values come from the environment, see `variableOf`
 * @property {Record<string, string>} services binding name → service name, or `service#Entrypoint`
 * @property {Record<string, string>} objects binding name → class name, of this Worker
 */

/** The environment variable that holds a Worker's var, so that no secret is written into a file. */
export function variableOf(worker, name) {
  return `WORKER_${worker}_${name}`.replaceAll("-", "_");
}

/**
 * @param {object} options
 * @param {WorkerConfig[]} options.workers
 * @param {Record<string, string>} options.sockets a Worker's name → the address it answers on; the socket is named likewise
 * @param {string} options.objectsFolder absolute; must exist
 * @param {Record<string, string>} [options.folders] service name → absolute folder, whose files the service gives
 * @param {string[]} options.outbound what the Workers may reach: workerd's network names, or CIDR blocks
 * @returns {string} the text of a .capnp file
 */
export function workerdConfig({ workers, sockets, objectsFolder, folders = {}, outbound }) {
  const services = workers.map((worker, index) => `(name = ${text(worker.name)}, worker = .worker${index})`);
  services.push(
    ...Object.entries(folders).map(([name, path]) => `(name = ${text(name)}, disk = (path = ${text(path)}))`),
    `(name = "objects", disk = (path = ${text(objectsFolder)}, writable = true))`,
    `(name = "internet", network = (allow = ${list(outbound.map(text))}))`,
  );
  const listening = Object.entries(sockets).map(
    ([name, address]) => `(name = ${text(name)}, address = ${text(address)}, http = (), service = ${text(name)})`,
  );
  return [
    `using Workerd = import "/workerd/workerd.capnp";`,
    `const config :Workerd.Config = (`,
    `  services = ${list(services)},`,
    `  sockets = ${list(listening)},`,
    `);`,
    ...workers.map((worker, index) => `const worker${index} :Workerd.Worker = ${workerOf(worker)};`),
    ``,
  ].join("\n");
}

/** @param {WorkerConfig} worker */
function workerOf(worker) {
  const bindings = [
    ...worker.vars.map((name) => `(name = ${text(name)}, fromEnvironment = ${text(variableOf(worker.name, name))})`),
    ...Object.entries(worker.services).map(
      ([name, service]) => `(name = ${text(name)}, service = ${serviceOf(service)})`,
    ),
    ...Object.entries(worker.objects).map(
      ([name, className]) => `(name = ${text(name)}, durableObjectNamespace = ${text(className)})`,
    ),
  ];
  const classes = [...new Set(Object.values(worker.objects))].map(
    (name) => `(className = ${text(name)}, uniqueKey = ${text(`${worker.name}-${name}`)}, enableSql = true)`,
  );
  const modules = worker.modules.map(({ name, type, file }) => `(name = ${text(name)}, ${type} = embed ${text(file)})`);
  return [
    `(`,
    `  modules = ${list(modules)},`,
    `  compatibilityDate = ${text(worker.compatibilityDate)},`,
    `  compatibilityFlags = ${list(worker.compatibilityFlags.map(text))},`,
    `  bindings = ${list(bindings)},`,
    `  durableObjectNamespaces = ${list(classes)},`,
    ...(classes.length > 0 ? [`  durableObjectStorage = (localDisk = "objects"),`] : []),
    `)`,
  ].join("\n");
}

/** A service, or one of its entrypoints. */
function serviceOf(service) {
  const [name, entrypoint] = service.split("#");
  return entrypoint === undefined ? text(name) : `(name = ${text(name)}, entrypoint = ${text(entrypoint)})`;
}

function list(items) {
  return `[${items.join(", ")}]`;
}

/** A Cap'n Proto text literal. */
function text(value) {
  const escaped = value.replace(/["\\\x00-\x1f\x7f]/g, (character) =>
    character === '"' || character === "\\"
      ? `\\${character}`
      : `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`,
  );
  return `"${escaped}"`;
}
