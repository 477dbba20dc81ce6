//! The task as its resident reads it (seed *Resident-agent bridge*, `a2a_read_task`).

use std::borrow::Cow;

use protocol::untrusted::{self, TaskView};
use serde_json::{Value as Json, json};

use super::task::{Task, artifacts, history};
use super::trusted::Origin;
use super::{Principal, agents};
use crate::commands::JsonText;
use crate::commands::principal::{ToolReply, View};
use crate::error::CoreError;
use crate::storage::{Store, StoreError};

/// The newest parts of artifacts that a text can show any of: each takes a heading of 6 bytes at least.
const MAX_SHOWN_PARTS: usize = untrusted::MAX_BYTES / 6;

impl<S: Store> Principal<'_, S> {
    /// The task as the resident reads it: structured, or as text between untrusted-content markers.
    pub(super) fn read_for_resident(
        &self,
        task: &Task,
        structured: bool,
    ) -> Result<ToolReply, CoreError> {
        let extensions: Vec<String> = self
            .activated(task)?
            .iter()
            .map(|extension| extension.uri().to_owned())
            .collect();
        let accepted_output_modes = self.accepted_output_modes(task)?;
        let messages = parse_all(&history(self.store, &task.task_id, None)?)?;
        let reference_task_ids = newest_references(&messages);
        let origin = self.origin(&task.task_id)?;
        if structured {
            let mut view = json!({
                "extensions": extensions,
                "acceptedOutputModes": accepted_output_modes,
                "referenceTaskIds": reference_task_ids,
            });
            if let (Some(origin), Some(fields)) = (&origin, view.as_object_mut()) {
                let origin = serde_json::to_value(origin)
                    .map_err(|_| StoreError::Corrupt { what: "origin" })?;
                fields.insert("origin".to_owned(), origin);
            }
            return Ok(ToolReply::Structured {
                task: JsonText::from_text(task.render(self.store, &View::default())?),
                request: JsonText::from_text(view.to_string()),
            });
        }
        let artifacts = parse_newest(&artifacts(self.store, &task.task_id)?)?;
        Ok(ToolReply::Text(untrusted::render(&TaskView {
            task_id: &task.task_id,
            context_id: &task.context_id,
            state: &task.state,
            messages: &messages,
            artifacts: &artifacts,
            extensions: &extensions,
            accepted_output_modes: &accepted_output_modes,
            reference_task_ids: &reference_task_ids,
            origin: &origin.map(Origin::into_lines).unwrap_or_default(),
            agents: &agents::catalog::lines(self.store, &task.task_id)?,
            max_bytes: untrusted::MAX_BYTES,
        })))
    }

    fn accepted_output_modes(&self, task: &Task) -> Result<Vec<String>, CoreError> {
        let row = self.store.first(
            "SELECT accepted_output_modes FROM claims WHERE activation_id = ?1",
            &[task.activation_id.into()],
        )?;
        match row
            .map(|mut row| row.optional_text())
            .transpose()?
            .flatten()
        {
            None => Ok(Vec::new()),
            Some(modes) => serde_json::from_str(&modes).map_err(|_| {
                StoreError::Corrupt {
                    what: "output modes",
                }
                .into()
            }),
        }
    }
}

fn parse_all(stored: &[String]) -> Result<Vec<Json>, CoreError> {
    stored
        .iter()
        .map(|json| {
            serde_json::from_str(json).map_err(|_| StoreError::Corrupt { what: "message" }.into())
        })
        .collect()
}

/// What the caller's newest message refers to.
fn newest_references(messages: &[Json]) -> Vec<String> {
    messages
        .iter()
        .rev()
        .find(|message| message.get("role").and_then(Json::as_str) == Some("ROLE_USER"))
        .and_then(|message| message.get("referenceTaskIds"))
        .and_then(Json::as_array)
        .into_iter()
        .flatten()
        .filter_map(|id| id.as_str().map(str::to_owned))
        .collect()
}

/// Parses artifacts as far as a text can show them, from the newest on: parsed, a part takes fifty times its bytes. What
/// is not parsed is never come to, and counts as left out.
fn parse_newest(stored: &[String]) -> Result<Vec<Json>, CoreError> {
    let mut left = MAX_SHOWN_PARTS;
    let mut artifacts = Vec::with_capacity(stored.len());
    for artifact in stored.iter().rev() {
        artifacts.push(if left == 0 {
            Json::Null
        } else {
            let (beginning, parts) = beginning(artifact, left);
            left = left.saturating_sub(parts);
            serde_json::from_str(&beginning)
                .map_err(|_| StoreError::Corrupt { what: "artifact" })?
        });
    }
    artifacts.reverse();
    Ok(artifacts)
}

/// A stored artifact with at most this many of its parts, and how many it has then. Of what an artifact holds, only
/// `parts` is a list of objects, and it comes last.
fn beginning(artifact: &str, max_parts: usize) -> (Cow<'_, str>, usize) {
    let (mut parts, mut depth) = (0_usize, 0_usize);
    let (mut in_list, mut in_string, mut is_escaped) = (false, false, false);
    for (position, byte) in artifact.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' | b'[' => {
                depth = depth.saturating_add(1);
                if depth == 2 {
                    in_list = byte == b'[';
                }
            }
            b'}' | b']' => {
                if byte == b'}' && depth == 3 && in_list {
                    parts = parts.saturating_add(1);
                    if parts == max_parts {
                        let kept = artifact.get(..=position).unwrap_or_default();
                        return (Cow::Owned(format!("{kept}]}}")), parts);
                    }
                }
                depth = depth.saturating_sub(1);
            }
            _ => {}
        }
    }
    (Cow::Borrowed(artifact), parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_artifact_is_cut_behind_a_part_and_nowhere_else() {
        let artifact = json!({
            "artifactId": "a", "extensions": ["x", "y"], "metadata": { "parts": [{ "[": 1 }], "n": { "o": {} } },
            "parts": [{ "text": "\"}]}, \\" }, { "data": { "parts": [{}, [{}]] } }, { "text": "c" }],
        })
        .to_string();
        assert_eq!(
            beginning(&artifact, 4),
            (Cow::Borrowed(artifact.as_str()), 3)
        );
        for max_parts in 1..=3 {
            let (cut, parts) = beginning(&artifact, max_parts);
            let mut expected: Json = serde_json::from_str(&artifact).unwrap();
            expected["parts"]
                .as_array_mut()
                .unwrap()
                .truncate(max_parts);
            assert_eq!(serde_json::from_str::<Json>(&cut).unwrap(), expected);
            assert_eq!(parts, max_parts);
        }
    }
}
