//! Where a request comes from and whom it is for: a page on the web must not reach a server on this machine.

use http::request::Parts;
use http::{HeaderMap, Uri, header};

/// The hosts that requests may be for, and that pages may come from.
#[derive(Debug, Clone, Default)]
pub(super) struct AllowedHosts(Vec<String>);

impl AllowedHosts {
    pub(super) fn add(&mut self, host: &str) {
        self.0.push(host.to_ascii_lowercase());
    }

    /// Whether a request is for an allowed host and, if a page sent it, from one.
    pub(super) fn allow(&self, head: &Parts) -> bool {
        let host = head.uri.host().or_else(|| host_header(&head.headers));
        let is_for_us = host.is_some_and(|host| self.allows(host));
        is_for_us && origins(&head.headers).all(|origin| origin.is_some_and(|origin| self.allows(&origin)))
    }

    fn allows(&self, host: &str) -> bool {
        let host = host.trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
        matches!(host.as_str(), "localhost" | "127.0.0.1" | "::1") || self.0.contains(&host)
    }
}

/// The host of the `Host` header, without its port.
fn host_header(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(header::HOST).iter();
    let host = values.next()?.to_str().ok()?;
    if values.next().is_some() {
        return None;
    }
    match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']').map(|(address, _)| address),
        None => Some(host.split_once(':').map_or(host, |(host, _)| host)),
    }
}

/// The host of each `Origin`; `None` for one that is no URL, such as `null`.
fn origins(headers: &HeaderMap) -> impl Iterator<Item = Option<String>> + '_ {
    headers.get_all(header::ORIGIN).iter().map(|origin| {
        let origin: Uri = origin.to_str().ok()?.parse().ok()?;
        origin.scheme()?;
        origin.host().map(str::to_owned)
    })
}
