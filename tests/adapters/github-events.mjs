// Webhooks as GitHub sends them: the headers, the signature, and the fields of the payloads that its documentation lists.

import { createHmac, randomUUID } from "node:crypto";

const API = "https://api.github.com";

let nextId = 2_000_000_001;

const user = (login, type = "User") => ({
  login,
  id: 1_000 + login.length,
  node_id: "MDQ6VXNlcjE=",
  url: `${API}/users/${login}`,
  html_url: `https://github.com/${login}`,
  type,
  site_admin: false,
});

const REPOSITORY = {
  id: 186853002,
  node_id: "MDEwOlJlcG9zaXRvcnkxODY4NTMwMDI=",
  name: "hello-world",
  full_name: "octo-org/hello-world",
  private: false,
  owner: user("octo-org", "Organization"),
  html_url: "https://github.com/octo-org/hello-world",
  url: `${API}/repos/octo-org/hello-world`,
  fork: false,
  default_branch: "main",
};

/** An issue, or with `pull_request` what stands for a pull request in comment events. */
export function issue(number, fields = {}) {
  const url = `${API}/repos/octo-org/hello-world/issues/${number}`;
  return {
    url,
    comments_url: `${url}/comments`,
    html_url: `https://github.com/octo-org/hello-world/issues/${number}`,
    id: nextId++,
    number,
    title: `Spelling error in the README (${number})`,
    user: user("octocat"),
    labels: [],
    state: "open",
    locked: false,
    assignee: null,
    assignees: [],
    comments: 0,
    created_at: "2026-12-01T00:00:00Z",
    updated_at: "2026-12-01T00:00:00Z",
    author_association: "MEMBER",
    body: "It looks like you accidentally spelled 'commit' with two 't's.",
    ...fields,
  };
}

/** A pull request. */
export function pullRequest(number, fields = {}) {
  return {
    ...issue(number),
    html_url: `https://github.com/octo-org/hello-world/pull/${number}`,
    diff_url: `https://github.com/octo-org/hello-world/pull/${number}.diff`,
    merged: false,
    draft: false,
    head: { ref: "changes", sha: "ec26c3e57ca3a959ca5aad62de7213c562f8c821" },
    base: { ref: "main", sha: "f95f852bd8fca8fcc58a9a2d6c842781e32a215e" },
    ...fields,
  };
}

/** A comment, by default of a member. */
export function comment(body, fields = {}) {
  const id = nextId++;
  return {
    url: `${API}/repos/octo-org/hello-world/issues/comments/${id}`,
    html_url: `https://github.com/octo-org/hello-world/issues/1#issuecomment-${id}`,
    id,
    node_id: "MDEyOklzc3VlQ29tbWVudDQ5MjcwMDQwMA==",
    user: user("octocat"),
    created_at: "2026-12-01T00:00:00Z",
    updated_at: "2026-12-01T00:00:00Z",
    author_association: "MEMBER",
    body,
    performed_via_github_app: null,
    ...fields,
  };
}

/** A webhook that is ready to go out. `sender` is a login. */
export function webhook(event, payload, { sender = "octocat", delivery = randomUUID() } = {}) {
  return {
    event,
    delivery,
    body: JSON.stringify({ ...payload, repository: REPOSITORY, sender: user(sender) }),
  };
}

/** The headers of a delivery, signed with the secret. */
export function headersOf({ event, delivery, body }, secret) {
  return {
    "content-type": "application/json",
    "user-agent": "GitHub-Hookshot/044aadd",
    "x-github-hook-id": "292430182",
    "x-github-hook-installation-target-type": "repository",
    "x-github-event": event,
    "x-github-delivery": delivery,
    "x-hub-signature-256": `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`,
  };
}
