//! The log of requests that were refused for their host, their origin or their credentials: the causes that an operator
//! may want to allow.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use http::request::Parts;
use http::{HeaderMap, HeaderName, StatusCode, header};
use mrtr_schema::Printable;

use super::origin::Foreign;
use super::rejection::Rejection;

/// The causes of refusals that the log has told. It tells each once at INFO, and again at DEBUG.
#[derive(Debug, Default)]
pub(super) struct Refusals(Mutex<HashSet<String>>);

impl Refusals {
    /// Logs a refusal with 401 or 403: what came, and which setting decides. Other refusals explain themselves to the
    /// client.
    ///
    /// Returns the same for the body.
    pub(super) fn log(&self, rejection: &Rejection, head: &Parts) -> Option<String> {
        let (cause, setting) = match rejection {
            Rejection::Foreign(Foreign::Host(host), _) => {
                // The host is not written as a flag to paste: a client chose it, and a shell would read it.
                let setting = format!(
                    "Endpoint::public_url, or Endpoint::allow_host({:?}), or --allow-host of `mrtr serve`",
                    shown(host)
                );
                ("the endpoint is not served under this host", setting)
            }
            Rejection::Foreign(Foreign::Origin(origin), _) => {
                ("a page of another origin sent it", format!("Endpoint::allow_origin({:?})", shown(origin)))
            }
            Rejection::Foreign(Foreign::Unclear, _) => {
                ("it must name one host, as a host and a port", "none: the client must send one `Host`".to_owned())
            }
            Rejection::Unauthenticated(challenge) if challenge.status() == StatusCode::FORBIDDEN => {
                ("the authenticator says that this caller may not", AUTHENTICATOR.to_owned())
            }
            Rejection::Unauthenticated(_) => ("the authenticator asks for credentials", AUTHENTICATOR.to_owned()),
            _ => return None,
        };
        let status = rejection.status().0.as_u16();
        let target = head.uri.authority().map(|authority| shown(authority.as_str()));
        let host = target.or_else(|| named(&head.headers, &header::HOST)).unwrap_or_default();
        let origin = named(&head.headers, &header::ORIGIN).unwrap_or_default();
        // Its value is a secret.
        let authorization = if head.headers.contains_key(header::AUTHORIZATION) { "given" } else { "none" };
        if self.is_first(format!("{cause} {setting} {authorization}")) {
            tracing::info!(status, host, origin, authorization, setting, "a request was refused: {cause}");
        } else {
            tracing::debug!(status, host, origin, authorization, setting, "a request was refused: {cause}");
        }
        let came =
            if origin.is_empty() { format!("host {host:?}") } else { format!("host {host:?}, origin {origin:?}") };
        Some(format!("What came: {came}; {cause}. The setting: {setting}"))
    }

    /// Returns true the first time that it is asked for a cause. Beyond a number of causes it says no: clients make
    /// them up, and neither the memory nor the log is theirs to fill.
    fn is_first(&self, cause: String) -> bool {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        told.len() < MOST_CAUSES && told.insert(cause)
    }
}

/// Returns a header that a client sent, as it may be shown.
fn named(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    headers.get(name).map(|value| shown(&String::from_utf8_lossy(value.as_bytes())))
}

fn shown(text: &str) -> String {
    Printable::line(text).up_to(LONGEST).into_text().into_owned()
}

const AUTHENTICATOR: &str = "the authenticator of Endpoint::new";

/// The most causes that are told at INFO.
const MOST_CAUSES: usize = 64;

/// The most characters of a client's text in a line.
const LONGEST: usize = 100;
