//! The two extensions of the card, and which of them a request activates.
//!
//! A client lists URIs in `A2A-Extensions` (section 3.2.6); unknown ones are ignored, as the
//! specification asks, and the supported ones are echoed on the response, streams included. Only
//! activated extensions are carried on what the agent contributes.

use a2a::AgentExtension;
use serde::{Deserialize, Serialize};

use crate::error::A2aError;

/// The request and response header.
pub const HEADER: &str = "A2A-Extensions";
/// URI of `outfitter-task/v1`: task locators, idempotency records and workflow outputs.
pub const OUTFITTER_TASK_URI: &str =
    "https://github.com/ai-outfitter/channels/a2a-extensions/outfitter-task/v1";
/// Its key in the metadata of messages, tasks and artifacts.
pub const OUTFITTER_TASK_KEY: &str = "outfitter-task/v1";
/// URI of `elicitation/v1`: typed questions and answers.
pub const ELICITATION_URI: &str =
    "https://github.com/ai-outfitter/channels/a2a-extensions/elicitation/v1";
/// Its key in the metadata of messages.
pub const ELICITATION_KEY: &str = "elicitation/v1";

/// Most URIs one request may list.
pub const MAX_URIS: usize = 32;
/// Longest URI that a request may list, in bytes.
pub const MAX_URI_BYTES: usize = 512;

/// One supported extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Extension {
    /// `outfitter-task/v1`
    OutfitterTask,
    /// `elicitation/v1`
    Elicitation,
}

impl Extension {
    /// All of them, in the order in which the card and the response header name them.
    pub const ALL: [Self; 2] = [Self::OutfitterTask, Self::Elicitation];

    /// What the card and the header call it.
    #[must_use]
    pub const fn uri(self) -> &'static str {
        match self {
            Self::OutfitterTask => OUTFITTER_TASK_URI,
            Self::Elicitation => ELICITATION_URI,
        }
    }

    const fn bit(self) -> u8 {
        match self {
            Self::OutfitterTask => 1,
            Self::Elicitation => 2,
        }
    }

    const fn description(self) -> &'static str {
        match self {
            Self::OutfitterTask => {
                "Tasks carry their full locator and idempotency record, artifacts the declared workflow \
                 output they hold, and messages may name the run they belong to."
            }
            Self::Elicitation => {
                "A question may carry a flat schema for its answer, and the answer may be given as data."
            }
        }
    }
}

/// The set of extensions that a request activated. As JSON it is a small integer, so that it is cheap to
/// keep with an activation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(from = "u8", into = "u8")]
pub struct Activated(u8);

impl Activated {
    /// None.
    pub const NONE: Self = Self(0);

    /// This set and one more.
    #[must_use]
    pub const fn with(self, extension: Extension) -> Self {
        Self(self.0 | extension.bit())
    }

    /// Whether the request activated it.
    #[must_use]
    pub const fn contains(self, extension: Extension) -> bool {
        self.0 & extension.bit() != 0
    }

    /// Whether the request activated none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The members, in the order of [`Extension::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Extension> {
        Extension::ALL
            .into_iter()
            .filter(move |extension| self.contains(*extension))
    }

    /// The value of the response header; `None` when there is nothing to echo.
    #[must_use]
    pub fn header_value(self) -> Option<String> {
        let uris: Vec<_> = self.iter().map(Extension::uri).collect();
        (!uris.is_empty()).then(|| uris.join(", "))
    }
}

impl From<Activated> for u8 {
    fn from(set: Activated) -> Self {
        set.0
    }
}

impl From<u8> for Activated {
    /// Bits of extensions that this version does not know are dropped.
    fn from(bits: u8) -> Self {
        let known = Extension::ALL
            .into_iter()
            .fold(0, |known, extension| known | extension.bit());
        Self(bits & known)
    }
}

/// Reads the `A2A-Extensions` header. A header sent several times arrives joined by commas, which is what
/// is read here; whitespace around items and empty items are ignored.
///
/// # Errors
/// 400 when there are more than [`MAX_URIS`] items or one is longer than [`MAX_URI_BYTES`].
pub fn activate(header: Option<&str>) -> Result<Activated, A2aError> {
    let mut set = Activated::NONE;
    let items = header
        .unwrap_or_default()
        .split(',')
        .map(str::trim)
        .filter(|item| !item.is_empty());
    for (index, item) in items.enumerate() {
        if index >= MAX_URIS {
            return Err(A2aError::field(
                HEADER,
                format!("must list at most {MAX_URIS} extension URIs"),
            ));
        }
        if item.len() > MAX_URI_BYTES {
            return Err(A2aError::field(
                HEADER,
                format!("must list extension URIs of at most {MAX_URI_BYTES} bytes"),
            ));
        }
        if let Some(extension) = Extension::ALL.into_iter().find(|e| e.uri() == item) {
            set = set.with(extension);
        }
    }
    Ok(set)
}

/// What the card declares; neither is required of a client.
#[must_use]
pub fn declarations() -> Vec<AgentExtension> {
    Extension::ALL
        .into_iter()
        .map(|extension| AgentExtension {
            uri: extension.uri().to_owned(),
            description: Some(extension.description().to_owned()),
            required: Some(false),
            params: None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn no_header_activates_nothing_and_echoes_nothing() {
        for header in [None, Some(""), Some(" , ,")] {
            let set = activate(header).unwrap();
            assert!(set.is_empty());
            assert_eq!(set.header_value(), None);
        }
    }

    #[test]
    fn the_supported_subset_is_echoed_in_the_declared_order() {
        let header = format!("https://example.com/x/v1,  {ELICITATION_URI} ,,{OUTFITTER_TASK_URI}");
        let set = activate(Some(&header)).unwrap();
        assert_eq!(
            set.header_value(),
            Some(format!("{OUTFITTER_TASK_URI}, {ELICITATION_URI}"))
        );
    }

    #[test]
    fn one_of_the_two_can_be_activated_alone_and_twice_is_once() {
        let set = activate(Some(&format!("{ELICITATION_URI},{ELICITATION_URI}"))).unwrap();
        assert!(set.contains(Extension::Elicitation));
        assert!(!set.contains(Extension::OutfitterTask));
        assert_eq!(set.header_value().as_deref(), Some(ELICITATION_URI));
    }

    #[test]
    fn a_uri_is_compared_exactly() {
        for uri in [
            OUTFITTER_TASK_KEY.to_owned(),
            OUTFITTER_TASK_URI.to_uppercase(),
            format!("{OUTFITTER_TASK_URI}/"),
        ] {
            assert!(activate(Some(&uri)).unwrap().is_empty(), "{uri}");
        }
    }

    #[test]
    fn too_many_or_too_long_uris_are_refused_naming_the_header() {
        let most = vec!["https://example.com/x"; MAX_URIS].join(",");
        assert!(activate(Some(&most)).is_ok());
        assert!(activate(Some(&"u".repeat(MAX_URI_BYTES))).is_ok());
        for header in [
            format!("{most},https://example.com/x"),
            "u".repeat(MAX_URI_BYTES + 1),
        ] {
            let error = activate(Some(&header)).unwrap_err();
            assert_eq!(error.http_status(), 400);
            assert_eq!(error.violations[0].field, HEADER);
        }
    }

    #[test]
    fn a_set_is_a_small_integer_in_json_and_unknown_bits_are_dropped() {
        let both = Activated::NONE
            .with(Extension::Elicitation)
            .with(Extension::OutfitterTask);
        assert_eq!(serde_json::to_value(both).unwrap(), json!(3));
        assert_eq!(
            serde_json::from_value::<Activated>(json!(255)).unwrap(),
            both
        );
        assert!(serde_json::from_value::<Activated>(json!(256)).is_err());
    }

    #[test]
    fn the_card_declares_both_and_requires_neither() {
        let declared = declarations();
        let uris: Vec<_> = declared.iter().map(|e| e.uri.as_str()).collect();
        assert_eq!(uris, [OUTFITTER_TASK_URI, ELICITATION_URI]);
        assert!(declared.iter().all(|e| e.required == Some(false)));
    }

    proptest! {
        #[test]
        fn any_header_is_read_or_refused(header in "\\PC{0,300}") {
            let _ = activate(Some(&header));
        }
    }
}
