// All rows, in the specification's order.

import { AUTHORIZATION } from "./authorization.mjs";
import { BINDINGS } from "./bindings.mjs";
import { CACHING } from "./caching.mjs";
import { DELIVERY } from "./delivery.mjs";
import { ERRORS } from "./errors.mjs";
import { HTTP } from "./http.mjs";
import { IDENTIFIERS } from "./identifiers.mjs";
import { OPERATIONS } from "./operations.mjs";
import { PARAMETERS } from "./parameters.mjs";
import { SECURITY } from "./security.mjs";

/** @type {import("../table.mjs").Row[]} */
export const ROWS = [
  ...OPERATIONS,
  ...PARAMETERS,
  ...ERRORS,
  ...IDENTIFIERS,
  ...DELIVERY,
  ...BINDINGS,
  ...AUTHORIZATION,
  ...CACHING,
  ...HTTP,
  ...SECURITY,
];
