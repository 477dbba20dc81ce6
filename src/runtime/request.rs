//! The request that the Worker answers.

use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// A JavaScript `Request`.
    pub type Request;
}

#[wasm_bindgen(module = "/src/runtime/glue.js")]
extern "C" {
    #[wasm_bindgen(js_name = requestLine)]
    fn request_line(request: &Request) -> String;
    fn header(request: &Request, name: &str) -> Option<String>;
}

/// What routing needs of a request, read in one crossing.
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
    fn parse(line: &str) -> Self {
        let (method, url) = line.split_once('\n').unwrap_or((line, ""));
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
}

impl Request {
    /// The method and the URL's parts.
    #[must_use]
    pub fn line(&self) -> RequestLine {
        RequestLine::parse(&request_line(self))
    }

    /// A header's value; several of one name are joined by `, `. The name is matched without regard to case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<String> {
        header(self, name)
    }
}

#[cfg(test)]
mod tests {
    use super::RequestLine;

    #[test]
    fn a_request_line_is_split_into_method_origin_path_and_query() {
        let line =
            RequestLine::parse("GET\nhttps://agent.example:8443/tasks/a%2Fb?historyLength=1#x");
        assert_eq!(line.method, "GET");
        assert_eq!(line.origin, "https://agent.example:8443");
        assert_eq!(line.path, "/tasks/a%2Fb");
        assert_eq!(line.query.as_deref(), Some("historyLength=1"));
    }

    #[test]
    fn a_slash_in_the_query_is_not_part_of_the_path() {
        let line = RequestLine::parse("GET\nhttp://a/?next=http://b/c");
        assert_eq!(line.path, "/");
        assert_eq!(line.query.as_deref(), Some("next=http://b/c"));
    }
}
