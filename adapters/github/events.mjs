// Which webhook events are work, and what of them becomes a task.
//
// Work is what somebody who may says to the agent: an issue or a pull request is opened, or a comment made, that
// mentions it; or an issue or a pull request is assigned to it. Everything else is only counted.

import { beginning, line } from "../text.mjs";

/** The longest text that is taken, in bytes. GitHub's own limit is 65,536 characters. */
const MAX_TEXT_BYTES = 96 * 1024;

/** The longest title, in bytes. GitHub's own limit is 256 characters. */
const MAX_TITLE_BYTES = 1024;

/** The longest piece of a diff that goes with a review comment, in characters: it ends with the line in question. */
const MAX_DIFF_CHARACTERS = 8_000;

/** By event and action: what was written, by whom, and what it belongs to. */
const KINDS = {
  "issues.opened": ({ issue }) => ({ subject: issue, kind: "issue", said: issue }),
  "issues.assigned": ({ issue, assignee }) => ({ subject: issue, kind: "issue", said: issue, assignee }),
  "issue_comment.created": ({ issue, comment }) => ({
    subject: issue,
    kind: issue?.pull_request ? "pull_request" : "issue",
    said: comment,
    commentId: comment?.id,
  }),
  "pull_request.opened": ({ pull_request: pull }) => ({ subject: pull, kind: "pull_request", said: pull }),
  "pull_request.assigned": ({ pull_request: pull, assignee }) => ({
    subject: pull,
    kind: "pull_request",
    said: pull,
    assignee,
  }),
  "pull_request_review_comment.created": ({ pull_request: pull, comment }) => ({
    subject: pull,
    kind: "pull_request",
    said: comment,
    commentId: comment?.id,
  }),
};

/**
 * @typedef {object} Settings
 * @property {string} login the agent's account
 * @property {string} mention what addresses it, such as `@my-agent`
 * @property {string[]} associations whose words are taken: GitHub's `author_association`s, or `*`
 */

/**
 * What an event is to the agent: `{ work }`, or `{ ignored: why }`.
 *
 * @param {string} event `X-GitHub-Event`
 * @param {any} payload
 * @param {Settings} settings
 * @returns {{ work: Work } | { ignored: string }}
 *
 * @typedef {object} Work
 * @property {string} conversationKey
 * @property {Record<string, string>} nativeLocator
 * @property {string | undefined} displayUrl
 * @property {object[]} parts
 */
export function workOf(event, payload, settings) {
  const read = KINDS[`${event}.${payload?.action}`];
  if (read === undefined) return { ignored: "UNSUPPORTED_EVENT" };
  const { subject, kind, said, commentId, assignee } = read(payload);
  const repository = payload.repository;
  if (!subject || !said || !Number.isSafeInteger(subject.number) || !Number.isSafeInteger(repository?.id)) {
    return { ignored: "UNREADABLE_EVENT" };
  }
  if (isLogin(payload.sender, settings.login)) return { ignored: "OWN_EVENT" };
  if (assignee !== undefined) {
    // Whoever assigns may write to the repository, so GitHub has judged that already.
    if (!isLogin(assignee, settings.login)) return { ignored: "NOT_ADDRESSED" };
  } else {
    if (!mentions(said, settings.mention)) return { ignored: "NOT_ADDRESSED" };
    if (!isAllowed(said, settings.associations)) return { ignored: "AUTHOR_NOT_ALLOWED" };
    // An issue that is assigned while it is opened has an event for that, too: one of the two is work.
    if (payload.action === "opened" && subject.assignees?.some((each) => isLogin(each, settings.login))) {
      return { ignored: "ASSIGNED_AS_WELL" };
    }
  }
  return { work: workFrom(event, payload, { subject, kind, said, commentId }) };
}

function workFrom(event, payload, { subject, kind, said, commentId }) {
  const { repository } = payload;
  const title = line(String(subject.title ?? ""), MAX_TITLE_BYTES);
  const locator = {
    owner: String(repository.owner?.login),
    repo: String(repository.name),
    kind,
    number: String(subject.number),
  };
  if (commentId !== undefined) locator.commentId = String(commentId);
  const data = {
    event,
    action: payload.action,
    repository: String(repository.full_name),
    kind,
    number: subject.number,
    title,
    author: String(said.user?.login ?? ""),
    authorAssociation: String(said.author_association ?? ""),
    url: String(said.html_url ?? ""),
  };
  if (typeof said.path === "string") {
    data.path = said.path;
    if (Number.isSafeInteger(said.line)) data.line = said.line;
    if (typeof said.diff_hunk === "string") data.diffHunk = said.diff_hunk.slice(-MAX_DIFF_CHARACTERS).toWellFormed();
  }
  const body = typeof said.body === "string" ? said.body : "";
  const text = beginning(body, MAX_TEXT_BYTES);
  const note = text.length < body.length ? `\n\n[left out: ${body.length - text.length} more characters]` : "";
  return {
    // The repository's id stays when the repository is renamed.
    conversationKey: `repository-${repository.id}:${subject.number}`,
    nativeLocator: locator,
    displayUrl: typeof said.html_url === "string" ? said.html_url : undefined,
    parts: [{ text: `${repository.full_name}#${subject.number}: ${title}\n\n${text}${note}` }, { data }],
  };
}

/** Logins are one in any case of letters. */
function isLogin(account, login) {
  return typeof account?.login === "string" && account.login.toLowerCase() === login.toLowerCase();
}

/** Whether the text has the mention, and not as a piece of a longer name or of an address. */
function mentions(said, mention) {
  const body = typeof said.body === "string" ? said.body.toLowerCase() : "";
  const wanted = mention.toLowerCase();
  for (let at = body.indexOf(wanted); at >= 0; at = body.indexOf(wanted, at + 1)) {
    const before = body[at - 1] ?? " ";
    const after = body[at + wanted.length] ?? " ";
    if (!/[\w@/-]/.test(before) && !/[\w/-]/.test(after)) return true;
  }
  return false;
}

function isAllowed(said, associations) {
  return associations.includes("*") || associations.includes(said.author_association);
}
