//! Where the task plane is, and whether a token may be sent there.

use std::fmt;

use reqwest::Url;

/// A checked base URL: https, or http to this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Without a trailing slash.
    base: String,
    pub(crate) is_https: bool,
    pub(crate) is_loopback: bool,
}

/// The text is no URL that a token may be sent to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the task plane's URL {0}")]
pub struct EndpointError(&'static str);

impl Endpoint {
    /// Checks `url`.
    ///
    /// # Errors
    /// When it is no http or https URL, when it holds a user name, a password, a query or a fragment, or when it is http to
    /// another machine. The error doesn't hold the URL.
    pub fn parse(url: &str) -> Result<Self, EndpointError> {
        let endpoint = Self::parse_insecure(url)?;
        if !endpoint.is_https && !endpoint.is_loopback {
            return Err(EndpointError(
                "is http to another machine, where the token could be read on the way; use https",
            ));
        }
        Ok(endpoint)
    }

    /// Like [`Endpoint::parse`], with http to any machine: for a network in which nobody else listens.
    ///
    /// # Errors
    /// The other ones of [`Endpoint::parse`].
    pub fn parse_insecure(url: &str) -> Result<Self, EndpointError> {
        let parsed = Url::parse(url).map_err(|_| EndpointError("is not a URL"))?;
        let is_https = match parsed.scheme() {
            "https" => true,
            "http" => false,
            _ => return Err(EndpointError("must begin with https:// or http://")),
        };
        if !parsed.username().is_empty() || parsed.password().is_some() {
            return Err(EndpointError(
                "must hold no user name and no password; the token is given separately",
            ));
        }
        if parsed.query().is_some() || parsed.fragment().is_some() {
            return Err(EndpointError("must have no query and no fragment"));
        }
        let host = parsed
            .host_str()
            .ok_or(EndpointError("names no host"))?
            .trim_matches(['[', ']']);
        let is_loopback = host == "localhost"
            || host.ends_with(".localhost")
            || host
                .parse::<std::net::IpAddr>()
                .is_ok_and(|address| address.is_loopback());
        Ok(Self {
            base: parsed.as_str().trim_end_matches('/').to_owned(),
            is_https,
            is_loopback,
        })
    }

    /// The full URL of `path`, which begins with a slash.
    pub(crate) fn at(&self, path: &str) -> String {
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
            assert!(Endpoint::parse(url).is_ok(), "{url}");
        }
        for url in [
            "http://agent.example",
            "http://127.0.0.1.example",
            "http://localhost.example",
        ] {
            assert!(Endpoint::parse(url).is_err(), "{url}");
            assert!(Endpoint::parse_insecure(url).is_ok(), "{url}");
        }
    }

    #[test]
    fn a_url_that_holds_more_than_a_place_is_refused_without_being_repeated() {
        for url in [
            "agent.example",
            "ftp://agent.example",
            "https://user:secret@agent.example",
            "https://agent.example/?token=secret",
            "https://agent.example/#part",
        ] {
            let error = Endpoint::parse_insecure(url).unwrap_err().to_string();
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn paths_are_appended_to_the_base() {
        let endpoint = Endpoint::parse("https://agent.example/base/").unwrap();
        assert_eq!(
            endpoint.at("/trusted/v1/activations"),
            "https://agent.example/base/trusted/v1/activations"
        );
    }
}
