//! The client side: a transport for `mrtr-client` on reqwest.

mod annotations;
mod events;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use async_trait::async_trait;
use bytes::BytesMut;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use mrtr_client::{Exchange, Notified, Transport, TransportError};
use mrtr_schema::Revision;
use reqwest::{Response, Url};

use crate::header_text;
use annotations::{Annotated, annotated_tools};
use events::Events;

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
    annotated: Arc<RwLock<HashMap<String, Annotated>>>,
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
    async fn token(&self, refused: Option<&str>) -> Result<Option<String>, TransportError>;
}

/// Why a transport cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HttpTransportError {
    /// The URL is none of HTTP.
    #[error("`{0}` is not an HTTP URL")]
    Url(String),
    /// The HTTP client could not be set up.
    #[error("the HTTP client could not be set up")]
    Http(#[from] reqwest::Error),
}

impl HttpTransport {
    /// A way to the server at this URL.
    pub fn new(url: &str) -> Result<Self, HttpTransportError> {
        Self::with_client(url, reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build()?)
    }

    /// The same with an HTTP client of one's own.
    pub fn with_client(url: &str, http: reqwest::Client) -> Result<Self, HttpTransportError> {
        let parsed = Url::parse(url).ok().filter(|parsed| matches!(parsed.scheme(), "http" | "https"));
        let parsed = parsed.ok_or_else(|| HttpTransportError::Url(url.to_owned()))?;
        Ok(Self {
            http,
            server: parsed.to_string(),
            url: parsed,
            tokens: None,
            headers: HeaderMap::new(),
            annotated: Arc::default(),
        })
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

    /// Sends a request, again where that is safe: where it did not get there, or where doing it twice is doing it once.
    async fn send(&self, exchange: &Exchange<'_>) -> Result<Response, TransportError> {
        let mut refused: Option<String> = None;
        let mut attempt = 1;
        loop {
            let token = self.token(refused.as_deref()).await?;
            let sent = self.post(exchange, token.as_deref()).await;
            match sent {
                Ok(response)
                    if response.status() == StatusCode::UNAUTHORIZED && token.is_some() && refused.is_none() =>
                {
                    refused = token;
                }
                Ok(response) => return Ok(response),
                Err(error) if attempt < ATTEMPTS && may_repeat(&error, exchange.method) => {
                    tokio::time::sleep(PAUSE * attempt).await;
                    attempt += 1;
                }
                Err(error) => return Err(TransportError::new(error)),
            }
        }
    }

    async fn token(&self, refused: Option<&str>) -> Result<Option<String>, TransportError> {
        match &self.tokens {
            Some(tokens) => tokens.token(refused).await,
            None => Ok(None),
        }
    }

    async fn post(&self, exchange: &Exchange<'_>, token: Option<&str>) -> Result<Response, reqwest::Error> {
        let mut headers = self.headers.clone();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        if exchange.revision == Revision::Published {
            self.mirror(exchange, &mut headers);
        }
        if let Some(mut value) = token.and_then(|token| HeaderValue::try_from(format!("Bearer {token}")).ok()) {
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        self.http.post(self.url.clone()).headers(headers).body(exchange.message.to_owned()).send().await
    }

    /// What intermediaries want to see of a request, without reading its body.
    fn mirror(&self, exchange: &Exchange<'_>, headers: &mut HeaderMap) {
        let mut insert = |name: HeaderName, text: &str| {
            if let Ok(value) = HeaderValue::try_from(header_text::encode(text)) {
                headers.insert(name, value);
            }
        };
        insert(HeaderName::from_static("mcp-protocol-version"), exchange.revision.as_str());
        insert(HeaderName::from_static("mcp-method"), exchange.method);
        if let Some(name) = exchange.name {
            insert(HeaderName::from_static("mcp-name"), name);
        }
        if exchange.method == "tools/call"
            && let (Some(name), Some(arguments)) = (exchange.name, exchange.arguments)
        {
            let annotated = self.annotated.read().unwrap_or_else(PoisonError::into_inner);
            for (name, text) in annotated.get(name).map(|tool| tool.mirrored(arguments)).unwrap_or_default() {
                insert(name, &text);
            }
        }
    }

    /// Learns from a list of tools which arguments are mirrored, and drops tools that say so wrongly.
    fn learn(&self, reply: String) -> String {
        let Some((annotated, kept)) = annotated_tools(&reply) else { return reply };
        self.annotated.write().unwrap_or_else(PoisonError::into_inner).extend(annotated);
        kept.unwrap_or(reply)
    }
}

/// How often a request is sent where sending it again is safe.
const ATTEMPTS: u32 = 3;
const PAUSE: Duration = Duration::from_millis(100);

/// Whether a request that failed may be sent again: it never got there, or it only reads.
fn may_repeat(error: &reqwest::Error, method: &str) -> bool {
    let only_reads = method.ends_with("/list") || matches!(method, "server/discover" | "tasks/get");
    error.is_connect() || (only_reads && error.is_request())
}

#[async_trait]
impl Transport for HttpTransport {
    fn server(&self) -> &str {
        &self.server
    }

    async fn exchange(
        &self,
        exchange: Exchange<'_>,
        notified: &mut (dyn FnMut(Notified) + Send),
    ) -> Result<String, TransportError> {
        let response = self.send(&exchange).await?;
        let status = response.status();
        let media_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let reply = match media_type.split(';').next().unwrap_or_default().trim() {
            "text/event-stream" => Events::new(response, exchange.reply_bytes).last(notified).await?,
            "application/json" => whole(response, exchange.reply_bytes).await?,
            _ => return Err(TransportError::new(format!("the server answered with status {status} and no message"))),
        };
        Ok(if exchange.method == "tools/list" { self.learn(reply) } else { reply })
    }
}

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
