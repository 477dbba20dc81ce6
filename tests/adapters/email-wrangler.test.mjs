// The email adapter as wrangler runs it: its own configuration, Email Routing's local handler, the `send_email` binding, and
// the service bindings between two Workers.

import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { parse, stringify } from "smol-toml";

import { call } from "../support/http.mjs";
import { keepUntilExit } from "../support/processes.mjs";
import { Resident } from "../support/resident.mjs";
import { until } from "../support/until.mjs";
import { mailOf, newMessageId } from "./mails.mjs";
import { WranglerDev } from "./wrangler-dev.mjs";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const PERSON = "ann@mail.example.com";
const AGENT = "agent@example.com";

const secret = () => randomBytes(24).toString("base64url");
const tokens = { source: secret(), resident: secret(), alice: secret() };

/** A configuration of the repository's, with other vars and absolute paths, and without what a build runs. */
async function configOf(path, change) {
  const config = parse(await readFile(join(ROOT, path), "utf8"));
  delete config.build;
  change(config);
  return stringify(config);
}

const credentials = [
  { token: tokens.source, principal: "alice", role: "source" },
  { token: tokens.alice, principal: "alice" },
  { token: tokens.resident, role: "resident" },
];
const planeConfig = await configOf("wrangler.toml", (config) => {
  config.main = join(ROOT, "build/worker.mjs");
  config.base_dir = join(ROOT, "build");
  config.services = [{ binding: "SOURCE_EMAIL", service: "a2a-email", entrypoint: "Settlements" }];
  config.vars = { ...config.vars, A2A_CREDENTIALS: JSON.stringify({ credentials }) };
});
const emailConfig = await configOf("adapters/email/wrangler.toml", (config) => {
  config.main = join(ROOT, "adapters/email/index.mjs");
  config.vars = { ...config.vars, ALLOWED_SENDERS: PERSON, A2A_TOKEN: tokens.source };
});

const folder = keepUntilExit(await mkdtemp(join(tmpdir(), "a2a-wrangler-")));
const [plane, email] = await Promise.all([
  WranglerDev.start(folder, planeConfig, "plane"),
  WranglerDev.start(folder, emailConfig, "email"),
]);
const resident = new Resident(plane, tokens.resident, randomUUID());

/** Routes a mail as Email Routing does. */
async function route(mail) {
  const query = new URLSearchParams({ from: PERSON, to: AGENT, format: "json" });
  const body = mailOf({ from: PERSON, to: AGENT, ...mail });
  const answer = await call(`${email.url}/cdn-cgi/local/email?${query}`, "POST", { body });
  assert.equal(answer.json?.outcome, "ok", `${answer.text}\n${email.log}`);
  assert.equal(answer.json.rejectReason, undefined);
}

/** The mail with this number that the binding has sent: its text, and the Message-ID that it was given. */
async function sent(number) {
  const path = await until(`mail ${number} was sent`, () => {
    const paths = Array.from(email.log.matchAll(/^Text: (.+)$/gm), ([, file]) => file.trim());
    return paths[number - 1];
  });
  return { text: await readFile(path, "utf8"), messageId: `<${basename(path, ".txt")}>` };
}

test("a mail, a question by mail, its answer by a direct reply, and the last answer", async () => {
  const messageId = newMessageId();
  await email.logged(/TASK_PLANE[^\n]*\[connected\]/);
  await plane.logged(/SOURCE_EMAIL[^\n]*\[connected\]/);
  await route({ messageId, subject: "Order", text: "one pizza" });
  const first = await resident.turn();
  await first.ask("Which size?");
  await first.end();
  const question = await sent(1);
  assert.match(question.text, /^Which size\?\n/);

  await route({
    subject: "Re: Order",
    text: "Large.",
    inReplyTo: question.messageId,
    references: [messageId, question.messageId],
  });
  const second = await resident.turn();
  assert.equal(second.taskId, first.taskId);
  await second.complete("It is on its way.");
  await second.end();
  assert.match((await sent(2)).text, /^It is on its way\.\n/);
  const list = await call(`${plane.url}/tasks`, "GET", { token: tokens.alice });
  assert.equal(list.json.totalSize, 1);
});
