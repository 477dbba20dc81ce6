//! One line at a time to stderr. No line ever holds a token.

use std::fmt;
use std::io::Write as _;

/// Writes one line. A stderr that is gone is no reason to stop working.
pub fn line(text: fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stderr().lock(), "resident: {text}");
}
