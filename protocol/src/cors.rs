//! Which web pages may call this endpoint: `A2A_ALLOWED_ORIGINS`, and the headers that tell a browser so (the Fetch
//! standard, *CORS protocol*).
//!
//! Nothing is allowed unless it is configured, except reading the Agent Card. Credentials in the sense of
//! CORS (cookies, client certificates) are never allowed: a token is sent by the page's own code.

use crate::http;

/// The var.
pub const VAR: &str = "A2A_ALLOWED_ORIGINS";
/// Most origins that the var may name; each is compared on every request of a browser.
pub const MAX_ORIGINS: usize = 100;
/// Longest origin, in bytes.
pub const MAX_ORIGIN_BYTES: usize = 300;

/// The request headers that a page may set: those that clients of this endpoint send.
pub const ALLOW_HEADERS: &str = "Authorization, Content-Type, A2A-Version, A2A-Extensions, Accept, Last-Event-ID, \
                                 If-None-Match, If-Modified-Since, X-Request-Id, traceparent, Mcp-Session-Id, \
                                 MCP-Protocol-Version";
/// The response headers that a page may read, beside those that every page may.
pub const EXPOSE_HEADERS: &str =
    "A2A-Extensions, ETag, Retry-After, WWW-Authenticate, X-Request-Id, Mcp-Session-Id";
/// How long a browser may keep a preflight's answer, in seconds: two hours, the most that any browser keeps it.
pub const MAX_AGE_S: &str = "7200";

/// The path of the Agent Card, which any page may read.
pub const AGENT_CARD_PATH: &str = "/.well-known/agent-card.json";

/// Why the var cannot be used. The deployment's mistake: it is logged, and no origin is allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OriginsError {
    /// One entry is no origin as browsers write them.
    #[error(
        "{VAR}: entry {index} must be an origin as browsers send it, such as https://app.example, in lower case, \
         without a path and without the scheme's default port; or the var must be * alone"
    )]
    Origin {
        /// Place of the entry, from 0.
        index: usize,
    },
    /// More than [`MAX_ORIGINS`].
    #[error("{VAR} must name at most {MAX_ORIGINS} origins")]
    TooMany,
}

/// The origins whose pages may call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum AllowedOrigins {
    /// None.
    #[default]
    Nobody,
    /// Any.
    Anybody,
    /// Exactly these.
    Listed(Vec<String>),
}

impl AllowedOrigins {
    /// Reads the var: origins separated by commas, or `*`. Absent or blank it allows none.
    ///
    /// # Errors
    /// The first entry that is no origin.
    pub fn parse(var: Option<&str>) -> Result<Self, OriginsError> {
        let var = var.unwrap_or_default().trim();
        if var.is_empty() {
            return Ok(Self::Nobody);
        }
        if var == "*" {
            return Ok(Self::Anybody);
        }
        let mut origins = Vec::new();
        for (index, entry) in var.split(',').map(str::trim).enumerate() {
            if !is_serialized_origin(entry) {
                return Err(OriginsError::Origin { index });
            }
            if origins.len() >= MAX_ORIGINS {
                return Err(OriginsError::TooMany);
            }
            origins.push(entry.to_owned());
        }
        Ok(Self::Listed(origins))
    }

    /// What `Access-Control-Allow-Origin` says of a path to a page of this origin; `None` where it must be absent.
    #[must_use]
    pub fn allow<'a>(&self, path: &str, origin: Option<&'a str>) -> Option<&'a str> {
        if path == AGENT_CARD_PATH {
            return Some("*");
        }
        let origin = origin?;
        match self {
            Self::Nobody => None,
            Self::Anybody => Some("*"),
            Self::Listed(origins) => origins
                .iter()
                .any(|allowed| allowed == origin)
                .then_some(origin),
        }
    }

    /// The headers of every answer, errors and streams too. Where origins are listed the answer depends on `Origin`
    /// even for a request without one, since a cache may keep it.
    #[must_use]
    pub fn headers<'a>(&self, path: &str, origin: Option<&'a str>) -> Vec<(&'static str, &'a str)> {
        let mut headers = Vec::new();
        if let Some(allowed) = self.allow(path, origin) {
            headers.push(("access-control-allow-origin", allowed));
            headers.push(("access-control-expose-headers", EXPOSE_HEADERS));
        }
        if matches!(self, Self::Listed(_)) && path != AGENT_CARD_PATH {
            headers.push(("vary", "Origin"));
        }
        headers
    }

    /// The further headers of a preflight's answer; none where the origin is not allowed.
    #[must_use]
    pub fn preflight<'a>(
        &self,
        path: &str,
        origin: Option<&str>,
        methods: &'a str,
    ) -> Vec<(&'static str, &'a str)> {
        if self.allow(path, origin).is_none() {
            return Vec::new();
        }
        vec![
            ("access-control-allow-methods", methods),
            ("access-control-allow-headers", ALLOW_HEADERS),
            ("access-control-max-age", MAX_AGE_S),
        ]
    }
}

/// Whether a browser could send this text as `Origin`. What it never sends would never match: a slip in the var is told
/// at once rather than found out by a page that does not work.
fn is_serialized_origin(text: &str) -> bool {
    let Some((scheme, authority)) = text.split_once("://") else {
        return false;
    };
    let default_port = match scheme {
        "http" => ":80",
        "https" => ":443",
        _ => "",
    };
    let port_is_right = match authority.rsplit_once(':') {
        Some((_, port)) if !port.ends_with(']') => port
            .parse::<u16>()
            .is_ok_and(|number| number.to_string() == port),
        _ => true,
    };
    text.len() <= MAX_ORIGIN_BYTES
        && http::is_uri(text)
        && !text.bytes().any(|byte| byte.is_ascii_uppercase())
        && !authority.is_empty()
        && !authority.starts_with(':')
        && !authority.contains(['/', '?', '#', '@', '*', '%', ','])
        && (default_port.is_empty() || !authority.ends_with(default_port))
        && port_is_right
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routes::ROUTES;
    use proptest::prelude::*;

    const PAGE: &str = "https://app.example";

    fn listed() -> AllowedOrigins {
        AllowedOrigins::parse(Some("https://app.example, http://localhost:3000")).unwrap()
    }

    #[test]
    fn an_absent_or_blank_var_allows_nobody_and_a_star_anybody() {
        for var in [None, Some(""), Some("  ")] {
            assert_eq!(AllowedOrigins::parse(var), Ok(AllowedOrigins::Nobody));
        }
        assert_eq!(
            AllowedOrigins::parse(Some(" * ")),
            Ok(AllowedOrigins::Anybody)
        );
    }

    #[test]
    fn origins_are_separated_by_commas() {
        for origin in [
            "https://app.example",
            "http://localhost:3000",
            "http://127.0.0.1:8080",
            "http://[::1]:5173",
            "http://[::1]",
            "chrome-extension://abcdefghijklmnop",
            "https://xn--bcher-kva.example",
        ] {
            let expected = AllowedOrigins::Listed(vec![PAGE.to_owned(), origin.to_owned()]);
            assert_eq!(
                AllowedOrigins::parse(Some(&format!("{PAGE} ,{origin}"))),
                Ok(expected),
                "{origin}"
            );
        }
    }

    #[test]
    fn what_no_browser_sends_is_refused_by_its_place() {
        for entry in [
            "app.example",
            "https://app.example/",
            "https://app.example/path",
            "https://App.example",
            "https://app.example:443",
            "http://app.example:80",
            "https://app.example:",
            "https://app.example:x",
            "https://app.example:070",
            "https://app.example:99999",
            "https://user@app.example",
            "https://*.app.example",
            "https://b\u{fc}cher.example",
            "https://",
            "https://:8080",
            "null",
            "*",
            "",
        ] {
            let var = format!("{PAGE},{entry},{PAGE}");
            assert_eq!(
                AllowedOrigins::parse(Some(&var)),
                Err(OriginsError::Origin { index: 1 }),
                "{entry}"
            );
        }
    }

    #[test]
    fn the_number_of_origins_is_bounded() {
        let var = |count: usize| {
            let origins: Vec<_> = (0..count)
                .map(|n| format!("https://a{n}.example"))
                .collect();
            AllowedOrigins::parse(Some(&origins.join(",")))
        };
        assert!(var(MAX_ORIGINS).is_ok());
        assert_eq!(var(MAX_ORIGINS + 1), Err(OriginsError::TooMany));
    }

    #[test]
    fn a_listed_origin_is_echoed_and_another_learns_nothing() {
        assert_eq!(listed().allow("/tasks", Some(PAGE)), Some(PAGE));
        for origin in [
            None,
            Some("https://app.example.evil.example"),
            Some("http://app.example"),
            Some("https://app.example:8443"),
            Some("null"),
            Some(""),
        ] {
            assert_eq!(listed().allow("/tasks", origin), None, "{origin:?}");
            assert!(listed().preflight("/tasks", origin, "GET").is_empty());
        }
    }

    #[test]
    fn nobody_may_read_anything_but_the_card() {
        let nobody = AllowedOrigins::Nobody;
        for route in ROUTES {
            let expected = (route.pattern == "/.well-known/agent-card.json").then_some("*");
            assert_eq!(
                nobody.allow(route.pattern, Some(PAGE)),
                expected,
                "{route:?}"
            );
        }
        assert_eq!(nobody.headers("/tasks", Some(PAGE)), []);
    }

    #[test]
    fn answers_vary_with_the_origin_exactly_where_origins_are_listed() {
        let varies = |origins: &AllowedOrigins, path, origin| {
            origins.headers(path, origin).contains(&("vary", "Origin"))
        };
        assert!(varies(&listed(), "/tasks", None));
        assert!(varies(&listed(), "/tasks", Some(PAGE)));
        assert!(!varies(&listed(), AGENT_CARD_PATH, Some(PAGE)));
        assert!(!varies(&AllowedOrigins::Anybody, "/tasks", Some(PAGE)));
    }

    #[test]
    fn a_preflight_names_the_methods_of_its_path_and_never_allows_credentials() {
        let headers = listed().preflight("/tasks", Some(PAGE), "GET, HEAD");
        assert_eq!(
            headers.first(),
            Some(&("access-control-allow-methods", "GET, HEAD"))
        );
        let all = [headers, listed().headers("/tasks", Some(PAGE))].concat();
        assert!(
            all.iter()
                .all(|(name, _)| *name != "access-control-allow-credentials")
        );
    }

    #[test]
    fn the_path_of_the_card_is_a_route() {
        assert!(ROUTES.iter().any(|route| route.pattern == AGENT_CARD_PATH));
    }

    proptest! {
        #[test]
        fn any_var_is_read_or_refused_and_allows_only_what_it_names(
            var in "[a-z:/.,* \\PC]{0,60}",
            origin in "https?://[a-z]{1,5}",
        ) {
            if let Ok(AllowedOrigins::Listed(origins)) = AllowedOrigins::parse(Some(&var)) {
                let allowed = AllowedOrigins::Listed(origins).allow("/tasks", Some(&origin)).is_some();
                prop_assert!(!allowed || var.contains(&origin));
            }
        }
    }
}
