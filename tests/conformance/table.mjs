// The table: one row per normative sentence of the A2A specification 1.0.1, sections 3, 5, 7, 8.6, 11 and 13. A sentence
// that says two things has two rows. What a sentence only permits (MAY) has none.

/**
 * @typedef {"MUST" | "MUST NOT" | "SHOULD" | "SHOULD NOT" | "defines"} Level
 *   how binding the sentence is; `defines` is for tables and shapes that the binding fixes without a keyword
 *
 * @typedef {object} Row
 * @property {"applies" | "diverges" | "excluded"} kind
 * @property {string} section
 * @property {Level} level
 * @property {string} statement the requirement in our own words
 * @property {(world: import("./world.mjs").World) => Promise<void>} [check]
 * @property {string} [does] what this server does instead
 * @property {string} [because] why it diverges, or why the sentence is not about this server
 */

/** This server does what the sentence says. */
export function applies(section, level, statement, check) {
  return { kind: "applies", section, level, statement, check };
}

/** This server does something else on purpose, and the check holds it to that. */
export function diverges(section, level, statement, { does, because }, check) {
  return { kind: "diverges", section, level, statement, does, because, check };
}

/** The sentence is not about a server of this kind. Where it implies an answer, the check asks for that. */
export function excluded(section, level, statement, because, check) {
  return { kind: "excluded", section, level, statement, because, check };
}

/** Why whole groups of sentences are excluded. */
export const BECAUSE = {
  client: "It is a duty of clients.",
  push: "Push notifications are off; their routes say so.",
  extendedCard: "There is no extended card, and the card declares none.",
  oneBinding: "There is one protocol binding, HTTP+JSON.",
  customBinding: "It is about custom protocol bindings.",
  transport: "Cloudflare terminates TLS; its settings are the account's.",
  resident: "It is a duty of the agent behind this server, which gets all it needs for it.",
  operator: "It is a duty of whoever operates the deployment.",
  notRequired: "No extension is required.",
};
