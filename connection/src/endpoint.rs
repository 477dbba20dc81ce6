//! Where the task plane is, and whether a token may be sent there.

use std::fmt;

use reqwest::Url;

/// A checked base URL: https, or http to this machine (or anywhere, if that was asked for).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Without a trailing slash.
    base: String,
    /// Whether the connection is encrypted.
    pub(crate) is_https: bool,
    /// Whether it stays on this machine.
    pub(crate) is_loopback: bool,
}

/// Why a text is no URL that a token may be sent to. It doesn't hold the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// It is none, or holds more than a place.
    #[error("the task plane's URL {0}")]
    Malformed(String),
    /// It is http to another machine.
    #[error(
        "the task plane's URL is http to another machine, where the token could be read on the way; use https"
    )]
    Insecure,
}

impl Endpoint {
    /// Checks `url`.
    ///
    /// # Errors
    /// When it is no http or https URL, when it holds a user name, a password, a query or a fragment, or when it is http to
    /// another machine.
    pub fn parse(url: &str) -> Result<Self, EndpointError> {
        Self::parse_with(url, false)
    }

    /// Like [`Endpoint::parse`]; `insecure` allows http to any machine, for a network in which nobody else listens.
    ///
    /// # Errors
    /// Those of [`Endpoint::parse`].
    pub fn parse_with(url: &str, insecure: bool) -> Result<Self, EndpointError> {
        let wrong = |what: &str| EndpointError::Malformed(what.to_owned());
        let parsed = Url::parse(url).map_err(|error| wrong(&format!("is not a URL: {error}")))?;
        let is_https = match parsed.scheme() {
            "https" => true,
            "http" => false,
            _ => return Err(wrong("must begin with https:// or http://")),
        };
        if !parsed.username().is_empty() || parsed.password().is_some() {
            return Err(wrong(
                "must hold no user name and no password; the token is given separately",
            ));
        }
        if parsed.query().is_some() || parsed.fragment().is_some() {
            return Err(wrong("must have no query and no fragment"));
        }
        let is_loopback = match parsed.host() {
            Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
            Some(url::Host::Ipv4(address)) => address.is_loopback(),
            Some(url::Host::Ipv6(address)) => address.is_loopback(),
            None => return Err(wrong("names no host")),
        };
        if !is_https && !is_loopback && !insecure {
            return Err(EndpointError::Insecure);
        }
        Ok(Endpoint {
            base: parsed.as_str().trim_end_matches('/').to_owned(),
            is_https,
            is_loopback,
        })
    }

    /// Whether it stays on this machine.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        self.is_loopback
    }

    /// Whether it is at the origin of `other`.
    #[must_use]
    pub fn is_of_origin(&self, other: &Self) -> bool {
        let origin = |endpoint: &Self| Url::parse(&endpoint.base).ok().map(|url| url.origin());
        origin(self).is_some() && origin(self) == origin(other)
    }

    /// The full URL of `path`, which begins with a slash.
    #[must_use]
    pub fn at(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.base)
    }
}

#[cfg(test)]
mod tests {
    use super::{Endpoint, EndpointError};

    #[test]
    fn https_is_accepted_anywhere_and_http_on_this_machine() {
        for url in [
            "https://agent.example",
            "https://agent.example/base/",
            "http://127.0.0.1:8787",
            "http://127.9.9.9",
            "http://[::1]:8787/",
            "http://localhost:8787",
        ] {
            assert!(Endpoint::parse(url).is_ok(), "{url}");
        }
    }

    #[test]
    fn http_to_another_machine_needs_to_be_asked_for() {
        for url in [
            "http://agent.example",
            "http://127.0.0.1.example",
            "http://localhost.example",
        ] {
            assert_eq!(Endpoint::parse(url), Err(EndpointError::Insecure), "{url}");
            assert!(Endpoint::parse_with(url, true).is_ok(), "{url}");
        }
    }

    #[test]
    fn a_url_that_holds_more_than_a_place_is_refused() {
        for url in [
            "agent.example",
            "ftp://agent.example",
            "https://user:secret@agent.example",
            "https://agent.example/?token=secret",
            "https://agent.example/#part",
        ] {
            let error = Endpoint::parse_with(url, true).unwrap_err().to_string();
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        let at = |url| Endpoint::parse(url).unwrap();
        assert!(at("https://a.example/x").is_of_origin(&at("https://a.example:443/y")));
        for other in [
            "https://b.example",
            "https://a.example:8443",
            "http://localhost",
        ] {
            assert!(!at("https://a.example").is_of_origin(&at(other)), "{other}");
        }
    }

    #[test]
    fn paths_are_appended_to_the_base() {
        let endpoint = Endpoint::parse("https://agent.example/base/").unwrap();
        assert_eq!(
            endpoint.at("/resident/v1/wakes:take"),
            "https://agent.example/base/resident/v1/wakes:take"
        );
    }
}
