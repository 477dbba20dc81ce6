// Mail that no person wrote to the agent. Answering it makes loops (RFC 3834 §2), so it becomes no task.

const AUTOMATIC_PRECEDENCE = ["bulk", "junk", "list", "auto_reply"];

/**
 * Why a mail counts as automatic; undefined where a person may have written it.
 *
 * @param {{ from: string, to: string, headers: Headers }} message
 * @returns {string | undefined}
 */
export function automatismOf({ from, to, headers }) {
  if (from === "" || from === "<>") return "BOUNCE";
  if (from.toLowerCase() === to.toLowerCase()) return "OWN_ADDRESS";
  const submitted = (headers.get("auto-submitted") ?? "no").split(";")[0].trim().toLowerCase();
  if (submitted !== "no") return "AUTO_SUBMITTED";
  if (/^multipart\/report\b/i.test(headers.get("content-type") ?? "")) return "REPORT";
  for (const name of headers.keys()) if (name.toLowerCase().startsWith("list-")) return "MAILING_LIST";
  const precedence = (headers.get("precedence") ?? "").trim().toLowerCase();
  return AUTOMATIC_PRECEDENCE.includes(precedence) ? "PRECEDENCE" : undefined;
}
