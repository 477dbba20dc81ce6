// Makes a token and prints it with its entry for A2A_CREDENTIALS, which holds only the token's hash.
//
//   node scripts/tokens.mjs --principal NAME [--role ROLE] [--resident NAME]
//   node scripts/tokens.mjs --role resident [--resident NAME]
//
// ROLE is client (the default), resident, source, trusted or operator. For a resident, --resident is the queue that it
// serves; for others, the queue that gets the principal's work.

import { createHash, randomBytes } from "node:crypto";
import { parseArgs } from "node:util";
import { isMain } from "./main-module.mjs";

const ROLES = ["client", "resident", "source", "trusted", "operator"];

/** What the Worker takes as a name, too. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/;

/** 256 random bits, as text that needs no quoting anywhere. */
export function newToken() {
  return randomBytes(32).toString("base64url");
}

/** The hash by which a credential names its token, in hexadecimal. */
export function tokenSha256(token) {
  return createHash("sha256").update(token).digest("hex");
}

/** What the command line asks for. Throws where the Worker would refuse the entry. */
function readOptions() {
  const { values } = parseArgs({
    options: { principal: { type: "string" }, role: { type: "string" }, resident: { type: "string" } },
  });
  const { principal, role, resident } = values;
  if (role !== undefined && !ROLES.includes(role)) {
    throw new Error(`--role is '${role}': it must be one of ${ROLES.join(", ")}`);
  }
  if (principal === undefined && role !== "resident") {
    throw new Error("a principal is needed: --principal NAME, unless it is --role resident");
  }
  for (const [option, name] of Object.entries({ principal, resident })) {
    if (name !== undefined && !NAME.test(name)) {
      throw new Error(
        `--${option} is '${name}': it must be 1 to 128 letters, digits, '.', '_', ':' or '-', ` +
          "beginning with a letter or digit",
      );
    }
  }
  return values;
}

if (isMain(import.meta.url)) {
  try {
    const entry = readOptions();
    const token = newToken();
    console.log(`token, for the caller; it is shown only now:\n  ${token}`);
    console.log(`its entry for A2A_CREDENTIALS, in {"credentials": [ ... ]}:`);
    console.log(`  ${JSON.stringify({ tokenSha256: tokenSha256(token), ...entry })}`);
  } catch (error) {
    console.error(
      `failed: ${error.message}\n  usage: node scripts/tokens.mjs [--principal NAME] [--role ROLE] [--resident NAME]`,
    );
    process.exit(2);
  }
}
