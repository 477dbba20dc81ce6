// What the deployment says: nothing works until all that is required is there.

const REQUIRED = ["A2A_TOKEN", "GITHUB_WEBHOOK_SECRET", "GITHUB_TOKEN", "GITHUB_LOGIN"];

/** GitHub gives a request up after this time, in milliseconds. */
const TIMEOUT_MS = 10_000;

/** Whose words are taken by default: those who may write to the repository anyway. */
const ASSOCIATIONS = "OWNER,MEMBER,COLLABORATOR";

/**
 * Reads the Worker's environment.
 *
 * @param {Record<string, any>} env
 * @returns {{ missing: string[] } | { missing?: undefined, plane: any, token: string, secret: string, api: string,
 *   apiToken: string, timeoutMs: number, login: string, mention: string, associations: string[] }} `missing` names what is not there
 */
export function settingsOf(env) {
  const missing = REQUIRED.filter((name) => typeof env[name] !== "string" || env[name] === "");
  if (typeof env.TASK_PLANE?.fetch !== "function") missing.push("TASK_PLANE");
  if (missing.length > 0) return { missing };
  return {
    plane: env.TASK_PLANE,
    token: env.A2A_TOKEN,
    secret: env.GITHUB_WEBHOOK_SECRET,
    api: (env.GITHUB_API_URL || "https://api.github.com").replace(/\/+$/, ""),
    apiToken: env.GITHUB_TOKEN,
    timeoutMs: Number(env.GITHUB_TIMEOUT_MS) || TIMEOUT_MS,
    login: env.GITHUB_LOGIN,
    mention: env.GITHUB_MENTION || `@${env.GITHUB_LOGIN}`,
    associations: (env.GITHUB_ASSOCIATIONS || ASSOCIATIONS).split(",").map((each) => each.trim().toUpperCase()),
  };
}
