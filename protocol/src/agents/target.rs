//! Where this deployment may connect to for a principal's agents: an https URL of a public host, and, where the operator
//! says that this is a development machine, http to loopback.
//!
//! A host is judged by how it is written, before anything is fetched. What is written in a way that URL parsers read
//! differently (numbers in other bases, escapes, a trailing dot) is refused rather than understood.

use std::net::Ipv6Addr;

/// The longest URL, in bytes.
pub const MAX_URL_BYTES: usize = 2048;

/// What a URL must be, for an error to say.
pub const RULE: &str =
    "must be an absolute https URL of a public host, without user, query and fragment";

/// Endings of names that are no public hosts, or that stand for an address inside a network.
const PRIVATE_NAMES: &[&str] = &[
    "localhost",
    "localdomain",
    "local",
    "internal",
    "intranet",
    "private",
    "corp",
    "home",
    "lan",
    "home.arpa",
    "in-addr.arpa",
    "ip6.arpa",
    "svc",
    "cluster.local",
    "onion",
    "invalid",
    "test",
    // Google's metadata under its other name.
    "metadata.goog",
    // Names that anybody may make mean any address.
    "nip.io",
    "sslip.io",
    "xip.io",
    "localtest.me",
    "lvh.me",
    "vcap.me",
    "lacolhost.com",
];

/// A URL that may be connected to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Scheme and authority, such as `https://agent.example:8443`; without a port that the scheme implies.
    pub origin: String,
    /// The path without a trailing slash: empty, or beginning with `/`.
    pub path: String,
    /// It stays on this machine.
    pub is_loopback: bool,
}

impl Target {
    /// Reads a URL. `loopback` also permits http and https to this machine, as `127.0.0.1`, `localhost` or `[::1]`.
    ///
    /// # Errors
    /// Why the URL is refused, to stand behind a field's name. It never repeats the URL.
    pub fn parse(url: &str, loopback: bool) -> Result<Self, &'static str> {
        if url.len() > MAX_URL_BYTES || !url.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(RULE);
        }
        if url.contains(['?', '#', '\\', '@', '"', '<', '>', '^', '`', '{', '|', '}']) {
            return Err(RULE);
        }
        let (is_https, rest) = match (url.strip_prefix("https://"), url.strip_prefix("http://")) {
            (Some(rest), _) => (true, rest),
            (None, Some(rest)) => (false, rest),
            (None, None) => return Err(RULE),
        };
        let (authority, path) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        let authority = authority.to_ascii_lowercase();
        let (host, port) = split_port(&authority).ok_or(RULE)?;
        let is_loopback = matches!(host, "127.0.0.1" | "localhost" | "[::1]");
        if is_loopback && !loopback {
            return Err("must not lead to this machine");
        }
        if !is_loopback {
            if !is_https {
                return Err("must be https");
            }
            check_host(host)?;
        }
        let scheme = if is_https { "https" } else { "http" };
        let default_port = if is_https { 443 } else { 80 };
        let port = match port {
            Some(port) if port != default_port => format!(":{port}"),
            _ => String::new(),
        };
        Ok(Self {
            origin: format!("{scheme}://{host}{port}"),
            path: path.trim_end_matches('/').to_owned(),
            is_loopback,
        })
    }

    /// The whole URL, without a trailing slash.
    #[must_use]
    pub fn url(&self) -> String {
        format!("{}{}", self.origin, self.path)
    }
}

/// The host, in brackets where it is an IPv6 address, and the port.
fn split_port(authority: &str) -> Option<(&str, Option<u16>)> {
    let end = match authority.starts_with('[') {
        true => authority.find(']')?.checked_add(1)?,
        false => authority.find(':').unwrap_or(authority.len()),
    };
    let (host, rest) = authority.split_at_checked(end)?;
    if rest.is_empty() {
        return Some((host, None));
    }
    let digits = rest.strip_prefix(':')?;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let port = digits.parse::<u16>().ok().filter(|port| *port > 0)?;
    is_number.then_some((host, Some(port)))
}

fn check_host(host: &str) -> Result<(), &'static str> {
    if let Some(address) = host.strip_prefix('[') {
        let address = address.strip_suffix(']').ok_or(RULE)?;
        let address: Ipv6Addr = address.parse().map_err(|_| RULE)?;
        return is_public_v6(&address)
            .then_some(())
            .ok_or("must not be a private address");
    }
    let labels: Vec<&str> = host.split('.').collect();
    let is_label = |label: &&str| {
        !label.is_empty()
            && label.len() <= 63
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    };
    if host.len() > 253 || !labels.iter().all(is_label) {
        return Err(RULE);
    }
    let last = labels.last().copied().unwrap_or_default();
    // URL parsers read a host whose last label is a number, in any base, as an IPv4 address.
    if last.bytes().all(|byte| byte.is_ascii_digit()) || last.starts_with("0x") {
        let address = v4(&labels).ok_or("must write an IPv4 address as four decimal numbers")?;
        return is_public_v4(address)
            .then_some(())
            .ok_or("must not be a private address");
    }
    let is_private = PRIVATE_NAMES.iter().any(|ending| {
        host.strip_suffix(ending)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    });
    if labels.len() < 2 || is_private {
        return Err("must be a public host's name");
    }
    Ok(())
}

fn v4(labels: &[&str]) -> Option<[u8; 4]> {
    let mut address = [0; 4];
    if labels.len() != address.len() {
        return None;
    }
    for (byte, label) in address.iter_mut().zip(labels) {
        if label.len() > 1 && label.starts_with('0') {
            return None;
        }
        *byte = label.parse().ok()?;
    }
    Some(address)
}

/// By IANA's registry of special-purpose addresses, everything but what is globally reachable.
/// Azure's platform answers at one that is.
fn is_public_v4([a, b, c, d]: [u8; 4]) -> bool {
    [a, b, c, d] != [168, 63, 129, 16]
        && !matches!(
            (a, b, c),
            (0 | 10 | 127 | 224..=255, _, _)
                | (100, 64..=127, _)
                | (169, 254, _)
                | (172, 16..=31, _)
                | (192, 0, 0 | 2)
                | (192, 88, 99)
                | (192, 168, _)
                | (198, 18 | 19, _)
                | (198, 51, 100)
                | (203, 0, 113)
        )
}

/// Global unicast, less what carries another address in it or is for documentation.
fn is_public_v6(address: &Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    (0x2000..=0x3fff).contains(&first)
        && !(first == 0x2001 && (second < 0x0200 || second == 0x0db8))
        && first != 0x2002
        && !(first == 0x3fff && second < 0x1000)
}

#[cfg(test)]
#[path = "target_tests.rs"]
mod tests;
