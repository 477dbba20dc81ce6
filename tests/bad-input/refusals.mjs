// What every refusal of bad input must leave behind: nothing, and a deployment that serves the next request.

import assert from "node:assert/strict";

import { Deployment } from "../support/deployment.mjs";

/** A deployment in which Alice's input is bad and Bob's is not. */
export class Refusing {
  static async start() {
    return new Refusing(await Deployment.start());
  }

  #served = 0;

  constructor(agent) {
    this.agent = agent;
    this.alice = agent.as("alice");
  }

  /**
   * Asserts that Alice's object was never made, and that Bob is served. The object is made by the first command that
   * reaches it, so what left no database reached none.
   */
  async assertUntouched() {
    const { task } = (await this.agent.as("bob").send("the next request", { returnImmediately: true })).json;
    assert.equal(task.status.state, "TASK_STATE_SUBMITTED");
    this.#served += 1;
    const principals = (await this.agent.storedObjects()).filter((path) => path.startsWith("PrincipalObject/"));
    assert.equal(principals.length, 1, principals.join());
    const [{ claims }] = await this.agent.rows("PrincipalObject", "SELECT count(*) AS claims FROM claims");
    assert.equal(claims, this.#served);
  }
}
