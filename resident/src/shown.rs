//! Another's words on a person's terminal.

use protocol::agents::card::is_hidden;
use serde_json::Value;

/// JSON on one line in which nothing commands the terminal, turns the direction of reading or hides: every such character
/// stands as its escape, and the value stays the same.
pub fn shown(value: &Value) -> String {
    let mut line = String::new();
    for character in value.to_string().chars() {
        if is_shown(character) {
            line.push(character);
            continue;
        }
        // JSON writes none of them outside a string.
        for unit in character.encode_utf16(&mut [0; 2]) {
            line.push_str(&format!("\\u{unit:04x}"));
        }
    }
    line
}

/// Whether a character of another's says what it looks like, and no more.
pub fn is_shown(character: char) -> bool {
    !character.is_control()
        && !is_hidden(character)
        && !matches!(character, '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn nothing_in_a_line_commands_a_terminal_or_hides_and_the_value_is_the_same() {
        let hostile: String = (0..=0xff_u32)
            .chain([
                0x061c, 0x200b, 0x202e, 0x2028, 0x2029, 0x2066, 0xfeff, 0xe0041,
            ])
            .filter_map(char::from_u32)
            .collect();
        let value = json!({ hostile.as_str(): ["Käse 👍 \u{1b}]52;c;x\u{7}", hostile] });
        let line = shown(&value);
        assert!(line.chars().all(is_shown), "{line}");
        assert!(line.contains(r"Käse 👍 \u001b]52;c;x\u0007"), "{line}");
        assert!(line.contains(r"\udb40\udc41"), "{line}");
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), value);
    }
}
