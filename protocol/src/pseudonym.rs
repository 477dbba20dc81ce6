//! What stands for a principal where its name must not be: in logs and as the key of its rate limit.

use sha2::{Digest, Sha256};

/// Digits that a log line has: enough to tell principals apart, and to find one whose name is known.
const SHORT_DIGITS: usize = 16;

/// The SHA-256 of the principal's name, 64 lower-case hexadecimal digits.
#[must_use]
pub fn of(principal: &str) -> String {
    hexadecimal(&Sha256::digest(principal))
}

/// The first 16 digits of the same.
#[must_use]
pub fn short(principal: &str) -> String {
    let digest = Sha256::digest(principal);
    hexadecimal(digest.get(..SHORT_DIGITS / 2).unwrap_or(&digest))
}

fn hexadecimal(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(u32::from(value), 16);
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .filter_map(digit)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pseudonym_is_the_names_sha_256_and_its_short_form_the_beginning() {
        let whole = "2bd806c97f0e00af1a1fc3328fa763a9269723c8db8fac4f93af71db186d6e90";
        assert_eq!(of("alice"), whole);
        assert_eq!(short("alice").len(), 16);
        assert!(whole.starts_with(&short("alice")));
    }
}
