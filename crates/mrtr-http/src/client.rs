//! The client side: a transport for `mrtr-client` on reqwest.

mod annotations;
mod events;
mod learn;
mod reply;
mod send;
mod session;

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use http::{HeaderName, HeaderValue};
use mrtr_client::{
    CredentialsFingerprint, EraMemory, OneWayMessage, ServerMessage, SessionId, Transport, TransportError,
    TransportFailure, TransportRequest, TransportResponse,
};
use mrtr_schema::{Era, Revision};
use reqwest::Url;

use learn::is_header_mismatch;
use reply::HttpReply;
use send::Sender;

/// A transport to a server over Streamable HTTP.
///
/// ```
/// use mrtr_client::Client;
/// use mrtr_http::HttpTransport;
///
/// let client = Client::builder(HttpTransport::new("http://localhost:8000/mcp")?).build();
/// assert!(HttpTransport::new("localhost").is_err());
/// # Ok::<(), mrtr_http::HttpTransportError>(())
/// ```
#[derive(Clone)]
pub struct HttpTransport {
    /// The URL without user name and password, for people to see.
    server: String,
    sender: Sender,
    /// The era of the server. Clones share it, since they lead to one origin.
    era: EraMemory,
}

impl HttpTransport {
    /// The most bytes that the client keeps of what lists of tools say about headers. Beyond it, the client forgets the
    /// tools that it learned of first, and looks them up again when they are called.
    pub const ANNOTATION_BYTES: usize = learn::ANNOTATION_BYTES;

    /// The most arguments of one call that the client mirrors in headers. It refuses to send a call with more.
    pub const MIRRORED_ARGUMENTS: usize = send::MIRRORED_ARGUMENTS;

    /// The longest id of a session that the client accepts, in bytes.
    pub const SESSION_ID_BYTES: usize = session::MAX_SESSION_ID;

    /// The number of failures in a row to resume a stream of a session after which its call fails.
    pub const RESUME_FAILURES: u32 = session::MAX_FAILURES;

    /// Creates a transport to the server at this URL.
    ///
    /// The transport follows no redirects, so requests and tokens for one server go to no other. It goes through the
    /// proxy that the environment names, unless the server is on this machine.
    pub fn new(url: &str) -> Result<Self, HttpTransportError> {
        let parsed = parse(url)?;
        let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
        let http = http.connect_timeout(CONNECT_TIME).pool_idle_timeout(IDLE_TIME);
        let http = if is_loopback(&parsed) { http.no_proxy() } else { http };
        Ok(Self::of(parsed, http.build()?))
    }

    /// Creates a transport to the server at this URL that sends through this HTTP client. The client should follow no
    /// redirects: with them, requests and tokens for one server would go to another.
    ///
    /// ```
    /// use mrtr_http::HttpTransport;
    ///
    /// let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy().build()?;
    /// let transport = HttpTransport::with_client("https://mcp.example.com/mcp", http)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_client(url: &str, http: reqwest::Client) -> Result<Self, HttpTransportError> {
        Ok(Self::of(parse(url)?, http))
    }

    fn of(url: Url, http: reqwest::Client) -> Self {
        Self { server: without_password(url.clone()), sender: Sender::new(http, url), era: EraMemory::of_origin() }
    }

    /// Sends this token with every request. If the server refuses the token, the call fails: only a
    /// [provider](Self::tokens) has others.
    ///
    /// ```
    /// use mrtr_http::HttpTransport;
    ///
    /// let transport = HttpTransport::new("https://mcp.example.com/mcp")?.bearer("secret");
    /// assert!(!format!("{transport:?}").contains("secret"));
    /// # Ok::<(), mrtr_http::HttpTransportError>(())
    /// ```
    #[must_use]
    pub fn bearer(self, token: impl Into<String>) -> Self {
        self.tokens(FixedToken(token.into()))
    }

    /// Sends the tokens of this provider.
    #[must_use]
    pub fn tokens(mut self, tokens: impl TokenProvider) -> Self {
        self.sender.tokens = Some(Arc::new(tokens));
        self
    }

    /// Sends a header with every request.
    ///
    /// ```
    /// use mrtr_http::HttpTransport;
    /// use mrtr_http::http::{HeaderName, HeaderValue};
    ///
    /// let tenant = (HeaderName::from_static("x-tenant"), HeaderValue::from_static("acme"));
    /// let transport = HttpTransport::new("https://mcp.example.com/mcp")?.header(tenant.0, tenant.1);
    /// # Ok::<(), mrtr_http::HttpTransportError>(())
    /// ```
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.sender.headers.insert(name, value);
        self
    }
}

#[async_trait]
impl Transport for HttpTransport {
    fn server(&self) -> &str {
        &self.server
    }

    async fn credentials(&self) -> Result<Option<CredentialsFingerprint>, TransportError> {
        self.sender.credentials().await
    }

    async fn exchange(
        &self,
        request: TransportRequest<'_>,
        on_message: &mut (dyn FnMut(ServerMessage) + Send),
    ) -> Result<TransportResponse, TransportError> {
        if request.revision.era() == Era::Legacy {
            return Box::pin(self.sender.reply_in_session(&request, on_message)).await.map(HttpReply::into_response);
        }
        let mut has_begun = false;
        let mut noting = |message| {
            has_begun = true;
            on_message(message);
        };
        let mut reply = self.sender.reply(&request, &mut noting).await?;
        match request.method {
            "tools/list" => {
                reply.text = self.sender.learn(reply.text);
                Ok(reply.into_response())
            }
            // The server may want arguments in headers, and the caller has not listed its tools yet, or not for long.
            // If that listing fails, the caller should see the server's error.
            "tools/call"
                if !has_begun
                    && is_header_mismatch(&reply.text)
                    && self.sender.learn_about(&request).await.unwrap_or(false) =>
            {
                self.sender.reply(&request, on_message).await.map(HttpReply::into_response)
            }
            _ => Ok(reply.into_response()),
        }
    }

    fn era(&self) -> Option<&EraMemory> {
        Some(&self.era)
    }

    async fn send(&self, message: OneWayMessage<'_>) -> Result<(), TransportError> {
        self.sender.send_one_way(message).await
    }

    fn end_session(&self, session: &SessionId, revision: Revision) -> Option<BoxFuture<'static, ()>> {
        let (sender, session) = (self.sender.clone(), session.clone());
        Some(Box::pin(async move { sender.end_session(&session, revision).await }))
    }
}

fn parse(url: &str) -> Result<Url, HttpTransportError> {
    // A fragment is never sent, and would make another server of this one in saved calls.
    let is_server = |parsed: &Url| matches!(parsed.scheme(), "http" | "https") && parsed.fragment().is_none();
    let parsed = Url::parse(url).ok().filter(is_server);
    parsed.ok_or_else(|| HttpTransportError::Url(url.to_owned()))
}

/// The URL without user name and password, for people to see.
fn without_password(mut url: Url) -> String {
    // Neither fails for a URL that has a host.
    let _ = (url.set_username(""), url.set_password(None));
    url.into()
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// The longest time to connect to a server.
const CONNECT_TIME: Duration = Duration::from_secs(10);

/// The time that an idle connection is kept for the next request. Many servers close it after five seconds, and a call
/// that meets the end of its connection could not be sent again.
const IDLE_TIME: Duration = Duration::from_secs(4);

impl fmt::Debug for HttpTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpTransport").field("url", &self.server).finish_non_exhaustive()
    }
}

/// A source of bearer tokens.
///
/// ```
/// use mrtr_client::TransportError;
/// use mrtr_http::TokenProvider;
///
/// #[derive(Debug)]
/// struct Fixed;
///
/// #[async_trait::async_trait]
/// impl TokenProvider for Fixed {
///     async fn token(&self, _refused: Option<&str>) -> Result<Option<String>, TransportError> {
///         Ok(Some("secret".into()))
///     }
/// }
/// ```
#[async_trait]
pub trait TokenProvider: fmt::Debug + Send + Sync + 'static {
    /// Returns a token, if there is one. `refused` is the token that the server has just refused.
    ///
    /// The client asks for a token before each request. It also asks before it uses a private result from its cache
    /// again, since that result belongs to the token that it was fetched with.
    async fn token(&self, refused: Option<&str>) -> Result<Option<String>, TransportError>;
}

/// A provider of one token, for as long as the server accepts it.
struct FixedToken(String);

#[async_trait]
impl TokenProvider for FixedToken {
    async fn token(&self, refused: Option<&str>) -> Result<Option<String>, TransportError> {
        match refused {
            None => Ok(Some(self.0.clone())),
            // Without a token the request would be an anonymous caller's, which the application did not ask for.
            Some(_) => Err(TransportError::of(TransportFailure::Unauthorized, "the token was refused (status 401)")),
        }
    }
}

/// Writes no token.
impl fmt::Debug for FixedToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FixedToken")
    }
}

/// Says what is missing in a text that is no HTTP URL, and what to write. What may be a secret is not repeated: a
/// password, and all that comes after a question mark.
fn not_a_url(text: &str) -> String {
    let example = "such as `http://localhost:8000/mcp`";
    let has_fragment = Url::parse(text).is_ok_and(|parsed| parsed.fragment().is_some());
    let text = text.split(['?', '#']).next().unwrap_or(text);
    if text.contains('@') {
        return format!("the server's address is not an HTTP URL: it begins with `http://` or `https://`, {example}");
    }
    match text.split_once("://") {
        Some(("http" | "https", _)) if has_fragment => {
            format!("`{text}#…` has a fragment, which is never sent to a server: leave out the `#` and all after it")
        }
        Some(("http" | "https", rest)) if has_bad_port(rest) => {
            format!("`{text}` is not an HTTP URL: its port is not a number from 0 to 65535")
        }
        Some(("http" | "https", _)) => {
            format!("`{text}` is not an HTTP URL: write it as scheme, host and path, {example}")
        }
        Some((scheme, _)) => {
            format!("`{text}` is not an HTTP URL: its scheme is `{scheme}`, and not `http` or `https`")
        }
        None if text.is_empty() => format!("the URL of the server is empty: write it out, {example}"),
        None => format!("`{text}` is not an HTTP URL, for it has no scheme: write `{}`", with_scheme(text)),
    }
}

/// Returns true if there is something behind the colon after the host, and it is not a port. `rest` begins with the host.
fn has_bad_port(rest: &str) -> bool {
    let authority = rest.split('/').next().unwrap_or(rest);
    let port = authority.rsplit_once(':').map(|(_, port)| port).filter(|port| !port.contains(']'));
    port.is_some_and(|port| !port.is_empty() && port.parse::<u16>().is_err())
}

/// The URL that a text without a scheme most likely means: plain HTTP on this machine, TLS elsewhere.
fn with_scheme(text: &str) -> String {
    let text = text.trim_start_matches('/');
    let host = text.split(['/', ':']).next().unwrap_or(text);
    let scheme = if host == "localhost" || host.starts_with("127.") { "http" } else { "https" };
    let path = if text.contains('/') { "" } else { "/mcp" };
    format!("{scheme}://{text}{path}")
}

/// An error from the construction of an [`HttpTransport`](crate::HttpTransport).
///
/// ```
/// use mrtr_http::{HttpTransport, HttpTransportError};
///
/// let error = HttpTransport::new("ftp://example.com").unwrap_err();
/// assert!(matches!(error, HttpTransportError::Url(url) if url == "ftp://example.com"));
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HttpTransportError {
    /// The URL is not an HTTP URL.
    #[error("{}", not_a_url(.0))]
    Url(String),
    /// The HTTP client could not be set up.
    #[error("the HTTP client could not be set up")]
    Http(#[from] reqwest::Error),
}
