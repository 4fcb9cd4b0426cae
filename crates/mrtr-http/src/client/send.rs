//! Sending a request: with its headers and its token, and again where that is safe.

use std::error::Error;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use mrtr_client::{CredentialsFingerprint, TransportError, TransportFailure, TransportRequest};
use mrtr_schema::{Backoff, Era, Feature, MethodInfo, Printable};
use reqwest::{Response, Url};

use super::TokenProvider;
use super::learn::AnnotationTable;
use super::session::session_headers;
use crate::header_text;

/// Sends requests to one URL. Its clones share what it has learned of the server's tools.
#[derive(Clone)]
pub(super) struct Sender {
    pub(super) http: reqwest::Client,
    pub(super) url: Url,
    pub(super) tokens: Option<Arc<dyn TokenProvider>>,
    /// The headers of every request.
    pub(super) headers: HeaderMap,
    /// The arguments of each tool that the client mirrors in headers, as the server's list of tools said.
    pub(super) annotated: Arc<RwLock<AnnotationTable>>,
    /// The key of the hash that tells tokens apart, so that they need not be kept.
    fingerprint_key: RandomState,
}

/// The response to a request, with the fingerprint of the credentials that the client sent.
pub(super) struct Sent {
    pub(super) response: Response,
    pub(super) credentials: Option<CredentialsFingerprint>,
}

impl Sender {
    pub(super) fn new(http: reqwest::Client, url: Url) -> Self {
        let (annotated, fingerprint_key) = (Arc::default(), RandomState::new());
        Self { http, url, tokens: None, headers: HeaderMap::new(), annotated, fingerprint_key }
    }

    /// Sends a request, and sends it again where that is safe: where it never got there, where running it twice has the
    /// effect of running it once, or, with a new token, where the server refused the last one.
    ///
    /// The waits here are short and few: they bridge a restart or a rush. The client's limits decide how long a call
    /// may take, and the client knows which calls it can resume.
    pub(super) async fn send(&self, request: &TransportRequest<'_>) -> Result<Sent, TransportError> {
        let mut refused: Option<String> = None;
        let mut attempt = 1;
        loop {
            let token = self.token(refused.as_deref()).await?;
            let post = self.post(request, token.as_deref()).map_err(TransportError::unsent)?;
            match post.send().await {
                Ok(response)
                    if response.status() == StatusCode::UNAUTHORIZED && token.is_some() && refused.is_none() =>
                {
                    // Once only: otherwise a provider with no better token would be asked for ever.
                    refused = token;
                }
                Ok(response)
                    if attempt < MAX_ATTEMPTS
                        && is_unavailable(&response)
                        && MethodInfo::of(request.method).only_reads =>
                {
                    tokio::time::sleep(pause(&response, attempt)).await;
                    attempt += 1;
                }
                Ok(response) => return Ok(Sent { response, credentials: self.fingerprint(token.as_deref()) }),
                Err(error) if attempt < MAX_ATTEMPTS && may_repeat(&error, request.method) => {
                    tokio::time::sleep(RETRY_PAUSES.pause(attempt - 1)).await;
                    attempt += 1;
                }
                Err(error) => return Err(failed(error)),
            }
        }
    }

    /// The fingerprint of the credentials that the next request would send.
    pub(super) async fn credentials(&self) -> Result<Option<CredentialsFingerprint>, TransportError> {
        Ok(self.fingerprint(self.token(None).await?.as_deref()))
    }

    /// A number that tells two tokens apart, and says nothing else about them.
    fn fingerprint(&self, token: Option<&str>) -> Option<CredentialsFingerprint> {
        token.map(|token| CredentialsFingerprint::new(self.fingerprint_key.hash_one(token)))
    }

    pub(super) async fn token(&self, refused: Option<&str>) -> Result<Option<String>, TransportError> {
        match &self.tokens {
            Some(tokens) => tokens.token(refused).await.map_err(TransportError::unsent),
            None => Ok(None),
        }
    }

    fn post(
        &self,
        request: &TransportRequest<'_>,
        token: Option<&str>,
    ) -> Result<reqwest::RequestBuilder, TransportError> {
        let mut headers = self.headers.clone();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        if request.revision.has(Feature::MirroredHeaders) {
            self.mirror(request, &mut headers)?;
        } else if request.revision.era() == Era::Legacy && request.method != "initialize" {
            session_headers(&mut headers, request.revision, request.session);
        }
        Self::authorize(&mut headers, token)?;
        Ok(self.http.post(self.url.clone()).headers(headers).body(request.message.to_owned()))
    }

    /// Adds the header for a token, if there is one.
    pub(super) fn authorize(headers: &mut HeaderMap, token: Option<&str>) -> Result<(), TransportError> {
        let Some(token) = token else { return Ok(()) };
        let value = HeaderValue::try_from(format!("Bearer {token}"));
        let mut value = value.map_err(|_| TransportError::new(UNWRITABLE_TOKEN))?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
        Ok(())
    }

    /// Inserts the headers by which intermediaries know a request without reading its body.
    fn mirror(&self, request: &TransportRequest<'_>, headers: &mut HeaderMap) -> Result<(), TransportError> {
        let mut insert = |name: HeaderName, text: &str| {
            if let Ok(value) = HeaderValue::try_from(header_text::encode(text)) {
                headers.insert(name, value);
            }
        };
        insert(HeaderName::from_static("mcp-protocol-version"), request.revision.as_str());
        insert(HeaderName::from_static("mcp-method"), request.method);
        if let Some(name) = request.name {
            insert(HeaderName::from_static("mcp-name"), name);
        }
        if request.method == "tools/call"
            && let (Some(name), Some(arguments)) = (request.name, request.arguments)
        {
            let mirrored = {
                let annotated = self.annotated.read().unwrap_or_else(PoisonError::into_inner);
                annotated.get(name).map(|tool| tool.headers_for(arguments)).unwrap_or_default()
            };
            if mirrored.len() > MIRRORED_ARGUMENTS {
                return Err(too_many_mirrored(name, mirrored.len()));
            }
            for (name, text) in mirrored {
                insert(name, &text);
            }
        }
        Ok(())
    }
}

/// The error for a call with too many mirrored arguments. A header map holds only so much, and servers accept less.
fn too_many_mirrored(tool: &str, count: usize) -> TransportError {
    let (tool, most) = (Printable::line(tool), MIRRORED_ARGUMENTS);
    TransportError::new(format!(
        "the server wants {count} arguments of `{tool}` in headers, and at most {most} are sent: the call was not"
    ))
}

/// The error for a request that got no response.
pub(super) fn failed(error: reqwest::Error) -> TransportError {
    if is_plain_http(&error) {
        return TransportError::of(TransportFailure::Unreachable, NO_TLS);
    }
    let failure = if error.is_connect() {
        TransportFailure::Unreachable
    } else if error.is_timeout() {
        TransportFailure::TimedOut
    } else {
        TransportFailure::Other
    };
    TransportError::of(failure, error.without_url())
}

/// Returns true if the server answered the beginning of TLS with something else, as one without TLS does.
fn is_plain_http(error: &reqwest::Error) -> bool {
    let mut innermost: &dyn Error = error;
    while let Some(cause) = innermost.source() {
        innermost = cause;
    }
    // The error is rustls', of which this crate has only the text.
    error.is_connect() && innermost.to_string().contains("InvalidContentType")
}

const NO_TLS: &str = "the server does not speak TLS: write `http://` in place of `https://`, if it is on this machine or \
                      in a network that you trust";

const UNWRITABLE_TOKEN: &str = "the token cannot be written in a header: it has a line break, or another character that \
                                no header may have";

/// The most arguments of one call that the client mirrors in headers.
pub(super) const MIRRORED_ARGUMENTS: usize = 1000;

/// The most times that the client sends a request that is safe to send again.
pub(super) const MAX_ATTEMPTS: u32 = 3;
pub(super) const RETRY_PAUSE: Duration = Duration::from_millis(100);
pub(super) const RETRY_PAUSES: Backoff = Backoff::new(RETRY_PAUSE, MAX_WAIT);

/// Returns true if a request that failed may be sent again: it never got there, or it only reads.
fn may_repeat(error: &reqwest::Error, method: &str) -> bool {
    error.is_connect() || (MethodInfo::of(method).only_reads && error.is_request())
}

fn is_unavailable(response: &Response) -> bool {
    response.status() == StatusCode::SERVICE_UNAVAILABLE
}

/// The pause before the client sends a request again: as long as the server wants, within reason.
fn pause(response: &Response, attempt: u32) -> Duration {
    retry_after(response).map_or(RETRY_PAUSES.pause(attempt - 1), |wanted| wanted.min(MAX_WAIT))
}

/// The pause that the server asks for in `Retry-After`.
pub(super) fn retry_after(response: &Response) -> Option<Duration> {
    let seconds = response.headers().get(RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds))
}

const MAX_WAIT: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_waits_here_as_long_as_its_server_wants_and_ten_seconds_at_most() {
        let wanting = |seconds: &str| {
            let response = http::Response::builder().status(503).header(RETRY_AFTER, seconds);
            Response::from(response.body("").expect("a response"))
        };
        for (wanted, waited) in [("0", 0), ("3", 3), ("10", 10), ("11", 10), ("3600", 10), ("18446744073709551615", 10)]
        {
            assert_eq!(pause(&wanting(wanted), 1), Duration::from_secs(waited), "{wanted}");
        }
        for not_understood in ["", "-1", "soon", "18446744073709551616", "Wed, 21 Oct 2026 07:28:00 GMT"] {
            assert_eq!(pause(&wanting(not_understood), 2), RETRY_PAUSE * 2, "{not_understood}");
        }
    }
}
