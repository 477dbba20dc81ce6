// The served OpenAPI document is one, by the judgement of a validator that is not ours.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { Deployment } from "../support/deployment.mjs";

const PYTHON = fileURLToPath(new URL("../../.tools/python/bin/python", import.meta.url));

const VALIDATE = `
import json, sys
from openapi_spec_validator import OpenAPIV31SpecValidator
for error in OpenAPIV31SpecValidator(json.load(sys.stdin)).iter_errors():
    print("/".join(map(str, error.absolute_path)), error.message[:500])
`;

/** What is wrong with a document, a line per error. */
function errorsOf(document) {
  const run = spawnSync(PYTHON, ["-I", "-c", VALIDATE], { input: JSON.stringify(document), encoding: "utf8" });
  assert.equal(run.status, 0, run.stderr ?? "the Python packages are not installed: scripts/python.sh");
  return run.stdout;
}

const agent = await Deployment.start();
const document = await (await fetch(`${agent.url}/openapi.json`)).json();

test("the served document is valid OpenAPI 3.1", () => {
  assert.match(document.openapi, /^3\.1\./);
  assert.equal(errorsOf(document), "");
});

test("a document with a mistake is not", () => {
  assert.match(errorsOf({ ...document, paths: { "/tasks": { get: { responses: { 200: {} } } } } }), /paths\/.*tasks/);
  assert.match(errorsOf({ openapi: document.openapi, info: {}, paths: {} }), /title/);
});
