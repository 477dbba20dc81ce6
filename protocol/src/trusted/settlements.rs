//! Which settled tasks a source asks for.

use super::form::{Rule, SOURCE};
use crate::error::A2aError;
use crate::query::{Query, as_place};

static AFTER: Rule = Rule {
    accepts: |text| as_place(text).is_some(),
    says: "must be an integer from 0 to 9007199254740991",
};

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
        let source = query.required("source", &SOURCE);
        let after = query.optional("after", &AFTER);
        let page_size = query.page_size();
        query.close()?;
        Ok(SettlementsQuery {
            source,
            after: after.as_deref().and_then(as_place).unwrap_or(0),
            page_size,
        })
    }
}
