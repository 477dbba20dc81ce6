// Mail that comes in: what becomes a task, what goes on with one, and what is only counted.

import assert from "node:assert/strict";
import { test } from "node:test";

import { call } from "../support/http.mjs";
import { until } from "../support/until.mjs";
import { AGENT, EmailWorld, PERSON } from "./email-world.mjs";
import { multipart, newMessageId } from "./mails.mjs";

const world = await EmailWorld.start();

/** The last mail that the agent sent, once it has sent this many. */
const mailNumber = (count) =>
  until(`${count} mails went out`, () => world.service.sent.length >= count && world.service.sent[count - 1]);

test("a mail becomes a task with where it came from", async () => {
  const messageId = newMessageId();
  const { taskId } = await world.accepted({ messageId, subject: "=?utf-8?q?Caf=C3=A9?=", text: "Which one is open?" });
  const [part, ...more] = (await world.alice.task(taskId)).history[0].parts;
  assert.equal(part.text, "Subject: Café\n\nWhich one is open?");
  assert.equal(part.mediaType, "text/plain");
  assert.equal(more.length, 0);
  const answer = await call(`${world.agent.url}/trusted/v1/tasks/${taskId}`, "GET", { token: world.token });
  assert.equal(answer.json.source, "email");
  assert.deepEqual(answer.json.origin.nativeLocator, { messageId, from: PERSON, to: AGENT });
  await world.complete(taskId, "done");
});

test("a mail that is delivered again makes no second task, and the agent is not woken again", async () => {
  const mail = { messageId: newMessageId(), text: "once" };
  const { taskId } = await world.accepted(mail);
  for (let count = 0; count < 3; count += 1) assert.deepEqual(await world.receive(mail), { forwarded: [] });
  await world.complete(taskId, "done");
  assert.equal(await world.resident.take(200), undefined);
  const claims = "SELECT activation_id FROM claims WHERE task_id = ?";
  assert.equal((await world.agent.rows("PrincipalObject", claims, taskId)).length, 1);
});

test("a mail that comes again by another way is the same mail: another envelope sender, another case of the address", async () => {
  const mail = { messageId: newMessageId(), text: "once, by two ways" };
  const { taskId } = await world.accepted(mail);
  for (const envelope of [{ from: PERSON.replace("@", "+forwarded@") }, { to: AGENT.toUpperCase() }]) {
    assert.deepEqual(await world.receive(mail, envelope), { forwarded: [] }, JSON.stringify(envelope));
  }
  const before = world.service.sent.length;
  await world.complete(taskId, "done");
  assert.equal((await mailNumber(before + 1)).to, PERSON);
  assert.equal(await world.resident.take(200), undefined);
});

test("one Message-ID with another content is refused for good", async () => {
  const messageId = newMessageId();
  const { taskId } = await world.accepted({ messageId, text: "one" });
  const outcome = await world.receive({ messageId, text: "another" });
  assert.equal(outcome.rejected, "This mail can't be taken: DUPLICATE_MESSAGE_ID");
  await world.complete(taskId, "done");
});

test("the answer to the agent's question, by a direct reply, goes on with the task", async () => {
  const messageId = newMessageId();
  const { taskId, contextId } = await world.accepted({ messageId, subject: "Order", text: "one pizza" });
  const before = world.service.sent.length;
  await world.ask(taskId, "Which size?");
  const question = await mailNumber(before + 1);
  assert.equal(question.to, PERSON);
  assert.equal(question.from, AGENT);
  assert.equal(question.subject, "Re: Order");
  assert.match(question.text, /^Which size\?\n/);
  assert.equal(question.headers["In-Reply-To"], messageId);
  assert.equal(question.headers["References"], messageId);
  assert.equal(question.headers["Auto-Submitted"], "auto-replied");

  const answerId = newMessageId();
  const answered = await world.accepted({
    messageId: answerId,
    subject: "Re: Order",
    text: "Large.\n\n> Which size?",
    inReplyTo: question.messageId,
    references: [messageId, question.messageId],
  });
  assert.deepEqual(answered, { taskId, contextId });
  const turn = await world.turnOf(taskId);
  assert.equal((await turn.task()).history.at(-1).parts[0].text, "Subject: Re: Order\n\nLarge.\n\n> Which size?");
  await turn.complete("A large one is on its way.");
  await turn.end();
  const last = await mailNumber(before + 2);
  assert.match(last.text, /^A large one is on its way\.\n/);
  assert.equal(last.headers["In-Reply-To"], answerId);
  assert.equal(last.headers["References"], `${messageId} ${question.messageId} ${answerId}`);
});

test("References alone is no direct reply: the mail begins a new task in the same conversation", async () => {
  const messageId = newMessageId();
  const first = await world.accepted({ messageId, text: "one" });
  const before = world.service.sent.length;
  await world.ask(first.taskId, "Which?");
  const question = await mailNumber(before + 1);
  const references = [messageId, question.messageId];
  const second = await world.accepted({ text: "this one", references });
  assert.notEqual(second.taskId, first.taskId);
  assert.equal(second.contextId, first.contextId);
  assert.equal(await world.alice.state(first.taskId), "TASK_STATE_INPUT_REQUIRED");
  // Two mails answered at once are no direct reply to either.
  const both = await world.accepted({ text: "both", inReplyTo: `${messageId} ${question.messageId}`, references });
  assert.notEqual(both.taskId, first.taskId);
  await world.complete(second.taskId, "done");
  await world.complete(both.taskId, "done");
});

test("a reply to what the agent has finished begins a new task in the same conversation", async () => {
  const messageId = newMessageId();
  const first = await world.accepted({ messageId, text: "one" });
  const before = world.service.sent.length;
  await world.complete(first.taskId, "done");
  const answer = await mailNumber(before + 1);
  const thanks = await world.accepted({
    text: "thanks, and now the next",
    inReplyTo: answer.messageId,
    references: [messageId, answer.messageId],
  });
  assert.notEqual(thanks.taskId, first.taskId);
  assert.equal(thanks.contextId, first.contextId);
  await world.complete(thanks.taskId, "done");
});

test("a task id in a mail neither selects nor continues a task", async () => {
  const { taskId } = await world.accepted({ text: "begin" });
  const before = world.service.sent.length;
  await world.ask(taskId, "Which?");
  await mailNumber(before + 1);
  const other = await world.accepted({
    subject: `Re: ${taskId}`,
    text: `taskId: ${taskId}`,
    headers: { "Content-Type": "text/plain", "X-Task-Id": taskId },
  });
  assert.notEqual(other.taskId, taskId);
  assert.equal(await world.alice.state(taskId), "TASK_STATE_INPUT_REQUIRED");
  await world.complete(other.taskId, "done");
});

test("plain text is preferred to HTML, and what is attached goes with it as far as there is room", async () => {
  const small = Buffer.from("name,size\nann,1\n");
  const large = Buffer.alloc(150_000, 7);
  const attached = (filename, type, bytes) => ({
    headers: {
      "Content-Type": `${type}; name="${filename}"`,
      "Content-Disposition": `attachment; filename="${filename}"`,
      "Content-Transfer-Encoding": "base64",
    },
    content: bytes.toString("base64").replace(/.{76}/g, "$&\r\n"),
  });
  const alternative = multipart("alternative", [
    { headers: { "Content-Type": "text/plain; charset=utf-8" }, content: "plain words" },
    { headers: { "Content-Type": "text/html; charset=utf-8" }, content: "<p>rich words</p>" },
  ]);
  alternative.headers["Content-Type"] = alternative.headers["Content-Type"].replace("0123456789", "inner");
  alternative.body = alternative.body.replaceAll("0123456789", "inner");
  const mixed = multipart("mixed", [
    { headers: alternative.headers, content: alternative.body },
    attached("sizes.csv", "text/csv", small),
    attached("photo.jpg", "image/jpeg", large),
  ]);
  const { taskId } = await world.accepted({ subject: "Files", ...mixed });
  const [text, file, ...more] = (await world.alice.task(taskId)).history[0].parts;
  assert.equal(
    text.text,
    "Subject: Files\n\nplain words\n\n[left out: the attachment photo.jpg, image/jpeg, 150000 bytes]",
  );
  assert.deepEqual(file, { raw: small.toString("base64"), filename: "sizes.csv", mediaType: "text/csv" });
  assert.equal(more.length, 0);
  const html = await world.accepted({ headers: { "Content-Type": "text/html" }, text: "<p>only <b>rich</b></p>" });
  const [rich] = (await world.alice.task(html.taskId)).history[0].parts;
  assert.equal(rich.mediaType, "text/html");
  assert.match(rich.text, /<p>only <b>rich<\/b><\/p>$/);
  await world.complete(taskId, "done");
  await world.complete(html.taskId, "done");
});

test("a text that is too long is cut, and says so", async () => {
  const { taskId } = await world.accepted({ subject: "Long", text: "é".repeat(30_000) });
  const [part] = (await world.alice.task(taskId)).history[0].parts;
  assert.match(part.text, /\n\[left out: 1328 more characters of text\]$/);
  await world.complete(taskId, "done");
});

test("automatic mail is not answered but counted", async () => {
  const type = { "Content-Type": "text/plain" };
  const automatic = [
    [{ headers: { ...type, "Auto-Submitted": "auto-replied" } }, {}, "AUTO_SUBMITTED"],
    [{ headers: { ...type, "List-Id": "<news.example.com>" } }, {}, "MAILING_LIST"],
    [{ headers: { ...type, Precedence: "bulk" } }, {}, "PRECEDENCE"],
    [{ headers: { "Content-Type": 'multipart/report; boundary="x"' } }, {}, "REPORT"],
    [{}, { from: AGENT }, "OWN_ADDRESS"],
    [{}, { from: "" }, "BOUNCE"],
  ];
  const before = (await world.alice.call("GET", "/tasks?pageSize=1")).json.totalSize;
  for (const [mail, envelope, reason] of automatic) {
    assert.deepEqual(await world.receive(mail, envelope), { forwarded: [] }, reason);
    assert.deepEqual(await world.receive(mail, envelope), { forwarded: [] }, reason);
  }
  const counted = await world.evidence("&kind=AUTOMATIC_MAIL&pageSize=100");
  const counts = Object.fromEntries(
    counted.map(({ sourceEvidenceId, occurrences }) => [sourceEvidenceId, occurrences]),
  );
  assert.deepEqual(counts, Object.fromEntries(automatic.map(([, , reason]) => [reason, 2])));
  assert.equal((await world.alice.call("GET", "/tasks?pageSize=1")).json.totalSize, before);
  const person = await world.accepted({ headers: { ...type, "Auto-Submitted": "no" } });
  await world.complete(person.taskId, "done");
});

test("a sender who is not allowed is rejected and counted, by the envelope and by the header", async () => {
  for (const [mail, envelope] of [
    [{ from: "eve@evil.example" }, {}],
    [{}, { from: "eve@evil.example" }],
    [{ from: "eve@evil.example" }, { from: PERSON }],
    [{ from: "eve@mail.example.com.evil.example" }, {}],
  ]) {
    assert.equal((await world.receive(mail, envelope)).rejected, "This address takes no mail from you");
  }
  const [counter] = await world.evidence("&kind=SENDER_NOT_ALLOWED");
  assert.equal(counter.occurrences, 4);
});

test("a mail that nobody could answer or read is rejected", async () => {
  assert.equal((await world.receive({ messageId: null })).rejected, "A Message-ID is required");
  const levels = Array.from({ length: 60 }, (_, level) => {
    const type = `Content-Type: multipart/mixed; boundary="b${level}"`;
    return { type, opening: `--b${level}` };
  });
  const nested = levels
    .slice(1)
    .map(({ type }, level) => `${levels[level].opening}\r\n${type}\r\n\r\n`)
    .join("");
  const deep = { headers: { "Content-Type": 'multipart/mixed; boundary="b0"' }, body: nested };
  assert.equal((await world.receive(deep)).rejected, "This mail can't be read");
});

test("while the plane can't take it the mail is not taken either, and its next delivery is", async () => {
  const mail = { messageId: newMessageId(), text: "later" };
  const { A2A_CREDENTIALS: credentials } = world.agent.options.vars;
  await world.agent.redeploy({ A2A_CREDENTIALS: "{" });
  const outcome = await world.receive(mail);
  assert.match(outcome.thrown, /CREDENTIALS_NOT_CONFIGURED/);
  assert.equal(outcome.rejected, undefined);
  await world.agent.redeploy({ A2A_CREDENTIALS: credentials });
  const { taskId } = await world.accepted(mail);
  await world.complete(taskId, "done");
});
