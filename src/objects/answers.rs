//! Answers that are given again while nothing has changed: who polls a task that stays as it is costs no row.

use std::cell::RefCell;
use std::collections::VecDeque;

/// The most answers that are kept.
const MAX_KEPT: usize = 16;

/// The longest answer that is kept, in bytes.
const MAX_ANSWER_BYTES: usize = 64 * 1024;

/// The latest answers to commands that only read, as long as the database is what it was when they were made.
pub(super) struct Answers<T>(RefCell<Kept<T>>);

struct Kept<T> {
    /// The count of changes at which these answers hold.
    changes: u64,
    answers: VecDeque<(Vec<u8>, T)>,
}

impl<T: Clone> Answers<T> {
    /// None yet.
    pub fn new() -> Self {
        Self(RefCell::new(Kept {
            changes: 0,
            answers: VecDeque::new(),
        }))
    }

    /// The answer to a command, where the same was asked since the last change.
    pub fn find(&self, command: &[u8], changes: u64) -> Option<T> {
        let kept = self.0.borrow();
        if kept.changes != changes {
            return None;
        }
        let (_, answer) = kept.answers.iter().find(|(of, _)| of == command)?;
        Some(answer.clone())
    }

    /// Keeps an answer of that length, in place of the oldest where there are enough.
    pub fn keep(&self, command: &[u8], changes: u64, answer: &T, bytes: usize) {
        let mut kept = self.0.borrow_mut();
        if kept.changes != changes {
            kept.answers.clear();
            kept.changes = changes;
        }
        if bytes > MAX_ANSWER_BYTES {
            return;
        }
        if kept.answers.len() == MAX_KEPT {
            kept.answers.pop_front();
        }
        kept.answers.push_back((command.to_vec(), answer.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_given_again_until_something_changes() {
        let answers = Answers::new();
        answers.keep(b"get a", 7, &"a", 1);
        assert_eq!(answers.find(b"get a", 7), Some("a"));
        assert_eq!(answers.find(b"get b", 7), None);
        assert_eq!(answers.find(b"get a", 8), None);
        answers.keep(b"get b", 8, &"b", 1);
        assert_eq!(answers.find(b"get a", 8), None);
        assert_eq!(answers.find(b"get b", 8), Some("b"));
    }

    #[test]
    fn no_more_is_kept_than_fits() {
        let answers = Answers::new();
        answers.keep(b"long", 1, &0, MAX_ANSWER_BYTES + 1);
        assert_eq!(answers.find(b"long", 1), None);
        for number in 0..=MAX_KEPT {
            answers.keep(&number.to_be_bytes(), 1, &number, MAX_ANSWER_BYTES);
        }
        assert_eq!(answers.find(&0_usize.to_be_bytes(), 1), None);
        assert_eq!(answers.find(&1_usize.to_be_bytes(), 1), Some(1));
        assert_eq!(answers.find(&MAX_KEPT.to_be_bytes(), 1), Some(MAX_KEPT));
    }
}
