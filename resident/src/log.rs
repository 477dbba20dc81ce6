//! One line at a time to stderr. No line ever holds a token.

use std::fmt;
use std::io::Write as _;

use crate::shown::is_shown;

/// Writes one line. What commands a terminal or hides becomes a blank: a line may quote somebody else. A stderr that is gone
/// is no reason to stop working.
pub fn line(text: fmt::Arguments<'_>) {
    let text: String = text
        .to_string()
        .chars()
        .map(|character| if is_shown(character) { character } else { ' ' })
        .collect();
    let _ = writeln!(std::io::stderr().lock(), "resident: {text}");
}
