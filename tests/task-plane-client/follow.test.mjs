// A source in Rust, the crate's example: events on its standard input, answers in a folder.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, readdir, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

import { keepUntilExit, untilExit } from "../support/processes.mjs";
import { until, within } from "../support/until.mjs";
import { built, startPlane } from "./world.mjs";

const binary = built(["--example", "follow"]);
const { agent, token } = await startPlane();
const outbox = keepUntilExit(await mkdtemp(join(tmpdir(), "a2a-outbox-")));

/** The running example. */
class Source {
  output = "";

  constructor() {
    const env = { TASK_PLANE_URL: agent.url, TASK_PLANE_TOKEN: token };
    this.child = spawn(binary, [outbox], { env, stdio: ["pipe", "pipe", "pipe"] });
    this.exited = untilExit(this.child);
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream.setEncoding("utf8").on("data", (text) => {
        this.output += text;
      });
    }
    after(() => this.kill());
  }

  /** An event happens at its provider; gives the task's id once it was accepted. */
  async happens(event) {
    this.child.stdin.write(`${JSON.stringify(event)}\n`);
    const accepted = new RegExp(`^accepted ${event.id} (.+)$`, "m");
    return (await until(`${event.id} is accepted`, () => accepted.exec(this.output), 20_000))[1];
  }

  async kill() {
    this.child.kill("SIGKILL");
    await within("the source is gone", this.exited);
  }
}

/** What was delivered for a task, by state. */
async function delivered(taskId) {
  const found = {};
  for (const name of await readdir(outbox)) {
    const { state, task } = JSON.parse(await readFile(join(outbox, name), "utf8"));
    if (task.id === taskId) found[state] = { name, task };
  }
  return found;
}

const inState = (taskId, state) => until(`${state} is delivered`, async () => (await delivered(taskId))[state]);

test("an event's answer is delivered, a question is answered by a direct reply, and a restart repeats nothing", async () => {
  let source = new Source();
  const plain = await source.happens({ id: "e-1", conversation: "c-1", text: "hello" });
  const { task } = await inState(plain, "TASK_STATE_COMPLETED");
  assert.equal(task.artifacts[0].parts[0].text, "hello");

  const asking = await source.happens({ id: "e-2", conversation: "c-1", text: "ask me" });
  const question = await inState(asking, "TASK_STATE_INPUT_REQUIRED");
  // Delivered is what the plane knows to be delivered: then the reply finds its anchor.
  await until("the question is settled", () => source.output.includes(question.name));
  const reply = { id: "e-3", conversation: "c-1", text: "42", replyTo: question.name };
  assert.equal(await source.happens(reply), asking);
  assert.equal((await inState(asking, "TASK_STATE_COMPLETED")).task.artifacts[0].parts[0].text, "42");

  const before = await readdir(outbox);
  await source.kill();
  source = new Source();
  assert.equal(await source.happens({ id: "e-1", conversation: "c-1", text: "hello" }), plain);
  const next = await source.happens({ id: "e-4", conversation: "c-1", text: "and on" });
  await inState(next, "TASK_STATE_COMPLETED");
  assert.equal((await readdir(outbox)).length, before.length + 1);
  assert.ok(!source.output.includes(token));
});
