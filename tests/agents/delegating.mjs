// What tests of outbound agents have in common.

/**
 * The vars of a deployment that may call agents on this machine.
 *
 * @param {Record<string, string>} urls by alias, in capitals
 * @param {string[]} [enabled] the aliases enabled by default
 * @param {Record<string, string>} [more] further vars
 */
export function remoteVars(urls, enabled = [], more = {}) {
  const remotes = Object.entries(urls).map(([alias, url]) => [`A2A_REMOTE_${alias}`, url]);
  return {
    A2A_REMOTES_LOOPBACK: "on",
    A2A_REMOTES_ENABLED: JSON.stringify(enabled),
    ...Object.fromEntries(remotes),
    ...more,
  };
}

/** Sends a text to an agent, or to a task of it, and gives what the tool tells of it. */
export async function delegate(turn, address, text, fields = {}) {
  const answer = await turn.tool("a2a_send_agent", { address, text, ...fields });
  if (answer.status !== 200) throw new Error(`not sent: ${answer.status} ${answer.text}`);
  return answer.json;
}
