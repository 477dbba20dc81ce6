// The two calls of GitHub's REST API that a reply needs: make a comment, and find one that was made.

import { Refused } from "../task-plane.mjs";

/** Comments a page; GitHub gives no more. */
const PAGE_SIZE = 100;

/** Pages of comments that are looked through. Beyond, it counts as unknown whether a comment is there. */
const MAX_PAGES = 50;

/**
 * Statuses that say for certain that nothing was made, but that another attempt may fare better: a token that an operator
 * renews, and a limit that passes. GitHub answers its secondary rate limits with 403, too.
 */
const REFUSED_FOR_NOW = [401, 403, 429];

/** How often a comment whose answer was lost is looked for while GitHub may still be making it. */
const LOOKS = 6;

/** GitHub, as the agent's account. */
export class GitHub {
  #base;
  #token;
  #login;
  #timeoutMs;

  /**
   * @param {object} settings
   * @param {string} settings.api such as `https://api.github.com`, without a trailing slash
   * @param {string} settings.apiToken
   * @param {string} settings.login the account that the token belongs to
   * @param {number} settings.timeoutMs how long an answer may take; also the time after which GitHub itself has given a
   *   request up, so that what is not there then will not come any more
   */
  constructor({ api, apiToken, login, timeoutMs }) {
    this.#base = api;
    this.#token = apiToken;
    this.#login = login;
    this.#timeoutMs = timeoutMs;
  }

  /**
   * Makes a comment, and gives its id. Where the answer is lost, the comment is looked for before that counts as unknown.
   *
   * @param {Place} place
   * @param {string} body
   * @param {(comment: { body: string }) => boolean} isIt tells this comment from others of the same account
   * @param {Date} [since] see `find`
   * @throws {Refused} where GitHub says that it made none
   *
   * @typedef {{ owner: string, repo: string, number: string }} Place an issue or a pull request
   */
  async comment(place, body, isIt, since) {
    let response;
    let made;
    try {
      response = await this.#call("POST", this.#comments(place), { body });
      if (response.status === 201) made = await response.json();
      else await response.body?.cancel();
    } catch (error) {
      return this.#foundAfter(place, isIt, since, String(error?.message ?? error));
    }
    if (made !== undefined) return String(made.id);
    const { status } = response;
    if (status < 400 || status >= 500 || status === 408)
      return this.#foundAfter(place, isIt, since, `status ${status}`);
    throw new Refused(`GitHub answered ${status}`, { isFinal: !REFUSED_FOR_NOW.includes(status) });
  }

  /**
   * The id of a comment of this account; undefined where there is none.
   *
   * @param {Place} place
   * @param {(comment: { body: string }) => boolean} isIt
   * @param {Date} [since] comments that were not touched since then are not looked at
   */
  async find(place, isIt, since) {
    for (let page = 1; page <= MAX_PAGES; page += 1) {
      const query = new URLSearchParams({ per_page: String(PAGE_SIZE), page: String(page) });
      if (since !== undefined) query.set("since", since.toISOString());
      const response = await this.#call("GET", `${this.#comments(place)}?${query}`);
      if (response.status !== 200) {
        await response.body?.cancel();
        throw new Error(`GitHub answered ${response.status} to a lookup`);
      }
      const comments = await response.json();
      const found = comments.find((comment) => this.#isOurs(comment) && isIt({ body: String(comment.body ?? "") }));
      if (found !== undefined) return String(found.id);
      if (!/<[^>]*>\s*;[^,]*\brel="?next"?/.test(response.headers.get("link") ?? "")) return undefined;
    }
    throw new Error(`not among the first ${MAX_PAGES * PAGE_SIZE} comments`);
  }

  /** Looks for a comment whose answer was lost, until GitHub can't be making it any more. */
  async #foundAfter(place, isIt, since, what) {
    for (let look = 0; look < LOOKS; look += 1) {
      if (look > 0) await new Promise((resolve) => setTimeout(resolve, this.#timeoutMs / (LOOKS - 1)));
      const found = await this.find(place, isIt, since).catch(() => undefined);
      if (found !== undefined) return found;
    }
    // GitHub may have been out of reach all the while, so not finding it is no certainty yet.
    throw new Error(`no certain answer from GitHub: ${what}`);
  }

  #comments({ owner, repo, number }) {
    return `/repos/${encodeURIComponent(owner)}/${encodeURIComponent(repo)}/issues/${encodeURIComponent(number)}/comments`;
  }

  #isOurs(comment) {
    return String(comment.user?.login ?? "").toLowerCase() === this.#login.toLowerCase();
  }

  #call(method, path, body) {
    return fetch(`${this.#base}${path}`, {
      method,
      headers: {
        accept: "application/vnd.github+json",
        authorization: `Bearer ${this.#token}`,
        "user-agent": "a2a-task-plane-github",
        "x-github-api-version": "2022-11-28",
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
      // The token goes to the configured API and nowhere else.
      redirect: "manual",
      signal: AbortSignal.timeout(this.#timeoutMs),
    });
  }
}
