//! The client side: a transport for `mrtr-client` on reqwest.

mod annotations;
mod events;
mod learn;
mod parser;
mod send;
mod status;
mod table;

use std::fmt;
use std::hash::RandomState;
use std::net::IpAddr;
use std::sync::{Arc, RwLock};
use std::time::Duration;

use async_trait::async_trait;
use bytes::BytesMut;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue};
use mrtr_client::{
    CredentialsFingerprint, ServerNotification, Transport, TransportError, TransportRequest, TransportResponse,
};
use reqwest::{Response, Url};

use crate::error::HttpTransportError;
use events::response_of;
use learn::is_header_mismatch;
use send::Sent;
use table::AnnotationTable;

/// A way to a server over Streamable HTTP.
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
    http: reqwest::Client,
    url: Url,
    server: String,
    tokens: Option<Arc<dyn TokenProvider>>,
    headers: HeaderMap,
    /// Which arguments of which tools are mirrored in headers, as the server's list of tools said.
    annotated: Arc<RwLock<AnnotationTable>>,
    /// Tells tokens apart without keeping them.
    fingerprint_key: RandomState,
}

/// Where bearer tokens come from.
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
    /// A token, if there is one. `refused` is one that the server has just refused.
    ///
    /// It is asked for before each request, and before a private result that was kept is shown again: that belongs to
    /// the token that it came for.
    async fn token(&self, refused: Option<&str>) -> Result<Option<String>, TransportError>;
}

impl HttpTransport {
    /// The most that is kept of what lists of tools say about headers, in bytes: beyond it, the tools that were learned
    /// of first are forgotten, and looked up again when they are called.
    pub const ANNOTATION_BYTES: usize = 1 << 20;

    /// The most arguments of one call that are mirrored in headers. A call with more is not sent.
    pub const MIRRORED_ARGUMENTS: usize = 1000;

    /// A way to the server at this URL.
    ///
    /// It follows no redirect: what was meant for one server goes to no other. It goes through the proxy that the
    /// environment names, unless the server is on this machine.
    pub fn new(url: &str) -> Result<Self, HttpTransportError> {
        let parsed = parse(url)?;
        let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
        let http = http.connect_timeout(CONNECT_TIME).pool_idle_timeout(IDLE_TIME);
        let http = if is_loopback(&parsed) { http.no_proxy() } else { http };
        Ok(Self::of(parsed, http.build()?))
    }

    /// A way to the server at this URL, with an HTTP client of the caller's own. It had better follow no redirects: what
    /// was meant for one server would go to another.
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
        Self {
            http,
            server: without_password(url.clone()),
            url,
            tokens: None,
            headers: HeaderMap::new(),
            annotated: Arc::default(),
            fingerprint_key: RandomState::new(),
        }
    }

    /// Shows tokens of this provider.
    #[must_use]
    pub fn tokens(mut self, tokens: impl TokenProvider) -> Self {
        self.tokens = Some(Arc::new(tokens));
        self
    }

    /// Sends a header with every request.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// Sends a request, and takes the reply.
    async fn reply(
        &self,
        request: &TransportRequest<'_>,
        on_notification: &mut (dyn FnMut(ServerNotification) + Send),
    ) -> Result<HttpReply, TransportError> {
        let Sent { response, credentials } = self.send(request).await?;
        let retry_after = send::retry_after(&response);
        let status = response.status();
        let media_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let media_type = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let text = match media_type.as_str() {
            _ if status::is_refusal(status) => return Err(status::not_a_message(status, response).await),
            "text/event-stream" => response_of(response, request.reply_bytes, on_notification).await?,
            "application/json" => whole(response, request.reply_bytes).await?,
            _ => return Err(status::not_a_message(status, response).await),
        };
        status::check(status, &text)?;
        Ok(HttpReply { text, status: status.as_u16(), retry_after, credentials })
    }
}

/// A response, how long the server wants to be left alone before the next one, and for whose credentials it came.
struct HttpReply {
    text: String,
    status: u16,
    retry_after: Option<Duration>,
    credentials: Option<CredentialsFingerprint>,
}

impl HttpReply {
    fn into_response(self) -> TransportResponse {
        let mut response = TransportResponse::new(self.text).status(self.status);
        if let Some(pause) = self.retry_after {
            response = response.retry_after(pause);
        }
        match self.credentials {
            Some(fingerprint) => response.credentials(fingerprint),
            None => response,
        }
    }
}

#[async_trait]
impl Transport for HttpTransport {
    fn server(&self) -> &str {
        &self.server
    }

    async fn credentials(&self) -> Result<Option<CredentialsFingerprint>, TransportError> {
        Ok(self.fingerprint(self.token(None).await?.as_deref()))
    }

    async fn exchange(
        &self,
        request: TransportRequest<'_>,
        on_notification: &mut (dyn FnMut(ServerNotification) + Send),
    ) -> Result<TransportResponse, TransportError> {
        let mut reply = self.reply(&request, on_notification).await?;
        match request.method {
            "tools/list" => {
                reply.text = self.learn(reply.text);
                Ok(reply.into_response())
            }
            // The server may want arguments in headers, and the caller has not listed its tools yet, or not for long. If
            // listing them fails, the server's error is what the caller should see.
            "tools/call" if is_header_mismatch(&reply.text) && self.learn_about(&request).await.unwrap_or(false) => {
                self.reply(&request, on_notification).await.map(HttpReply::into_response)
            }
            _ => Ok(reply.into_response()),
        }
    }
}

fn parse(url: &str) -> Result<Url, HttpTransportError> {
    let parsed = Url::parse(url).ok().filter(|parsed| matches!(parsed.scheme(), "http" | "https"));
    parsed.ok_or_else(|| HttpTransportError::Url(url.to_owned()))
}

/// The URL as people may see it.
fn without_password(mut url: Url) -> String {
    // Neither fails for a URL that has a host.
    let _ = (url.set_username(""), url.set_password(None));
    url.into()
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// How long it may take to connect.
const CONNECT_TIME: Duration = Duration::from_secs(10);

/// How long a connection is kept for the next request. Many servers close it after five seconds, and a call that meets
/// the end of its connection could not be sent again.
const IDLE_TIME: Duration = Duration::from_secs(4);

/// A reply of one piece, within its limit.
async fn whole(mut response: Response, limit: usize) -> Result<String, TransportError> {
    let mut bytes = BytesMut::new();
    while let Some(chunk) = response.chunk().await.map_err(TransportError::new)? {
        if bytes.len() + chunk.len() > limit {
            return Err(TransportError::new(format!("the reply is longer than {limit} bytes")));
        }
        bytes.extend_from_slice(&chunk);
    }
    String::from_utf8(bytes.into()).map_err(TransportError::new)
}

impl fmt::Debug for HttpTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpTransport").field("url", &self.server).finish_non_exhaustive()
    }
}
