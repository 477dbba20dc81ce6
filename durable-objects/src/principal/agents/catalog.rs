//! What a turn reads of other agents before anything else: one line for each that is enabled and prepared, and where the
//! task's own calls stand (seed *Turn 0 shows enabled agents concisely*).

use protocol::agents::address::Address;
use protocol::state;

use super::calls::{Phase, RemoteCall};
use super::family::Entry;
use super::preparation;
use crate::storage::{Store, StoreError};

/// The most lines of the catalog, and of calls.
const MAX_LINES: i64 = 32;

/// The most of each section, in bytes.
const MAX_SECTION_BYTES: usize = 7 * 1024;

const AGENTS_HEADING: &str =
    "agents you may call with a2a_send_agent; what is said of each is its own word:\n";

const CALLS_HEADING: &str =
    "what this task asked of agents, newest first; read each with a2a_read_agent:\n";

/// The aliases that are enabled and have no fresh card: to be prepared before the catalog is shown. Those that had a problem
/// before come last.
///
/// # Errors
/// A fault of the store.
pub fn unprepared<S: Store>(store: &S, now_ms: i64) -> Result<Vec<String>, StoreError> {
    let mut aliases = Vec::new();
    for entry in Entry::all(store)? {
        if entry.enabled
            && matches!(
                preparation::connect(store, now_ms, &entry.alias),
                Ok(preparation::Connect::Fetch { .. })
            )
        {
            let text = entry.definition.as_deref().unwrap_or_default();
            let known = preparation::stored(store, &entry.alias, text)?;
            aliases.push((known.is_some_and(|card| card.has_problem()), entry.alias));
        }
    }
    aliases.sort();
    let aliases = aliases.into_iter().map(|(_, alias)| alias);
    Ok(aliases
        .take(usize::try_from(MAX_LINES).unwrap_or_default())
        .collect())
}

/// The lines, each ending with a line break; empty where there is nothing to say.
///
/// # Errors
/// A fault of the store.
pub fn lines<S: Store>(store: &S, task_id: &str) -> Result<String, StoreError> {
    let rows = store.query(
        "SELECT alias, line FROM agent_cards WHERE line IS NOT NULL ORDER BY alias LIMIT 256",
        &[],
    )?;
    let mut agents = Vec::with_capacity(rows.len());
    for mut row in rows {
        let (alias, line) = (row.text()?, row.text()?);
        let shown = Entry::find(store, &alias)?.filter(|entry| entry.enabled);
        let Some(Ok(definition)) = shown.map(|entry| entry.definition) else {
            continue;
        };
        if preparation::stored(store, &alias, &definition)?.is_some() {
            agents.push(line);
        }
    }
    let calls: Vec<String> = RemoteCall::of_task(store, task_id, MAX_LINES)?
        .iter()
        .map(standing)
        .collect();
    let mut text = String::new();
    push_section(&mut text, AGENTS_HEADING, &agents);
    push_section(&mut text, CALLS_HEADING, &calls);
    Ok(text)
}

/// As many lines as fit into [`MAX_SECTION_BYTES`] under their heading, and how many do not.
fn push_section(text: &mut String, heading: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    text.push_str(heading);
    let mut bytes = 0_usize;
    for (at, line) in lines.iter().enumerate() {
        bytes = bytes.saturating_add(line.len());
        if bytes > MAX_SECTION_BYTES {
            let left_out = lines.len().saturating_sub(at);
            text.push_str(&format!("(left out to keep this text short: {left_out})\n"));
            return;
        }
        text.push_str(line);
        text.push('\n');
    }
}

/// Where a call stands, on one line of ours: ids of remote agents are escaped in it.
fn standing(call: &RemoteCall) -> String {
    let mut line = address_of(call).map_or_else(
        || format!("message {} to a2a://{}", call.message_id, call.alias),
        |address| address.to_string(),
    );
    if let Some(state) = &call.state {
        line.push_str(&format!(" {}", state::as_wire(state)));
    }
    match (call.phase, &call.problem) {
        (Phase::Sending, _) => line.push_str(" (not answered yet)"),
        (_, Some(problem)) => line.push_str(&format!(" (given up: {problem})")),
        _ => {}
    }
    line
}

/// The address of what came of a call, once something has.
pub(super) fn address_of(call: &RemoteCall) -> Option<Address> {
    match (&call.remote_task_id, &call.remote_message_id) {
        (Some(task_id), _) => Some(Address::of_task(&call.alias, task_id)),
        (None, Some(message_id)) => Some(Address::of_message(&call.alias, message_id)),
        (None, None) => None,
    }
}
