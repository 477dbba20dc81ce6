//! Which version of the protocol a request speaks: `A2A-Version`, section 3.6.

use crate::error::{A2aError, Reason};
use crate::query;

/// The request header, and the query parameter that may stand in for it (section 3.6.1).
pub const NAME: &str = "A2A-Version";
/// The one version served.
pub const SUPPORTED: &str = "1.0";

/// Refuses a request that speaks another version than [`SUPPORTED`].
///
/// `header` is the value of the `A2A-Version` header (its name is matched without regard to case by
/// whoever reads headers), `query` the raw query of the URL, in which the name is matched exactly. An
/// absent version is accepted; the empty value means 0.3 (section 3.6.2) and is not.
///
/// # Errors
/// `VERSION_NOT_SUPPORTED`, with `supportedVersions` in its metadata; `INVALID_REQUEST` when header and
/// parameter name different versions, or the parameter is repeated or cannot be decoded.
pub fn negotiate(header: Option<&str>, query: Option<&str>) -> Result<(), A2aError> {
    let header = header.map(str::trim);
    let parameter = query::parameter(query.unwrap_or_default(), NAME)?;
    if header.is_some() && parameter.is_some() && header != parameter.as_deref() {
        return Err(A2aError::field(
            NAME,
            "must name one version: header and query parameter disagree",
        ));
    }
    match header.or(parameter.as_deref()) {
        None | Some(SUPPORTED) => Ok(()),
        Some(other) => Err(not_supported(other)),
    }
}

fn not_supported(requested: &str) -> A2aError {
    let message = if requested.is_empty() {
        format!("an empty {NAME} means 0.3; this agent speaks {SUPPORTED}")
    } else {
        format!("this agent speaks A2A {SUPPORTED} only: send {NAME}: {SUPPORTED}")
    };
    A2aError::new(Reason::VersionNotSupported, message).with("supportedVersions", SUPPORTED)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn reason(header: Option<&str>, query: Option<&str>) -> Option<Reason> {
        negotiate(header, query).err().map(|error| error.reason)
    }

    #[test]
    fn an_absent_version_and_1_0_are_accepted() {
        for (header, query) in [
            (None, None),
            (None, Some("")),
            (None, Some("pageSize=10")),
            (Some("1.0"), None),
            (Some(" 1.0 "), None),
            (None, Some("A2A-Version=1.0")),
            (None, Some("x=%zz&A2A-Version=1%2E0")),
            (Some("1.0"), Some("A2A-Version=1.0")),
        ] {
            assert_eq!(reason(header, query), None, "{header:?} {query:?}");
        }
    }

    #[test]
    fn any_other_version_is_not_supported() {
        for version in [
            "",
            "0.3",
            "1",
            "1.0.0",
            "1.0.1",
            "1.1",
            "2.0",
            "v1.0",
            "1.0, 1.0",
            "\u{661}.0",
        ] {
            assert_eq!(
                reason(Some(version), None),
                Some(Reason::VersionNotSupported),
                "{version:?}"
            );
        }
        for query in [
            "A2A-Version",
            "A2A-Version=",
            "A2A-Version=0.3",
            "A2A-Version=1.0+",
        ] {
            assert_eq!(
                reason(None, Some(query)),
                Some(Reason::VersionNotSupported),
                "{query:?}"
            );
        }
    }

    #[test]
    fn header_and_parameter_that_disagree_or_a_parameter_that_is_unclear_are_an_invalid_request() {
        for (header, query) in [
            (Some("1.0"), "A2A-Version=0.3"),
            (Some("0.3"), "A2A-Version=1.0"),
            (Some(""), "A2A-Version=1.0"),
            (None, "A2A-Version=1.0&A2A-Version=1.0"),
            (None, "A2A-Version=%zz"),
        ] {
            let error = negotiate(header, Some(query)).unwrap_err();
            assert_eq!(error.reason, Reason::InvalidRequest, "{header:?} {query}");
            assert_eq!(error.violations[0].field, NAME);
        }
    }

    #[test]
    fn the_query_parameters_name_is_exact() {
        assert_eq!(reason(None, Some("a2a-version=0.3")), None);
    }

    #[test]
    fn the_error_lists_the_supported_versions() {
        let error = negotiate(Some("0.3"), None).unwrap_err();
        assert_eq!(error.metadata["supportedVersions"], "1.0");
        assert_eq!(error.http_status(), 400);
    }

    proptest! {
        #[test]
        fn any_pair_of_values_is_accepted_or_refused(
            header in prop::option::of("\\PC{0,20}"),
            query in prop::option::of("(A2A-Version=)?\\PC{0,40}"),
        ) {
            let _ = negotiate(header.as_deref(), query.as_deref());
        }
    }
}
