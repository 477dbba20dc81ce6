//! Telling a source that a task of its own was settled, by the service binding that this deployment has for it.

use std::cell::RefCell;
use std::rc::Rc;

use durable_objects::effects::OwedSettlement;

use crate::runtime::env::Env;
use crate::runtime::log;
use crate::runtime::post::post_to;

/// Where a source's Worker is told. The host is of no meaning: a service binding leads to one Worker.
const URL: &str = "https://source/settlements";

/// How long a source may take, in milliseconds.
const TIMEOUT_MS: u32 = 30_000;

/// The most that is read of its answer, in bytes.
const MAX_ANSWER_BYTES: u32 = 64 * 1024;

/// Settlements committed and not told yet, and the sources that are being told of theirs.
#[derive(Default)]
pub(super) struct Untold {
    waiting: RefCell<Vec<OwedSettlement>>,
    lines: RefCell<Vec<String>>,
}

/// The line of one source. While it lives, nobody else tells that source; when it goes, also with a future that is given
/// up, the source can be told anew.
pub(super) struct Line {
    untold: Rc<Untold>,
    source: String,
}

impl Untold {
    /// Takes settlements up, each once, and begins a line for each of their sources that has none.
    pub fn add(this: &Rc<Self>, settlements: Vec<OwedSettlement>) -> Vec<Line> {
        let mut begun = Vec::new();
        for owed in settlements {
            let mut lines = this.lines.borrow_mut();
            if !lines.contains(&owed.source) {
                lines.push(owed.source.clone());
                begun.push(Line {
                    untold: Rc::clone(this),
                    source: owed.source.clone(),
                });
            }
            let mut waiting = this.waiting.borrow_mut();
            if !waiting
                .iter()
                .any(|one| one.settlement_id == owed.settlement_id)
            {
                waiting.push(owed);
            }
        }
        begun
    }
}

impl Line {
    /// The oldest settlement of the source that waits.
    pub fn next(&self) -> Option<OwedSettlement> {
        let mut waiting = self.untold.waiting.borrow_mut();
        let next = waiting.iter().position(|owed| owed.source == self.source)?;
        Some(waiting.remove(next))
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.untold
            .lines
            .borrow_mut()
            .retain(|source| *source != self.source);
    }
}

/// Tells a source. False where it is to be told again; a source without a binding asks by itself.
pub(super) async fn tell(env: &Env, owed: &OwedSettlement) -> bool {
    let Some(service) = env.service(&binding(&owed.source)) else {
        return true;
    };
    let reason = match serde_json::to_string(owed) {
        Err(error) => error.to_string(),
        Ok(body) => {
            let headers = [("content-type", "application/json")];
            match post_to(&service, URL, &headers, &body, MAX_ANSWER_BYTES, TIMEOUT_MS).await {
                Ok(posted) if (200..300).contains(&posted.status) => return true,
                Ok(posted) => format!("status {}", posted.status),
                Err(error) => error.to_string(),
            }
        }
    };
    log::error(
        "settlement_not_taken",
        &[
            ("source", &owed.source),
            ("task_id", &owed.task_id),
            ("reason", &reason),
        ],
    );
    false
}

/// The binding of a source: `SOURCE_` and its name in capitals, with `_` for what a name of a binding can't have.
fn binding(source: &str) -> String {
    let name = source.chars().map(|character| {
        if character.is_ascii_alphanumeric() {
            character.to_ascii_uppercase()
        } else {
            '_'
        }
    });
    format!("SOURCE_{}", name.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owed(settlement_id: i64, source: &str) -> OwedSettlement {
        OwedSettlement {
            settlement_id,
            principal: "ann".to_owned(),
            source: source.to_owned(),
            task_id: format!("t-{settlement_id}"),
            context_id: "c".to_owned(),
            state: "TASK_STATE_COMPLETED",
            settled_at: String::new(),
        }
    }

    #[test]
    fn each_source_has_a_line_of_its_own_and_waits_for_no_other() {
        let untold = Rc::default();
        let lines = Untold::add(&untold, vec![owed(1, "a"), owed(2, "b"), owed(3, "a")]);
        let told: Vec<Vec<i64>> = lines
            .iter()
            .map(|line| {
                std::iter::from_fn(|| line.next())
                    .map(|owed| owed.settlement_id)
                    .collect()
            })
            .collect();
        assert_eq!(told, [vec![1, 3], vec![2]]);
    }

    #[test]
    fn a_source_that_hangs_piles_nothing_up_and_is_told_anew_when_its_line_is_gone() {
        let untold = Rc::default();
        let lines = Untold::add(&untold, vec![owed(1, "a")]);
        for _ in 0..3 {
            assert!(Untold::add(&untold, vec![owed(1, "a"), owed(2, "a")]).is_empty());
        }
        assert_eq!(untold.waiting.borrow().len(), 2);
        drop(lines);
        assert_eq!(Untold::add(&untold, vec![owed(2, "a")]).len(), 1);
    }

    #[test]
    fn a_source_is_told_by_the_binding_of_its_name() {
        assert_eq!(binding("email"), "SOURCE_EMAIL");
        assert_eq!(binding("git-hub.com:8"), "SOURCE_GIT_HUB_COM_8");
    }
}
