//! Another's text, where a person or a log reads it.

/// The longest text of another's that a line quotes, in characters.
const QUOTED_CHARACTERS: usize = 500;

/// Text of the server's, made safe for one line: control characters become spaces, and it is cut at
/// 500 characters.
#[must_use]
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
