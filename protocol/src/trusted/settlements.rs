//! Which settled tasks a source asks for.

use super::{SOURCE, SOURCE_RULE, is_source};
use crate::error::A2aError;
use crate::fields::{Name, plain};
use crate::query::Query;

const AFTER: Name = plain("after");

/// The parameters of `GET /trusted/v1/settlements`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettlementsQuery {
    /// Whose tasks.
    pub source: String,
    /// Only what was settled after this settlement; 0 for all.
    pub after: i64,
    /// At most so many, 1 to 100.
    pub page_size: u32,
}

impl SettlementsQuery {
    /// Reads the raw query.
    ///
    /// # Errors
    /// [`InvalidRequest`](crate::error::Reason::InvalidRequest) naming each parameter at fault.
    pub fn parse(raw_query: &str) -> Result<Self, A2aError> {
        let mut query = Query::of(raw_query);
        let settlements = SettlementsQuery {
            source: query.required(SOURCE, SOURCE_RULE, |text| {
                is_source(text).then(|| text.to_owned())
            }),
            after: query
                .read_unless_empty(AFTER, "must be an integer from 0", |text| {
                    text.parse().ok().filter(|after| *after >= 0)
                })
                .unwrap_or_default(),
            page_size: query.page_size(),
        };
        query.finish(settlements)
    }
}
