// Bytes on a socket, for requests that no HTTP client would make.

import { connect } from "node:net";

import { within } from "./until.mjs";

/**
 * Sends bytes and gives what comes back until the server closes.
 *
 * @param {import("./deployment.mjs").Deployment} deployment
 * @param {string | Buffer} bytes
 * @param {object} how
 * @param {boolean} [how.end] half-close after sending
 * @param {boolean} [how.destroy] reset the connection after sending; nothing comes back
 * @param {string} [how.until] close once this has come back
 * @returns {Promise<string>}
 */
export function exchange(deployment, bytes, { end = false, destroy = false, until }) {
  const closed = new Promise((resolve) => {
    let received = "";
    const socket = connect(deployment.server.port, "127.0.0.1", () => {
      socket.write(bytes, () => {
        if (destroy) socket.resetAndDestroy();
        else if (end) socket.end();
      });
    });
    socket.setEncoding("latin1");
    socket.on("data", (text) => {
      received += text;
      if (until !== undefined && received.includes(until)) socket.destroy();
    });
    socket.on("error", () => {}); // A reset is one way to close.
    socket.on("close", () => resolve(received));
  });
  return within("the server closes the connection", closed, 10_000);
}
