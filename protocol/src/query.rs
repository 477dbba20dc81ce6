//! Query parameters (§11.5), read from the raw query of the URL: what stands after its first `?`.
//!
//! Names are camelCase; a field's name in `a2a.proto` is accepted too. `+` is a space and `%XX` a byte of UTF-8. Every
//! parameter here is single-valued: repeating one is refused, since no answer could serve both values. Unknown
//! parameters are ignored.

use std::borrow::Cow;

use a2a::TaskState;
use sha2::{Digest as _, Sha256};

use crate::error::A2aError;
use crate::fields::{Name, Path, Violations, named, plain};
use crate::trusted::Rule;
use crate::{ids, state, time};

/// Page size of a list when the query names none.
pub const DEFAULT_PAGE_SIZE: u32 = 50;
/// Largest page size of a list (§3.1.4).
pub const MAX_PAGE_SIZE: u32 = 100;

const MAX_PLACE: i64 = i64::MAX >> 10;

const TENANT: Name = plain("tenant");
const CONTEXT_ID: Name = named("contextId", "context_id");
const STATUS: Name = plain("status");
const PAGE_SIZE: Name = named("pageSize", "page_size");
const PAGE_TOKEN: Name = named("pageToken", "page_token");
const HISTORY_LENGTH: Name = named("historyLength", "history_length");
const STATUS_TIMESTAMP_AFTER: Name = named("statusTimestampAfter", "status_timestamp_after");
const INCLUDE_ARTIFACTS: Name = named("includeArtifacts", "include_artifacts");

/// The parameters of `GET /tasks/{id}` (§3.1.3).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GetTaskQuery {
    /// Most messages of history in the answer: `None` all, 0 none (§3.2.4).
    pub history_length: Option<u32>,
}

impl GetTaskQuery {
    /// Reads the raw query.
    ///
    /// # Errors
    /// [`InvalidRequest`](crate::error::Reason::InvalidRequest) naming each parameter at fault.
    pub fn parse(raw_query: &str) -> Result<Self, A2aError> {
        let mut query = Query::of(raw_query);
        query.refuse_tenant();
        let history_length = query.history_length();
        query.violations.or(GetTaskQuery { history_length })
    }
}

/// The parameters of `GET /tasks` (§3.1.4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListTasksQuery {
    /// Only tasks of this context.
    pub context_id: Option<String>,
    /// Only tasks in this state.
    pub status: Option<TaskState>,
    /// Only tasks whose status timestamp, in Unix milliseconds, is this or later.
    pub status_timestamp_after_ms: Option<i64>,
    /// Most tasks in the answer, 1 to [`MAX_PAGE_SIZE`].
    pub page_size: u32,
    /// Where to go on; opened with [`crate::cursor::Cursor::open`].
    pub page_token: Option<String>,
    /// Most messages of history per task: `None` all, 0 none (§3.2.4).
    pub history_length: Option<u32>,
    /// Whether tasks come with their artifacts.
    pub include_artifacts: bool,
}

impl ListTasksQuery {
    /// Reads the raw query.
    ///
    /// # Errors
    /// [`InvalidRequest`](crate::error::Reason::InvalidRequest) naming each parameter at fault.
    pub fn parse(raw_query: &str) -> Result<Self, A2aError> {
        let mut query = Query::of(raw_query);
        query.refuse_tenant();
        let context_id = query.text(CONTEXT_ID).filter(|text| {
            let is_identifier = ids::is_identifier(text);
            if !is_identifier {
                query.violations.add(at(CONTEXT_ID), ids::RULE);
            }
            is_identifier
        });
        let status = query.read(
            STATUS,
            "must be the full name of a task state, such as TASK_STATE_WORKING",
            state::from_wire,
        );
        let status_timestamp_after_ms = query.read(
            STATUS_TIMESTAMP_AFTER,
            "must be an RFC 3339 timestamp, such as 2025-10-28T10:30:00.000Z",
            time::parse,
        );
        let page_size = query.page_size();
        let page_token = query.text(PAGE_TOKEN);
        let history_length = query.history_length();
        let include_artifacts =
            query.read(
                INCLUDE_ARTIFACTS,
                "must be true or false",
                |text| match text {
                    "true" => Some(true),
                    "false" => Some(false),
                    _ => None,
                },
            );
        query.violations.or(ListTasksQuery {
            context_id,
            // The default of its field, and so no filter.
            status: status.filter(|state| *state != TaskState::Unspecified),
            status_timestamp_after_ms,
            page_size,
            page_token,
            history_length,
            include_artifacts: include_artifacts.unwrap_or(false),
        })
    }

    /// A digest of what selects the tasks: a page token is good only for the list that it came from. How much of
    /// each task is shown, and how many on a page, may change from page to page.
    pub fn filter_digest(&self) -> [u8; 32] {
        let filter = serde_json::json!([
            self.context_id,
            self.status.as_ref().map(state::code),
            self.status_timestamp_after_ms,
        ]);
        Sha256::digest(filter.to_string()).into()
    }
}

/// The value of a single-valued parameter, decoded; `None` when the query does not have it.
///
/// # Errors
/// [`InvalidRequest`](crate::error::Reason::InvalidRequest) naming the parameter when it is repeated or cannot be decoded.
pub fn parameter(raw_query: &str, name: &'static str) -> Result<Option<String>, A2aError> {
    let mut query = Query::of(raw_query);
    let value = query.single(plain(name));
    query.violations.or(value)
}

/// The parameters of one request, and what is wrong with those that were read.
pub(crate) struct Query<'a> {
    raw: &'a str,
    violations: Violations,
}

impl<'a> Query<'a> {
    /// The parameters in a raw query.
    pub(crate) fn of(raw: &'a str) -> Self {
        Query {
            raw,
            violations: Violations::default(),
        }
    }

    /// All of it has been read: refuses it where anything in it was wrong.
    ///
    /// # Errors
    /// `INVALID_REQUEST` with every parameter at fault.
    pub(crate) fn close(self) -> Result<(), A2aError> {
        self.violations.or(())
    }

    fn single(&mut self, name: Name) -> Option<String> {
        let mut found = None;
        for pair in self.raw.split('&') {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            // A name that cannot be decoded is none of ours.
            if !decode(key).is_some_and(|key| key == name.json || key == name.proto) {
                continue;
            }
            if found.replace(value).is_some() {
                self.violations.add(at(name), "must be given only once");
                return None;
            }
        }
        let decoded = decode(found?);
        if decoded.is_none() {
            self.violations
                .add(at(name), "must be percent-encoded UTF-8");
        }
        decoded.map(Cow::into_owned)
    }

    /// A string; the empty one is absent.
    fn text(&mut self, name: Name) -> Option<String> {
        self.single(name).filter(|text| !text.is_empty())
    }

    fn read<T>(
        &mut self,
        name: Name,
        rule: &'static str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let text = self.single(name)?;
        let value = read(&text);
        if value.is_none() {
            self.violations.add(at(name), rule);
        }
        value
    }

    /// A text that must be there; the empty one is absent.
    pub(crate) fn required(&mut self, name: &'static str, rule: &'static Rule) -> String {
        let before = self.violations.len();
        let text = self.optional(name, rule);
        if text.is_none() && self.violations.len() == before {
            self.violations.add(Path::Root(name), "is required");
        }
        text.unwrap_or_default()
    }

    /// A text that may be there; the empty one is absent.
    pub(crate) fn optional(&mut self, name: &'static str, rule: &'static Rule) -> Option<String> {
        let text = self.text(plain(name))?;
        if !(rule.accepts)(&text) {
            self.violations.add(Path::Root(name), rule.says);
        }
        Some(text)
    }

    /// `pageSize`, or [`DEFAULT_PAGE_SIZE`].
    pub(crate) fn page_size(&mut self) -> u32 {
        self.read(PAGE_SIZE, "must be an integer from 1 to 100", |text| {
            as_count(text).filter(|size| (1..=MAX_PAGE_SIZE).contains(size))
        })
        .unwrap_or(DEFAULT_PAGE_SIZE)
    }

    fn history_length(&mut self) -> Option<u32> {
        self.read(
            HISTORY_LENGTH,
            "must be an integer from 0 to 2147483647",
            as_count,
        )
    }

    fn refuse_tenant(&mut self) {
        if self.text(TENANT).is_some() {
            self.violations
                .add(at(TENANT), "must be absent: this agent has no tenants");
        }
    }
}

fn at(name: Name) -> Path<'static> {
    Path::Root(name.json)
}

/// A non-negative `int32` in decimal digits.
fn as_count(text: &str) -> Option<u32> {
    if text.is_empty() || text.len() > 10 || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse::<i32>().ok()?.try_into().ok()
}

/// A place in a list, as an answer of ours gave it: decimal digits, and at most 2^53 - 1, which every JSON reader and the
/// objects' storage keep exactly.
pub(crate) fn as_place(text: &str) -> Option<i64> {
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse().ok().filter(|place| *place <= MAX_PLACE)
}

/// The text that `application/x-www-form-urlencoded` encodes; `None` when it is malformed or not UTF-8.
fn decode(encoded: &str) -> Option<Cow<'_, str>> {
    if !encoded.contains(['%', '+']) {
        return Some(Cow::Borrowed(encoded));
    }
    let mut decoded = Vec::with_capacity(encoded.len());
    let mut bytes = encoded.bytes();
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'+' => b' ',
            b'%' => {
                let high = char::from(bytes.next()?).to_digit(16)?;
                let low = char::from(bytes.next()?).to_digit(16)?;
                u8::try_from(high << 4 | low).ok()?
            }
            other => other,
        });
    }
    String::from_utf8(decoded).ok().map(Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn refused(raw_query: &str) -> Vec<String> {
        let error = ListTasksQuery::parse(raw_query).unwrap_err();
        assert_eq!(error.http_status(), 400);
        error
            .violations
            .iter()
            .map(|violation| violation.field.clone())
            .collect()
    }

    #[test]
    fn a_list_without_parameters_is_the_first_fifty_tasks() {
        let expected = ListTasksQuery {
            context_id: None,
            status: None,
            status_timestamp_after_ms: None,
            page_size: 50,
            page_token: None,
            history_length: None,
            include_artifacts: false,
        };
        for raw in [
            "",
            "&&",
            "future=1",
            "contextId=&pageToken=&tenant=&status=TASK_STATE_UNSPECIFIED",
            "%zz=1",
        ] {
            assert_eq!(ListTasksQuery::parse(raw).unwrap(), expected, "{raw}");
        }
    }

    #[test]
    fn every_parameter_of_a_list_is_read() {
        let query = ListTasksQuery::parse(
            "contextId=c-1&status=TASK_STATE_WORKING&pageSize=100&pageToken=abc_-&historyLength=0&includeArtifacts=true\
             &statusTimestampAfter=2025-10-28T12:30:00%2B02:00",
        )
        .unwrap();
        assert_eq!(
            query,
            ListTasksQuery {
                context_id: Some("c-1".into()),
                status: Some(TaskState::Working),
                status_timestamp_after_ms: Some(1_761_647_400_000),
                page_size: 100,
                page_token: Some("abc_-".into()),
                history_length: Some(0),
                include_artifacts: true,
            }
        );
        let snake = "context_id=c-1&status=TASK_STATE_WORKING&page_size=100&page_token=abc_-&history_length=0\
                     &include_artifacts=true&status_timestamp_after=2025-10-28T10:30:00Z";
        assert_eq!(ListTasksQuery::parse(snake).unwrap(), query);
    }

    #[test]
    fn bad_values_are_refused_by_name() {
        for size in [
            "0",
            "101",
            "-1",
            "1.5",
            "",
            "ten",
            "+5",
            "%205",
            "4294967297",
            "99999999999999999999",
        ] {
            assert_eq!(refused(&format!("pageSize={size}")), ["pageSize"], "{size}");
        }
        for length in ["-1", "2147483648", "", "1e3", "0x1"] {
            assert_eq!(
                refused(&format!("historyLength={length}")),
                ["historyLength"],
                "{length}"
            );
        }
        for state in ["", "working", "WORKING", "2", "TASK_STATE_RUNNING"] {
            assert_eq!(refused(&format!("status={state}")), ["status"], "{state}");
        }
        for moment in [
            "",
            "yesterday",
            "2025-10-28",
            "2025-10-28T12:30:00+02:00",
            "1761647400000",
        ] {
            // A bare `+` is a space.
            assert_eq!(
                refused(&format!("statusTimestampAfter={moment}")),
                ["statusTimestampAfter"],
                "{moment}"
            );
        }
        assert_eq!(refused("includeArtifacts=yes"), ["includeArtifacts"]);
        assert_eq!(refused("contextId=a/b"), ["contextId"]);
        assert_eq!(refused("tenant=acme"), ["tenant"]);
        assert_eq!(
            refused("pageSize=150&historyLength=-5&status=TASK_STATE_RUNNING"),
            ["status", "pageSize", "historyLength"]
        );
    }

    #[test]
    fn a_repeated_parameter_is_refused_under_either_name() {
        assert_eq!(refused("pageSize=1&pageSize=1"), ["pageSize"]);
        assert_eq!(refused("pageSize=1&page_size=1"), ["pageSize"]);
        assert_eq!(refused("pageSize=1&page%53ize=2"), ["pageSize"]);
    }

    #[test]
    fn malformed_encoding_is_refused_by_name() {
        for value in ["%", "%4", "%4g", "%ff", "%C3%28"] {
            assert_eq!(
                refused(&format!("contextId={value}")),
                ["contextId"],
                "{value}"
            );
        }
    }

    #[test]
    fn one_task_takes_only_a_history_length() {
        assert_eq!(
            GetTaskQuery::parse("").unwrap(),
            GetTaskQuery {
                history_length: None
            }
        );
        assert_eq!(
            GetTaskQuery::parse("historyLength=10&x=y").unwrap(),
            GetTaskQuery {
                history_length: Some(10)
            }
        );
        assert_eq!(
            GetTaskQuery::parse("historyLength=-1")
                .unwrap_err()
                .violations[0]
                .field,
            "historyLength"
        );
    }

    #[test]
    fn one_parameter_can_be_read_alone() {
        assert_eq!(
            parameter("A2A-Version=1.0&x=%", "A2A-Version"),
            Ok(Some("1.0".into()))
        );
        assert_eq!(
            parameter("A2A-Version", "A2A-Version"),
            Ok(Some(String::new()))
        );
        assert_eq!(parameter("a=b+c%2Bd", "a"), Ok(Some("b c+d".into())));
        assert_eq!(parameter("", "A2A-Version"), Ok(None));
        assert!(parameter("A2A-Version=1.0&A2A-Version=0.3", "A2A-Version").is_err());
    }

    #[test]
    fn the_filter_digest_covers_what_selects_tasks_and_nothing_else() {
        let digest = |raw: &str| ListTasksQuery::parse(raw).unwrap().filter_digest();
        assert_eq!(
            digest("contextId=c&pageSize=3&historyLength=1"),
            digest("contextId=c&includeArtifacts=true")
        );
        let distinct: std::collections::BTreeSet<_> = [
            digest(""),
            digest("contextId=c"),
            digest("status=TASK_STATE_WORKING"),
            digest("statusTimestampAfter=1970-01-01T00:00:00.002Z"),
        ]
        .into();
        assert_eq!(distinct.len(), 4);
    }

    proptest! {
        #[test]
        fn no_query_panics(raw in "\\PC{0,40}", name in prop::sample::select(vec!["pageSize", "status", "contextId"])) {
            let _ = ListTasksQuery::parse(&raw);
            let _ = GetTaskQuery::parse(&raw);
            let _ = ListTasksQuery::parse(&format!("{name}={raw}"));
        }

        #[test]
        fn every_text_survives_percent_encoding(text in "(?s).{0,20}") {
            let encoded: String = text.bytes().map(|byte| format!("%{byte:02x}")).collect();
            prop_assert_eq!(parameter(&format!("x={encoded}"), "x").unwrap(), Some(text));
        }
    }
}
