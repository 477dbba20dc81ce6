//! A document that anybody may read and keep: made once, then asked for again by its entity tag.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use protocol::conditional;
use protocol::http::{CARD_CACHE_CONTROL, JSON};
use protocol::http_date;

use crate::reply::Handled;
use crate::router::Exchange;
use crate::runtime::response::respond as build;

/// How many documents an instance keeps. A deployment has one of each kind per host name; whoever makes up host names
/// makes them be made again.
const MAX_KEPT: usize = 16;

thread_local! {
    /// By kind and the interface's URL.
    static KEPT: RefCell<BTreeMap<(&'static str, String), Rc<PublicDocument>>> =
        const { RefCell::new(BTreeMap::new()) };
}

/// A JSON document and its entity tag.
pub struct PublicDocument {
    /// The body.
    pub json: String,
    /// Its strong entity tag, quotes included.
    pub etag: String,
}

impl PublicDocument {
    /// The document of a kind for an interface URL: as it was made before, or made now.
    pub fn kept(kind: &'static str, url: String, make: impl FnOnce(&str) -> Self) -> Rc<Self> {
        KEPT.with_borrow_mut(|kept| {
            let key = (kind, url);
            if let Some(document) = kept.get(&key) {
                return Rc::clone(document);
            }
            if kept.len() >= MAX_KEPT {
                kept.clear();
            }
            let document = Rc::new(make(&key.1));
            kept.insert(key, Rc::clone(&document));
            document
        })
    }

    /// Answers GET and HEAD: 304 where the caller holds the document.
    ///
    /// # Errors
    /// Where the platform refuses to build the response: a mistake of ours.
    pub fn respond(&self, exchange: &Exchange<'_>) -> Handled {
        let last_modified_ms = exchange.config.last_modified_ms;
        let last_modified = http_date::format(last_modified_ms);
        let validators = [
            ("cache-control", CARD_CACHE_CONTROL),
            ("etag", self.etag.as_str()),
            ("last-modified", last_modified.as_str()),
        ];
        let header = |name| exchange.request.header(name);
        let is_current = conditional::is_current(
            header("if-none-match").as_deref(),
            header("if-modified-since").as_deref(),
            &self.etag,
            last_modified_ms,
        );
        if is_current {
            return Ok(build(304, &validators, None));
        }
        let [cache_control, etag, last_modified] = validators;
        let headers = [("content-type", JSON), cache_control, etag, last_modified];
        Ok(build(200, &headers, exchange.body_unless_head(&self.json)))
    }
}
