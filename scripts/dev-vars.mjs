// The tokens for local use: made once, kept in .dev.vars, which git ignores and only its owner may read.

import { open } from "node:fs/promises";
import { DEV_VARS, readDevVars } from "./settings.mjs";
import { newToken, tokenSha256 } from "./tokens.mjs";

const CLIENT = "A2A_DEV_CLIENT_TOKEN";
const RESIDENT = "A2A_DEV_RESIDENT_TOKEN";

/**
 * Makes .dev.vars if it is absent; what it holds is never changed.
 *
 * @returns {Promise<{ vars: Record<string, string>, clientToken: string, residentToken: string }>} `vars` are for the
 *   Worker: without the tokens themselves
 */
export async function devVars(path = DEV_VARS) {
  await makeOnce(path);
  const { [CLIENT]: clientToken, [RESIDENT]: residentToken, ...vars } = await readDevVars(path);
  if (!clientToken || !residentToken || !vars.A2A_CREDENTIALS) {
    throw new Error(
      `.dev.vars lacks ${CLIENT}, ${RESIDENT} or A2A_CREDENTIALS: add them, or delete the file to have new ones made`,
    );
  }
  return { vars, clientToken, residentToken };
}

async function makeOnce(path) {
  let file;
  try {
    file = await open(path, "wx", 0o600);
  } catch (error) {
    if (error.code === "EEXIST") return;
    throw error;
  }
  const client = newToken();
  const resident = newToken();
  const credentials = {
    credentials: [
      { tokenSha256: tokenSha256(client), principal: "developer" },
      { tokenSha256: tokenSha256(resident), role: "resident" },
    ],
  };
  try {
    await file.writeFile(
      [
        `# Tokens for local use. Not for a deployment: make those with scripts/tokens.mjs.`,
        `${CLIENT}=${client}`,
        `${RESIDENT}=${resident}`,
        `A2A_CREDENTIALS='${JSON.stringify(credentials)}'`,
        ``,
      ].join("\n"),
    );
  } finally {
    await file.close();
  }
}
