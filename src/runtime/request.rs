//! The request that the Worker answers.

use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// A JavaScript `Request`.
    pub type Request;
}

#[wasm_bindgen(module = "/src/runtime/glue.js")]
extern "C" {
    #[wasm_bindgen(js_name = requestHead)]
    fn request_head(request: &Request) -> String;
    fn header(request: &Request, name: &str) -> Option<String>;
}

/// Where a request goes.
///
/// The platform has parsed the URL: the path begins with `/`, dot segments are gone, and percent encoding is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestLine {
    /// The method as sent, upper case for the standard ones.
    pub method: String,
    /// Scheme and authority, such as `https://agent.example`.
    pub origin: String,
    /// The path, still percent-encoded.
    pub path: String,
    /// What follows `?`, without it and without a fragment; `None` where there is no `?`.
    pub query: Option<String>,
}

impl RequestLine {
    fn parse(method: &str, url: &str) -> Self {
        let url = url.split_once('#').map_or(url, |(before, _)| before);
        let (rest, query) = match url.split_once('?') {
            Some((rest, query)) => (rest, Some(query.to_owned())),
            None => (url, None),
        };
        let (scheme, after_scheme) = rest.split_once("://").unwrap_or(("", rest));
        let (authority, path) = after_scheme.split_once('/').unwrap_or((after_scheme, ""));
        Self {
            method: method.to_owned(),
            origin: format!("{scheme}://{authority}"),
            path: format!("/{path}"),
            query,
        }
    }

    /// Whether the request came encrypted.
    #[must_use]
    pub fn is_secure(&self) -> bool {
        self.origin.starts_with("https://")
    }
}

/// What every request is asked for. Several headers of one name are joined by `, `.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestHead {
    /// Where it goes.
    pub line: RequestLine,
    /// `Authorization`.
    pub authorization: Option<String>,
    /// `A2A-Version`.
    pub a2a_version: Option<String>,
    /// `A2A-Extensions`.
    pub a2a_extensions: Option<String>,
    /// `Origin`: that of the page, where a browser asks.
    pub page_origin: Option<String>,
    /// `traceparent`.
    pub traceparent: Option<String>,
    /// `X-Request-Id`.
    pub request_id: Option<String>,
}

impl RequestHead {
    /// Reads the lines that `glue.js` writes: method, URL, then the headers in the order of the fields above, each with
    /// a `:` before its value, or empty where it is absent.
    fn parse(head: &str) -> Self {
        let mut lines = head.split('\n');
        let method = lines.next().unwrap_or_default();
        let url = lines.next().unwrap_or_default();
        let mut header = || Some(lines.next()?.strip_prefix(':')?.to_owned());
        Self {
            line: RequestLine::parse(method, url),
            authorization: header(),
            a2a_version: header(),
            a2a_extensions: header(),
            page_origin: header(),
            traceparent: header(),
            request_id: header(),
        }
    }
}

impl Request {
    /// The method and the URL's parts.
    #[must_use]
    pub fn line(&self) -> RequestLine {
        self.head().line
    }

    /// The same, and the headers that every request is asked for, in one crossing.
    #[must_use]
    pub fn head(&self) -> RequestHead {
        RequestHead::parse(&request_head(self))
    }

    /// A header's value; several of one name are joined by `, `. The name is matched without regard to case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<String> {
        header(self, name)
    }
}

#[cfg(test)]
mod tests {
    use super::RequestHead;

    #[test]
    fn a_url_is_split_into_origin_path_and_query() {
        let line =
            RequestHead::parse("GET\nhttps://agent.example:8443/tasks/a%2Fb?historyLength=1#x")
                .line;
        assert_eq!(line.method, "GET");
        assert_eq!(line.origin, "https://agent.example:8443");
        assert_eq!(line.path, "/tasks/a%2Fb");
        assert_eq!(line.query.as_deref(), Some("historyLength=1"));
        assert!(line.is_secure());
    }

    #[test]
    fn a_slash_in_the_query_is_not_part_of_the_path() {
        let line = RequestHead::parse("GET\nhttp://a/?next=http://b/c").line;
        assert_eq!(line.path, "/");
        assert_eq!(line.query.as_deref(), Some("next=http://b/c"));
        assert!(!line.is_secure());
    }

    #[test]
    fn an_empty_header_is_not_an_absent_one() {
        let head =
            RequestHead::parse("GET\nhttp://a/\n:Bearer x\n:\n\n:https://app.example\n\n:r-1");
        assert_eq!(head.authorization.as_deref(), Some("Bearer x"));
        assert_eq!(head.a2a_version.as_deref(), Some(""));
        assert_eq!(head.a2a_extensions, None);
        assert_eq!(head.page_origin.as_deref(), Some("https://app.example"));
        assert_eq!(head.traceparent, None);
        assert_eq!(head.request_id.as_deref(), Some("r-1"));
    }
}
