//! Which URLs a person is offered to open: pages on the web, whose host can be read.

use std::net::{Ipv4Addr, Ipv6Addr};

use mrtr_schema::Printable;
use mrtr_schema::elicitation::Url;

/// Why a URL is not offered to be opened. A person may still decline it.
///
/// ```
/// use mrtr_client::UnsafeUrl;
/// use mrtr_schema::elicitation::Url;
///
/// assert!(UnsafeUrl::check(&Url::new("https://example.com/connect")?).is_ok());
/// assert!(UnsafeUrl::check(&Url::new("http://127.0.0.1:8000/connect")?).is_ok(), "it stays on this machine");
/// let error = UnsafeUrl::check(&Url::new("javascript:alert(1)")?).unwrap_err();
/// assert!(matches!(error, UnsafeUrl::Scheme(scheme) if scheme == "javascript"));
/// # Ok::<(), mrtr_schema::ReadError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnsafeUrl {
    /// It has another scheme than `https`, or `http` on this machine: it may run code, read files or start a program.
    #[error("it asks for a `{}:` URL to be opened, and only https is, or http on this machine", Printable::line(.0).up_to(32))]
    Scheme(String),
    /// What is sent to it and comes from it can be read and changed on the way.
    #[error("it asks for a page at {} to be opened without encryption, and http is for this machine alone", Printable::line(.0))]
    Unencrypted(String),
    /// It has no host, or one that is written so that a person cannot read it.
    #[error("it asks for a URL to be opened whose host cannot be read")]
    NoHost,
}

impl UnsafeUrl {
    /// Checks that a URL may be offered: `https` on any host, `http` on this machine.
    pub fn check(url: &Url) -> Result<(), Self> {
        let scheme = url.as_str().split(':').next().unwrap_or_default().to_ascii_lowercase();
        if scheme != "https" && scheme != "http" {
            return Err(Self::Scheme(scheme));
        }
        // A browser decodes what is percent-encoded, so that the person would agree to another host than they see.
        let host = url.host().filter(|host| !host.is_empty() && !host.contains('%')).ok_or(Self::NoHost)?;
        if scheme == "http" && !is_this_machine(host) {
            return Err(Self::Unencrypted(host.to_owned()));
        }
        Ok(())
    }
}

fn is_this_machine(host: &str) -> bool {
    let name = host.to_ascii_lowercase();
    let in_brackets = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    name == "localhost"
        || name.ends_with(".localhost")
        || name.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback())
        || in_brackets.and_then(|name| name.parse::<Ipv6Addr>().ok()).is_some_and(|address| address.is_loopback())
}

/// Whether a host is written in punycode: a browser may show it in other letters, which may look like another name.
pub(crate) fn is_punycode(host: &str) -> bool {
    host.split('.').any(|label| label.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("xn--")))
}
