//! A bearer token, kept out of everything that is shown.

use std::fmt;

use serde::Deserialize;

/// A token that can be sent in a header. It has no readable `Debug` and no `Display`.
#[derive(Clone, Deserialize)]
#[serde(try_from = "String")]
pub struct Token(String);

/// The text can't be a token. The error doesn't hold it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the token must be visible ASCII characters, at least one")]
pub struct TokenError;

impl Token {
    /// Checks that `token` can be sent in a header.
    ///
    /// # Errors
    /// When it is empty or has a character that is not visible ASCII.
    pub fn new(token: String) -> Result<Self, TokenError> {
        if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(TokenError);
        }
        Ok(Self(token))
    }

    /// The token itself, for a header or a child's environment, and nothing else.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Token {
    type Error = TokenError;

    fn try_from(token: String) -> Result<Self, TokenError> {
        Self::new(token)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::Token;

    #[test]
    fn a_token_is_never_shown() {
        let token = Token::new("secret-0123".to_owned()).unwrap();
        assert!(!format!("{token:?}").contains("secret"));
        let error = Token::new("secret\n".to_owned()).unwrap_err();
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}
