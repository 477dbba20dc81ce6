//! Who is calling: the secret `A2A_CREDENTIALS`, the `Authorization` header, and the tokens of turns.
//!
//! Tokens are kept and compared as SHA-256 only. A lookup compares with every entry in constant time and
//! never stops early, so its duration tells nothing about which tokens exist. No error, and no `Debug`
//! output, contains anything that came out of the secret's values.

use std::collections::{HashMap, HashSet};
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use subtle::{ConditionallySelectable, ConstantTimeEq};

use crate::configuration;
use crate::ids::is_identifier;

/// Shortest token accepted in the secret, in bytes.
pub const MIN_TOKEN_BYTES: usize = 16;
/// Longest token accepted, in the secret and in a header, in bytes.
pub const MAX_TOKEN_BYTES: usize = 512;
/// Most credentials one secret may hold; each is compared on every request.
pub const MAX_CREDENTIALS: usize = 1024;
/// Largest secret that is parsed, in bytes.
pub const MAX_SECRET_BYTES: usize = 512 * 1024;
/// The resident whose queue a credential means when it names none.
pub const DEFAULT_RESIDENT: &str = "default";

const TURN_PREFIX: &str = "turn~";
const FIELDS: [&str; 5] = ["token", "tokenSha256", "principal", "role", "resident"];

/// What a credential may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Calls the A2A operations as its principal. The default.
    Client,
    /// Takes the wakes of one queue.
    Resident,
    /// Accepts native activations for its principal; never names a task.
    Source,
    /// As a source, and may name tasks.
    Trusted,
    /// Looks at the whole deployment.
    Operator,
}

impl Role {
    /// The name used in the secret.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Resident => "resident",
            Self::Source => "source",
            Self::Trusted => "trusted",
            Self::Operator => "operator",
        }
    }

    fn parse(name: &str) -> Option<Self> {
        [
            Self::Client,
            Self::Resident,
            Self::Source,
            Self::Trusted,
            Self::Operator,
        ]
        .into_iter()
        .find(|role| role.as_str() == name)
    }
}

/// What one token stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credential {
    /// What it may do.
    pub role: Role,
    /// The principal it acts for. Always there but for [`Role::Resident`].
    pub principal: Option<String>,
    /// For [`Role::Resident`], the queue it serves; otherwise the queue that gets its principal's work.
    pub resident: String,
}

/// Why the secret cannot be used. The deployment's mistake: it is logged, and callers only learn
/// `CREDENTIALS_NOT_CONFIGURED`. Entries are named by their place, never by their content.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CredentialsError {
    /// The secret is not set, or is blank.
    #[error("A2A_CREDENTIALS is not set")]
    Absent,
    /// The secret is larger than [`MAX_SECRET_BYTES`].
    #[error("A2A_CREDENTIALS is over {MAX_SECRET_BYTES} bytes")]
    TooLarge,
    /// Not JSON, or not unambiguous: a key twice, say.
    #[error("A2A_CREDENTIALS is not one JSON value without repeated keys (byte {byte_offset})")]
    NotJson {
        /// Where reading stopped, from 0.
        byte_offset: u64,
    },
    /// JSON, but not the document.
    #[error(
        "A2A_CREDENTIALS must be an object whose one field `credentials` is an array of 1 to {MAX_CREDENTIALS} entries"
    )]
    Shape,
    /// One entry is wrong.
    #[error("A2A_CREDENTIALS: credentials[{index}] {problem}")]
    Entry {
        /// Place of the entry, from 0.
        index: usize,
        /// What is wrong with it.
        problem: EntryProblem,
    },
}

/// What is wrong with one entry of the secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EntryProblem {
    /// Not an object, or with a field that is unknown.
    #[error("must be an object with no fields but token, tokenSha256, principal, role, resident")]
    Shape,
    /// Neither form of the token, or both.
    #[error("must have exactly one of token and tokenSha256")]
    OneToken,
    /// The token could not be sent as a bearer token, or is too short or too long.
    #[error(
        "has a token that is not {MIN_TOKEN_BYTES} to {MAX_TOKEN_BYTES} visible ASCII characters without a comma"
    )]
    Token,
    /// The token looks like the token of a turn.
    #[error("has a token that begins with `turn~`, which is kept for the tokens of turns")]
    ReservedToken,
    /// Not a SHA-256.
    #[error("has a tokenSha256 that is not 64 hexadecimal digits")]
    TokenSha256,
    /// Not a role.
    #[error("has a role that is none of client, resident, source, trusted, operator")]
    Role,
    /// No principal, or not an identifier.
    #[error("needs a principal that matches [A-Za-z0-9][A-Za-z0-9._:-]{{0,127}}")]
    Principal,
    /// Not an identifier.
    #[error("has a resident that does not match [A-Za-z0-9][A-Za-z0-9._:-]{{0,127}}")]
    Resident,
    /// The same token twice.
    #[error("repeats the token of credentials[{0}]")]
    Duplicate(usize),
    /// One principal, two queues.
    #[error("names another resident for the same principal than credentials[{0}]; one it must be")]
    ResidentConflict(usize),
}

struct Entry {
    /// In words: they are compared in an eighth of the steps that its bytes take.
    token_sha256: [u64; 4],
    credential: Credential,
}

/// The parsed secret.
pub struct Credentials {
    entries: Vec<Entry>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials")
            .field("entries", &self.entries.len())
            .finish_non_exhaustive()
    }
}

impl Credentials {
    /// Reads `{"credentials": [{"token" | "tokenSha256", "principal", "role"?, "resident"?}]}`.
    ///
    /// # Errors
    /// The first thing that is wrong, without any of the secret's content.
    pub fn parse(secret: &str) -> Result<Self, CredentialsError> {
        if secret.trim().is_empty() {
            return Err(CredentialsError::Absent);
        }
        if secret.len() > MAX_SECRET_BYTES {
            return Err(CredentialsError::TooLarge);
        }
        let document = configuration::parse(secret).map_err(|problem| {
            // The description may repeat a key, and a key may be a token put in the wrong place.
            CredentialsError::NotJson {
                byte_offset: problem.byte_offset,
            }
        })?;
        let entries = document
            .as_object()
            .filter(|document| document.len() == 1)
            .and_then(|document| document.get("credentials"))
            .and_then(Value::as_array)
            .filter(|entries| (1..=MAX_CREDENTIALS).contains(&entries.len()))
            .ok_or(CredentialsError::Shape)?;

        let mut parsed: Vec<Entry> = Vec::with_capacity(entries.len());
        let mut seen: HashMap<[u64; 4], usize> = HashMap::new();
        let mut residents: HashMap<String, (String, usize)> = HashMap::new();
        for (index, value) in entries.iter().enumerate() {
            let fail = |problem| CredentialsError::Entry { index, problem };
            let entry = parse_entry(value).map_err(fail)?;
            if let Some(first) = seen.insert(entry.token_sha256, index) {
                return Err(fail(EntryProblem::Duplicate(first)));
            }
            let credential = &entry.credential;
            if credential.role != Role::Resident
                && let Some(principal) = &credential.principal
            {
                let (resident, first) = residents
                    .entry(principal.clone())
                    .or_insert_with(|| (credential.resident.clone(), index));
                if *resident != credential.resident {
                    return Err(fail(EntryProblem::ResidentConflict(*first)));
                }
            }
            parsed.push(entry);
        }
        Ok(Self { entries: parsed })
    }

    /// Finds what a token stands for, in time that depends on the number of entries alone.
    #[must_use]
    pub fn authenticate(&self, token: &str) -> Option<&Credential> {
        let presented = words(&sha256(token));
        let mut found = u32::MAX;
        for (index, entry) in (0_u32..).zip(&self.entries) {
            let different = entry
                .token_sha256
                .iter()
                .zip(&presented)
                .fold(0, |different, (of_entry, of_token)| {
                    different | (of_entry ^ of_token)
                });
            found.conditional_assign(&index, different.ct_eq(&0));
        }
        self.entries
            .get(usize::try_from(found).ok()?)
            .map(|entry| &entry.credential)
    }

    /// The principals whose work goes to that queue, without repeats, in the secret's order. An operator has none.
    #[must_use]
    pub fn principals_of(&self, resident: &str) -> Vec<String> {
        let mut seen = HashSet::new();
        self.entries
            .iter()
            .map(|entry| &entry.credential)
            .filter(|credential| {
                !matches!(credential.role, Role::Resident | Role::Operator)
                    && credential.resident == resident
            })
            .filter_map(|credential| credential.principal.clone())
            .filter(|principal| seen.insert(principal.clone()))
            .collect()
    }

    /// The queue that gets the work of a principal; `None` where no credential names the principal. An operator is none.
    #[must_use]
    pub fn resident_of(&self, principal: &str) -> Option<&str> {
        self.entries
            .iter()
            .map(|entry| &entry.credential)
            .find(|credential| {
                !matches!(credential.role, Role::Resident | Role::Operator)
                    && credential.principal.as_deref() == Some(principal)
            })
            .map(|credential| credential.resident.as_str())
    }

    /// The names of all queues that some credential means, without repeats, in the secret's order.
    #[must_use]
    pub fn residents(&self) -> Vec<&str> {
        let mut seen = HashSet::new();
        self.entries
            .iter()
            .map(|entry| entry.credential.resident.as_str())
            .filter(|name| seen.insert(*name))
            .collect()
    }
}

fn words(hash: &[u8; 32]) -> [u64; 4] {
    let mut words = [0; 4];
    for (word, bytes) in words.iter_mut().zip(hash.chunks_exact(8)) {
        *word = bytes
            .iter()
            .fold(0, |word, byte| (word << 8) | u64::from(*byte));
    }
    words
}

fn parse_entry(value: &Value) -> Result<Entry, EntryProblem> {
    let fields = value
        .as_object()
        .filter(|fields| fields.keys().all(|key| FIELDS.contains(&key.as_str())))
        .ok_or(EntryProblem::Shape)?;
    let token_sha256 = match (fields.get("token"), fields.get("tokenSha256")) {
        (Some(token), None) => {
            let token = token.as_str().ok_or(EntryProblem::Token)?;
            if !(MIN_TOKEN_BYTES..=MAX_TOKEN_BYTES).contains(&token.len()) || !is_token(token) {
                return Err(EntryProblem::Token);
            }
            if token.starts_with(TURN_PREFIX) {
                return Err(EntryProblem::ReservedToken);
            }
            sha256(token)
        }
        (None, Some(hash)) => hash
            .as_str()
            .and_then(parse_sha256)
            .ok_or(EntryProblem::TokenSha256)?,
        _ => return Err(EntryProblem::OneToken),
    };
    let role = match fields.get("role") {
        None => Role::Client,
        Some(role) => role
            .as_str()
            .and_then(Role::parse)
            .ok_or(EntryProblem::Role)?,
    };
    let principal = identifier(fields, "principal", EntryProblem::Principal)?;
    if principal.is_none() && role != Role::Resident {
        return Err(EntryProblem::Principal);
    }
    let resident = identifier(fields, "resident", EntryProblem::Resident)?
        .unwrap_or_else(|| DEFAULT_RESIDENT.to_owned());
    Ok(Entry {
        token_sha256: words(&token_sha256),
        credential: Credential {
            role,
            principal,
            resident,
        },
    })
}

fn identifier(
    fields: &Map<String, Value>,
    name: &str,
    problem: EntryProblem,
) -> Result<Option<String>, EntryProblem> {
    match fields.get(name) {
        None => Ok(None),
        Some(value) => value
            .as_str()
            .filter(|id| is_identifier(id))
            .map(|id| Some(id.to_owned()))
            .ok_or(problem),
    }
}

fn is_token(token: &str) -> bool {
    token.bytes().all(|b| b.is_ascii_graphic() && b != b',')
}

/// SHA-256 of a token or of a turn's secret: the only form in which one is kept.
#[must_use]
pub fn sha256(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

fn parse_sha256(hex: &str) -> Option<[u8; 32]> {
    if hex.len() != 64 {
        return None;
    }
    let mut digits = hex.chars().map(|c| c.to_digit(16));
    let mut bytes = [0; 32];
    for byte in &mut bytes {
        let value = (digits.next()?? << 4) | digits.next()??;
        *byte = u8::try_from(value).ok()?;
    }
    Some(bytes)
}

/// The token of an `Authorization: Bearer …` header (RFC 6750 section 2.1).
///
/// The scheme is compared without regard to case; there must be exactly one token of at most
/// [`MAX_TOKEN_BYTES`] visible ASCII characters. `None` means 401. A header sent twice reaches a Worker
/// joined by a comma, and so is `None` too.
#[must_use]
pub fn bearer_token(header: &str) -> Option<&str> {
    let (scheme, rest) = header.trim().split_once([' ', '\t'])?;
    let token = rest.trim();
    let valid = scheme.eq_ignore_ascii_case("bearer")
        && (1..=MAX_TOKEN_BYTES).contains(&token.len())
        && is_token(token);
    valid.then_some(token)
}

/// The bearer token of one turn, `turn~<resident>~<turnId>~<secret>`: it says which queue holds the turn,
/// so the Worker can route it without any state. It is good for that turn and its task only, and the
/// queue keeps nothing but the SHA-256 of its secret.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TurnToken<'a> {
    /// The queue.
    pub resident: &'a str,
    /// The turn.
    pub turn_id: &'a str,
    secret: &'a str,
}

impl fmt::Debug for TurnToken<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TurnToken")
            .field("resident", &self.resident)
            .field("turn_id", &self.turn_id)
            .finish_non_exhaustive()
    }
}

impl<'a> TurnToken<'a> {
    /// Reads the token; `None` when it is none. A token that begins with `turn~` is never a credential of
    /// the secret, so `None` for such a one means 401.
    #[must_use]
    pub fn parse(token: &'a str) -> Option<Self> {
        let mut fields = token.strip_prefix(TURN_PREFIX)?.split('~');
        let (resident, turn_id, secret) = (fields.next()?, fields.next()?, fields.next()?);
        let valid = fields.next().is_none()
            && is_identifier(resident)
            && is_identifier(turn_id)
            && secret.len() >= MIN_TOKEN_BYTES
            && secret
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
        valid.then_some(Self {
            resident,
            turn_id,
            secret,
        })
    }

    /// What the queue keeps of it.
    #[must_use]
    pub fn secret_sha256(&self) -> [u8; 32] {
        sha256(self.secret)
    }

    /// Whether this is the token of which the queue kept `expected`, in constant time. `expected` of
    /// another length than 32 bytes is no match.
    #[must_use]
    pub fn matches(&self, expected: &[u8]) -> bool {
        self.secret_sha256().as_slice().ct_eq(expected).into()
    }
}

/// Whether a token claims to be a turn's, and so is looked up at its queue and not in the secret.
#[must_use]
pub fn is_turn_token(token: &str) -> bool {
    token.starts_with(TURN_PREFIX)
}

/// Makes the token of a turn from 32 random bytes, which the caller takes from a secure source.
///
/// `resident` and `turn_id` must be identifiers; they are the server's own.
#[must_use]
pub fn mint_turn_token(resident: &str, turn_id: &str, random: &[u8; 32]) -> String {
    format!(
        "{TURN_PREFIX}{resident}~{turn_id}~{}",
        URL_SAFE_NO_PAD.encode(random)
    )
}

#[cfg(test)]
#[path = "credentials_tests.rs"]
mod tests;
