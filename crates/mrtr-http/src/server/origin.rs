//! The origin and the host of a request: a page on the web must not reach a server on this machine.

use std::net::IpAddr;

use http::request::Parts;
use http::uri::Authority;
use http::{HeaderMap, HeaderValue, header};

/// The hosts that requests may be for, and that pages may come from.
#[derive(Debug, Clone, Default)]
pub(super) struct Allowed {
    hosts: Vec<String>,
    origins: Vec<String>,
}

impl Allowed {
    pub(super) fn add_host(&mut self, host: &str) {
        self.hosts.push(host_of(host).unwrap_or(host).to_owned());
    }

    pub(super) fn add_origin(&mut self, origin: &str) {
        self.origins.push(origin.trim_end_matches('/').to_ascii_lowercase());
    }

    /// Checks that a request is for an allowed host and, if a page sent it, from one.
    pub(super) fn check(&self, head: &Parts) -> Result<(), Foreign> {
        self.check_target(head)?;
        self.check_origins(&head.headers)
    }

    /// Checks that a request names only allowed hosts. It may name one in the target, in `Host`, or in both: then both
    /// must be allowed, since some programs look at the one and some at the other.
    fn check_target(&self, head: &Parts) -> Result<(), Foreign> {
        let target = head.uri.authority().map(Authority::as_str);
        let mut headers = head.headers.get_all(header::HOST).iter();
        let header = headers.next().map(HeaderValue::to_str).transpose().map_err(|_| Foreign::Unclear)?;
        // Of two headers, a proxy could look at the one and the server at the other.
        if headers.next().is_some() || (target.is_none() && header.is_none()) {
            return Err(Foreign::Unclear);
        }
        [target, header].into_iter().flatten().try_for_each(|authority| self.check_authority(authority))
    }

    fn check_authority(&self, authority: &str) -> Result<(), Foreign> {
        let host = host_of(authority).ok_or(Foreign::Unclear)?;
        if self.allow_host(host) { Ok(()) } else { Err(Foreign::Host(host.to_owned())) }
    }

    fn check_origins(&self, headers: &HeaderMap) -> Result<(), Foreign> {
        headers.get_all(header::ORIGIN).iter().try_for_each(|origin| {
            if origin.to_str().is_ok_and(|origin| self.allow_origin(origin)) {
                return Ok(());
            }
            Err(Foreign::Origin(String::from_utf8_lossy(origin.as_bytes()).into_owned()))
        })
    }

    /// Returns true if an origin is allowed. `null`, which pages without a host send, is allowed only by name.
    fn allow_origin(&self, origin: &str) -> bool {
        let origin = origin.to_ascii_lowercase();
        let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        authority.is_some_and(|authority| self.allow_authority(authority)) || self.origins.contains(&origin)
    }

    fn allow_authority(&self, authority: &str) -> bool {
        host_of(authority).is_some_and(|host| self.allow_host(host))
    }

    fn allow_host(&self, host: &str) -> bool {
        let is = |name: &str| host.eq_ignore_ascii_case(name);
        is_loopback(host) || self.hosts.iter().any(|allowed| is(allowed))
    }
}

/// The part of a request's head that is not allowed.
#[derive(Debug)]
pub(super) enum Foreign {
    /// The host that the request is for.
    Host(String),
    /// The origin of the page that sent the request.
    Origin(String),
    /// The request names no host, or names several, or one that cannot be read.
    Unclear,
}

/// Returns true for a host that stands for this machine.
pub(super) fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// The host of an authority, without its port or the brackets of an IPv6 address. A user name stays in it, so an
/// authority with one matches no host.
fn host_of(authority: &str) -> Option<&str> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    let is_port = port.strip_prefix(':').map_or(port.is_empty(), |digits| digits.bytes().all(|b| b.is_ascii_digit()));
    is_port.then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ht_4_a_host_is_read_strictly() {
        assert_eq!(host_of("localhost:8000"), Some("localhost"));
        assert_eq!(host_of("[::1]:8000"), Some("::1"));
        assert_eq!(host_of("[::1]"), Some("::1"));
        assert_eq!(host_of("localhost:"), Some("localhost"), "RFC 3986 lets a port be empty");
        for not_one in ["localhost:80@evil.example", "[::1", "[::1]evil", "localhost:80:80", "localhost:x"] {
            assert_eq!(host_of(not_one), None, "{not_one}");
        }
    }

    #[test]
    fn ht_4_only_this_machine_is_allowed_unless_more_are_named() {
        let mut allowed = Allowed::default();
        for loopback in ["localhost", "LOCALHOST:1", "127.0.0.1:8000", "127.8.9.1", "[::1]:8000"] {
            assert!(allowed.allow_authority(loopback), "{loopback}");
        }
        for foreign in ["localhost.evil.example", "evil.example", "0.0.0.0", "[::]", "me@localhost", "", "128.0.0.1"] {
            assert!(!allowed.allow_authority(foreign), "{foreign}");
        }
        allowed.add_host("MCP.example.com:443");
        assert!(allowed.allow_authority("mcp.example.com:8443"));
        assert!(allowed.allow_origin("https://mcp.example.com"));
        assert!(!allowed.allow_origin("null") && !allowed.allow_origin("app://localhost"));
        allowed.add_origin("app://localhost/");
        assert!(allowed.allow_origin("app://localhost") && !allowed.allow_authority("app"));
    }
}
