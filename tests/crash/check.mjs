// What must hold once the dust has settled. Each check says what it looked at and gives what it found wrong.

const OPEN = "(1, 2)";

/**
 * @typedef {object} Check
 * @property {string} name a sentence
 * @property {number} looked at how much
 * @property {string[]} wrong
 */

/**
 * @param {import("../support/deployment.mjs").Deployment} agent
 * @param {import("./clients.mjs").Record} record
 * @param {{ caller: string, content: any, answer: any }[]} before what an earlier release was told
 * @param {string[]} claimedBefore every key that was claimed then
 * @returns {Promise<Check[]>}
 */
export async function check(agent, record, before, claimedBefore) {
  const principals = (query) => agent.rows("PrincipalObject", query);
  const queues = (query) => agent.rows("WakeQueueObject", query);
  const claims = await principals("SELECT source, dedupe_key, task_id FROM claims");
  const messages = await principals("SELECT task_id, message FROM messages");
  const tasks = await principals("SELECT task_id, state, awaits_answer FROM tasks");
  const responses = await principals("SELECT task_id, artifact FROM artifacts");

  const claimed = Map.groupBy(claims, ({ dedupe_key: key }) => key);
  const history = Map.groupBy(messages, ({ message }) => JSON.parse(message).messageId);
  const known = new Map(tasks.map((task) => [task.task_id, task]));
  const checks = [];
  const look = (name, items, wrong) => checks.push({ name, looked: items.length, wrong: items.flatMap(wrong) });

  look("every acknowledged send has one claim, one history entry and its task", record.sends, (sent) => {
    const claim = claimed.get(sent.messageId) ?? [];
    const entries = history.get(sent.messageId) ?? [];
    const whole = claim.length === 1 && claim[0].task_id === sent.taskId && known.has(sent.taskId);
    return whole && entries.length === 1
      ? []
      : [`${sent.messageId}: ${claim.length} claims, ${entries.length} entries`];
  });
  look("every acknowledged event has one claim and one task", record.events, ({ key, taskId }) => {
    const claim = claimed.get(key) ?? [];
    return claim.length === 1 && claim[0].task_id === taskId && known.has(taskId) ? [] : [`${key}: ${claim.length}`];
  });
  const told = new Set([
    ...record.sends.map(({ messageId }) => messageId),
    ...record.events.map(({ key }) => key),
    ...claimedBefore,
  ]);
  look("nothing was accepted that nobody was told of, no request cut half way among it", claims, (claim) =>
    told.has(claim.dedupe_key) ? [] : [claim.dedupe_key],
  );
  const ofOneClaim = new Set(claims.map(({ task_id: taskId }) => taskId));
  look("no task is without a claim", tasks, ({ task_id: id }) => (ofOneClaim.has(id) ? [] : [id]));
  look("every task is settled, or waits for its caller", tasks, ({ task_id: id, state, awaits_answer: awaits }) =>
    [3, 4, 5, 7].includes(state) || ([6, 8].includes(state) && awaits === 1) ? [] : [`${id}: state ${state}`],
  );
  look("no task was completed twice", [...Map.groupBy(responses, ({ task_id: id }) => id)], ([id, found]) =>
    found.length === 1 ? [] : [`${id}: ${found.length} responses`],
  );
  const stuck = [
    ...(await queues("SELECT 'wake' AS kind, task_id FROM wakes")),
    ...(await queues("SELECT 'turn' AS kind, task_id FROM turn")),
    ...(await principals("SELECT 'notice' AS kind, notice AS task_id FROM outbox")),
    ...(await principals("SELECT 'execution' AS kind, task_id FROM executions")),
  ];
  checks.push({
    name: "no wake, turn, notice or execution is left over",
    looked: tasks.length,
    wrong: stuck.map(({ kind, task_id: id }) => `${kind} of ${id}`),
  });
  look("every stream's client saw the final state", record.streams, ({ taskId, lastSeen }) =>
    /_(COMPLETED|FAILED)$/.test(lastSeen) ? [] : [`${taskId}: ${lastSeen}`],
  );
  checks.push({ name: "no answer went against an earlier one", looked: told.size, wrong: record.contradictions });
  look("what an earlier release was told is still there", before, ({ content, answer }) => {
    const [claim] = claimed.get(content.messageId) ?? [];
    return claim?.task_id === (answer.task?.id ?? null) ? [] : [content.messageId];
  });
  return checks;
}

/** Whether work is under way, anywhere. */
export async function isBusy(agent) {
  const open = await agent.rows("PrincipalObject", `SELECT 1 FROM tasks WHERE state IN ${OPEN}`);
  const owed = await agent.rows("PrincipalObject", "SELECT 1 FROM outbox UNION ALL SELECT 1 FROM executions");
  const waiting = await agent.rows("WakeQueueObject", "SELECT 1 FROM wakes UNION ALL SELECT 1 FROM turn");
  return open.length + owed.length + waiting.length > 0;
}
