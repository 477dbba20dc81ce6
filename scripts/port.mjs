// The port of `make dev`. Run by itself, it says whether that port can be had, so that nobody waits for a build first.

import { createServer } from "node:net";
import { isMain } from "./main-module.mjs";

/** PORT, or 8787. Throws where it is none. */
export function wantedPort() {
  const port = Number(process.env.PORT ?? 8787);
  if (!Number.isInteger(port) || port < 1 || port > 65535) {
    throw new Error(`PORT is '${process.env.PORT}': it must be a port number, 1 to 65535`);
  }
  return port;
}

/** Throws, with what to do, unless a server could listen there now. workerd would say so too, less plainly. */
export async function checkFree(port) {
  const probe = createServer();
  await new Promise((resolve, reject) => {
    probe.once("error", reject);
    probe.listen(port, "127.0.0.1", () => resolve(undefined));
  }).catch((error) => {
    const problem = error.code === "EADDRINUSE" ? "is taken" : `can't be used: ${error.message}`;
    const other = port === 8788 ? 8789 : 8788;
    throw new Error(
      `port ${port} ${problem}\n  what to do: stop what uses it, or choose another: PORT=${other} make dev`,
    );
  });
  await new Promise((resolve) => probe.close(resolve));
}

if (isMain(import.meta.url)) {
  try {
    await checkFree(wantedPort());
  } catch (error) {
    console.error(`failed: ${error.message}`);
    process.exit(1);
  }
}
