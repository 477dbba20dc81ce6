// What a settled or interrupted task says, as text for a person.

/** What a person is told where a task says nothing. */
const SILENT = {
  TASK_STATE_COMPLETED: "Done.",
  TASK_STATE_FAILED: "This could not be done.",
  TASK_STATE_REJECTED: "This was declined.",
  TASK_STATE_INPUT_REQUIRED: "More is needed to go on.",
  TASK_STATE_AUTH_REQUIRED: "An authorization is needed to go on.",
};

/** Whether there is something to tell in this state. A task that was canceled was canceled by those who would be told. */
export function isTold(state) {
  return Object.hasOwn(SILENT, state);
}

/**
 * The answer of a task: its artifacts where it is completed, and what was said with its status otherwise.
 *
 * @param {{ status: { state: string, message?: { parts?: object[] } }, artifacts?: { name?: string, parts?: object[] }[] }} task
 * @param {number} maxCharacters longer text is cut, and says so
 */
export function answerOf(task, maxCharacters) {
  const { state, message } = task.status;
  const parts =
    state === "TASK_STATE_COMPLETED"
      ? (task.artifacts ?? []).flatMap((artifact) => artifact.parts ?? [])
      : (message?.parts ?? []);
  const text = parts.map(textOf).filter(Boolean).join("\n\n").trim() || SILENT[state];
  if (text.length <= maxCharacters) return text;
  // A character beyond the first 65,536 counts as two, and is not split.
  const kept = text.slice(0, maxCharacters).replace(/[\uD800-\uDBFF]$/, "");
  return `${kept}\n\n[${text.length - kept.length} more characters were cut off]`;
}

/** One part. What is no text is named, or written as JSON. */
function textOf(part) {
  if (typeof part.text === "string") return part.text;
  if (part.data !== undefined) return JSON.stringify(part.data, null, 2);
  if (typeof part.url === "string") return part.url;
  return part.filename ? `[a file: ${part.filename}]` : "[a file]";
}
