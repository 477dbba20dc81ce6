//! One line at a time to stderr. No line ever holds a token.

use std::fmt;
use std::io::Write as _;

/// The longest text of another's that a line quotes, in characters.
const QUOTED_CHARACTERS: usize = 500;

/// Writes one line. A stderr that is gone is no reason to stop working.
pub fn line(text: fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stderr().lock(), "resident: {text}");
}

/// Text of the server's, made safe for one line: control characters become spaces, and it is cut at
/// 500 characters.
pub fn quoted(text: &str) -> String {
    text.chars()
        .take(QUOTED_CHARACTERS)
        .map(|character| {
            if character.is_control() {
                ' '
            } else {
                character
            }
        })
        .collect()
}
