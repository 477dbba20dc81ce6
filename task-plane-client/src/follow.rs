//! Following the settlements of a source's tasks, from where its checkpoint says.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::plane::TaskPlane;
use crate::source::Checkpoint;
use crate::task::Settlement;
use connection::CallError;

/// The field of the source's checkpoint that holds the place in the feed.
const FIELD: &str = "settlements";

/// How many settlements a page has at most.
const PAGE_SIZE: u32 = 50;

/// How long the feed is left alone after it had nothing.
const PAUSE: Duration = Duration::from_secs(1);

/// How often the place is kept anew because somebody else advanced the checkpoint meanwhile.
const MAX_ATTEMPTS: u32 = 5;

/// The settlements of a source, page by page. What was handed out is handed out again after a restart until
/// [`Settlements::commit`] has kept the place: at least once, and a delivery makes it once.
#[derive(Debug)]
pub struct Settlements<'a> {
    plane: &'a TaskPlane,
    /// Up to where everything was handed out.
    after: u64,
    /// Up to where that is kept.
    kept: u64,
    pause: Duration,
}

impl TaskPlane {
    /// Follows the settlements from the place in the source's checkpoint on. The place is the field `settlements` of the
    /// checkpoint, which is a JSON object then; its other fields are the source's own.
    ///
    /// # Errors
    /// As any call.
    pub async fn follow(&self) -> Result<Settlements<'_>, CallError> {
        let source = self.source().await?;
        let after = place_in(source.checkpoint.as_ref());
        Ok(Settlements {
            plane: self,
            after,
            kept: after,
            pause: PAUSE,
        })
    }
}

impl Settlements<'_> {
    /// With another pause after the feed had nothing.
    #[must_use]
    pub fn pause(mut self, pause: Duration) -> Self {
        self.pause = pause;
        self
    }

    /// The next settlements, at most 50, oldest first. Waits until there are any.
    ///
    /// # Errors
    /// As any call; the place stays.
    pub async fn next_page(&mut self) -> Result<Vec<Settlement>, CallError> {
        loop {
            let page = self.plane.settlements(self.after, PAGE_SIZE).await?;
            self.after = page.next.max(self.after);
            if !page.settlements.is_empty() {
                return Ok(page.settlements);
            }
            tokio::time::sleep(self.pause).await;
        }
    }

    /// Keeps the place: what was handed out until now has been dealt with.
    ///
    /// # Errors
    /// As any call, and `CHECKPOINT_MOVED` where others advance the checkpoint all the time; what was handed out is handed
    /// out again after a restart then.
    pub async fn commit(&mut self) -> Result<(), CallError> {
        if self.kept == self.after {
            return Ok(());
        }
        let mut attempt = 1;
        loop {
            let source = self.plane.source().await?;
            let checkpoint = Checkpoint {
                checkpoint: with_place(source.checkpoint, self.after),
                covers: Vec::new(),
                version: Some(source.version),
            };
            match self.plane.advance(&checkpoint).await {
                Ok(_) => break,
                // Also after an answer that was lost: then the place is there already.
                Err(error) if error.has_reason("CHECKPOINT_MOVED") && attempt < MAX_ATTEMPTS => {
                    attempt = attempt.saturating_add(1);
                }
                Err(error) => return Err(error),
            }
        }
        self.kept = self.after;
        Ok(())
    }
}

/// The place in the feed that a checkpoint holds.
fn place_in(checkpoint: Option<&Value>) -> u64 {
    checkpoint
        .and_then(|checkpoint| checkpoint.get(FIELD))
        .and_then(Value::as_u64)
        .unwrap_or(0)
}

/// A checkpoint with the place, and with what else it held.
fn with_place(checkpoint: Option<Value>, place: u64) -> Value {
    let mut fields = match checkpoint {
        Some(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    fields.insert(FIELD.to_owned(), Value::from(place));
    Value::Object(fields)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{place_in, with_place};

    #[test]
    fn the_place_stands_beside_what_the_source_keeps() {
        let kept = with_place(Some(json!({"cursor": "abc", "settlements": 3})), 7);
        assert_eq!(kept, json!({"cursor": "abc", "settlements": 7}));
        assert_eq!(place_in(Some(&kept)), 7);
    }

    #[test]
    fn a_source_without_a_place_begins_at_the_beginning() {
        assert_eq!(place_in(None), 0);
        assert_eq!(place_in(Some(&json!("abc"))), 0);
        assert_eq!(with_place(None, 1), json!({"settlements": 1}));
    }
}
