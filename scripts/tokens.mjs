// Makes a token and prints it with its entry for A2A_CREDENTIALS, which holds only the token's hash.
//
//   node scripts/tokens.mjs --principal NAME [--resident NAME]     for a client; its work goes to that resident
//   node scripts/tokens.mjs --role resident [--resident NAME]      for a resident

import { createHash, randomBytes } from "node:crypto";
import { parseArgs } from "node:util";

/** 256 random bits, as text that needs no quoting anywhere. */
export function newToken() {
  return randomBytes(32).toString("base64url");
}

/** The hash by which a credential names its token, in hexadecimal. */
export function tokenSha256(token) {
  return createHash("sha256").update(token).digest("hex");
}

if (process.argv[1] === import.meta.filename) {
  const { values } = parseArgs({
    options: { principal: { type: "string" }, role: { type: "string" }, resident: { type: "string" } },
  });
  if (values.principal === undefined && values.role !== "resident") {
    console.error("a principal is needed: node scripts/tokens.mjs --principal NAME, or --role resident");
    process.exit(2);
  }
  const token = newToken();
  console.log(`token, for the caller; it is shown only now:\n  ${token}`);
  console.log(`its entry for A2A_CREDENTIALS, in {"credentials": [ ... ]}:`);
  console.log(`  ${JSON.stringify({ tokenSha256: tokenSha256(token), ...values })}`);
}
