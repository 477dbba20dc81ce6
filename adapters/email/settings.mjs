// What the deployment says: no mail is taken until all that is required is there.

/**
 * Reads the Worker's environment.
 *
 * @param {Record<string, any>} env
 * @returns {{ missing: string[], forwardTo?: string } | { missing?: undefined, plane: any, mailer: any, token: string,
 *   allowedSenders: string[], forwardTo?: string }} `missing` names what is not there
 */
export function settingsOf(env) {
  const missing = ["A2A_TOKEN", "ALLOWED_SENDERS"].filter((name) => typeof env[name] !== "string" || env[name] === "");
  if (typeof env.TASK_PLANE?.fetch !== "function") missing.push("TASK_PLANE");
  if (typeof env.SEND_EMAIL?.send !== "function") missing.push("SEND_EMAIL");
  const forwardTo = env.FORWARD_TO || undefined;
  if (missing.length > 0) return { missing, forwardTo };
  return {
    plane: env.TASK_PLANE,
    mailer: env.SEND_EMAIL,
    token: env.A2A_TOKEN,
    allowedSenders: env.ALLOWED_SENDERS.split(",").map((each) => each.trim().toLowerCase()),
    forwardTo,
  };
}

/**
 * Whether this address may write to the agent: it is listed, or its domain is (`@example.com`), or `*` is.
 *
 * @param {string[]} allowedSenders in lower case
 * @param {string} address
 */
export function isAllowed(allowedSenders, address) {
  const lower = address.toLowerCase();
  const domain = lower.slice(lower.lastIndexOf("@"));
  return allowedSenders.some((each) => each === "*" || each === lower || (each.startsWith("@") && each === domain));
}
