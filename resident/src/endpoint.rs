//! Where the task plane is, and whether a token may be sent there.

use std::fmt;

use reqwest::Url;

use crate::error::Failure;

/// A checked base URL: https, or http to this machine (or anywhere, if that was asked for).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Without a trailing slash.
    base: String,
    /// Whether the connection is encrypted.
    pub is_https: bool,
    /// Whether it stays on this machine.
    pub is_loopback: bool,
}

impl Endpoint {
    /// Checks `url`.
    ///
    /// # Errors
    /// [`Failure::Usage`] when it is no http or https URL, when it holds a user name, a password, a query or
    /// a fragment, or when it is http to another machine and `insecure` does not allow that.
    pub fn parse(url: &str, insecure: bool) -> Result<Self, Failure> {
        let wrong = |what: &str| Failure::Usage(format!("the task plane's URL {what}"));
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
            return Err(wrong(
                "is http to another machine, where the token could be read on the way; use https, or --insecure if that network is yours",
            ));
        }
        Ok(Endpoint {
            base: parsed.as_str().trim_end_matches('/').to_owned(),
            is_https,
            is_loopback,
        })
    }

    /// The full URL of `path`, which begins with a slash.
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
    use super::Endpoint;

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
            assert!(Endpoint::parse(url, false).is_ok(), "{url}");
        }
    }

    #[test]
    fn http_to_another_machine_needs_to_be_asked_for() {
        let error = Endpoint::parse("http://agent.example", false).unwrap_err();
        assert!(error.to_string().contains("--insecure"), "{error}");
        assert!(Endpoint::parse("http://agent.example", true).is_ok());
        for lookalike in ["http://127.0.0.1.example", "http://localhost.example"] {
            assert!(Endpoint::parse(lookalike, false).is_err(), "{lookalike}");
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
            let error = Endpoint::parse(url, true).unwrap_err().to_string();
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn paths_are_appended_to_the_base() {
        let endpoint = Endpoint::parse("https://agent.example/base/", false).unwrap();
        assert_eq!(
            endpoint.at("/resident/v1/wakes:take"),
            "https://agent.example/base/resident/v1/wakes:take"
        );
    }
}
