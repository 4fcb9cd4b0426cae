//! The URL under which clients know an endpoint: the one setting from which host, audience and metadata follow.

use std::fmt;
use std::str::FromStr;

use http::Uri;

/// The URL under which clients know an endpoint, such as `https://mcp.example.com/mcp`.
///
/// What follows from it: the host that requests may be for, the resource identifier of the endpoint and so the audience
/// that a token must name, where the metadata is, and the URLs in challenges. No header of a request changes it.
///
/// It is compared byte for byte, so it has one spelling: scheme and host in lower case, no default port, no user, query
/// or fragment. Without TLS it stands for this machine only.
///
/// ```
/// use mrtr_http::PublicUrl;
///
/// let url: PublicUrl = "https://mcp.example.com/tools/mcp".parse()?;
/// assert_eq!(url.host(), "mcp.example.com");
/// assert_eq!(url.metadata(), "https://mcp.example.com/.well-known/oauth-protected-resource/tools/mcp");
/// assert!("http://mcp.example.com/mcp".parse::<PublicUrl>().is_err(), "tokens would go over the wire as they are");
/// # Ok::<(), mrtr_http::PublicUrlError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PublicUrl {
    text: String,
    /// Where the path begins.
    path: usize,
    host: String,
}

/// The reason why a text is no public URL.
///
/// ```
/// use mrtr_http::PublicUrl;
///
/// let error = "https://mcp.example.com:443/mcp".parse::<PublicUrl>().unwrap_err();
/// assert!(error.to_string().contains("leave out the port"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} cannot be a public URL: {reason}")]
pub struct PublicUrlError {
    text: String,
    reason: &'static str,
}

impl PublicUrl {
    /// Returns the URL, as it was given.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the host, without a port or brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the path; empty if the endpoint is at the root.
    pub fn path(&self) -> &str {
        &self.text[self.path..]
    }

    /// Returns the origin: the URL without its path.
    pub fn origin(&self) -> &str {
        &self.text[..self.path]
    }

    /// Returns the URL of the metadata (RFC 9728): the well-known path goes before the endpoint's.
    pub fn metadata(&self) -> String {
        format!("{}{WELL_KNOWN}{}", self.origin(), self.path().trim_end_matches('/'))
    }
}

/// The path of metadata on a protected resource.
pub(super) const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

impl FromStr for PublicUrl {
    type Err = PublicUrlError;

    fn from_str(text: &str) -> Result<Self, PublicUrlError> {
        let refuse = |reason| Err(PublicUrlError { text: text.to_owned(), reason });
        let Some((scheme, rest)) = text.split_once("://") else {
            return refuse("write it whole, such as https://mcp.example.com/mcp");
        };
        if text.contains('#') || text.contains('?') {
            return refuse("it has a query or a fragment, which no resource identifier has: leave them out");
        }
        let path = text.len() - rest.len() + rest.find('/').unwrap_or(rest.len());
        let authority = &text[text.len() - rest.len()..path];
        if authority.contains('@') {
            return refuse("it has a user name: leave it out");
        }
        let Ok(uri) = text.parse::<Uri>() else { return refuse("it is no URL") };
        let Some(host) = uri.host().map(|host| host.trim_start_matches('[').trim_end_matches(']')) else {
            return refuse("it names no host");
        };
        if scheme != scheme.to_ascii_lowercase() || authority != authority.to_ascii_lowercase() {
            return refuse("clients compare it letter by letter: write scheme and host in lower case");
        }
        if matches!((scheme, uri.port_u16()), ("https", Some(443)) | ("http", Some(80))) {
            return refuse(
                "that is the scheme's own port, and clients compare it letter by letter: leave out the port",
            );
        }
        match scheme {
            "https" => {}
            "http" if super::origin::is_loopback(host) => {}
            "http" => {
                return refuse("without TLS anybody on the way reads the tokens: use https, at a proxy if need be");
            }
            _ => return refuse("its scheme must be https, or http on this machine"),
        }
        Ok(Self { host: host.to_owned(), text: text.to_owned(), path })
    }
}

impl fmt::Display for PublicUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rs_3_a_resource_identifier_has_one_spelling() {
        for good in [
            "https://a.example",
            "https://a.example/mcp",
            "https://a.example:8443/x/mcp",
            "http://127.0.0.1:8000/mcp",
            "http://[::1]:1/",
        ] {
            assert_eq!(good.parse::<PublicUrl>().expect(good).as_str(), good);
        }
        for bad in [
            "a.example/mcp",
            "https://A.example/mcp",
            "HTTPS://a.example/mcp",
            "https://a.example:443/mcp",
            "http://a.example/mcp",
            "http://10.0.0.1/mcp",
            "https://me@a.example/mcp",
            "https://a.example/mcp?x=1",
            "https://a.example/mcp#x",
            "https:///mcp",
            "ftp://a.example/mcp",
            "https://a example/mcp",
        ] {
            assert!(bad.parse::<PublicUrl>().is_err(), "{bad}");
        }
    }

    #[test]
    fn rs_2_the_metadata_is_where_clients_look_for_it() {
        let at = |url: &str| url.parse::<PublicUrl>().expect(url).metadata();
        assert_eq!(at("https://a.example"), "https://a.example/.well-known/oauth-protected-resource");
        assert_eq!(at("https://a.example/"), "https://a.example/.well-known/oauth-protected-resource");
        assert_eq!(at("https://a.example/b/mcp"), "https://a.example/.well-known/oauth-protected-resource/b/mcp");
    }
}
