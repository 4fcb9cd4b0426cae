//! Questions to a person as a handler sees them, the answers that it may give, and the URLs that a person may be
//! offered to open.

use std::borrow::Cow;
use std::net::{Ipv4Addr, Ipv6Addr};

use mrtr_schema::elicitation::{ElicitAction, ElicitFormParams, ElicitResult, ElicitUrlParams, Field, Url};
use mrtr_schema::{Form, JsonObject, Printable};
use serde::Serialize;

use super::QuestionContext;
use crate::answer::{self, AnswerError};

/// A form for a person to fill in.
///
/// Show which server asks, and in which call, along with the message: the message is the server's word, not yours.
///
/// ```
/// use mrtr_client::testing::Script;
/// use mrtr_client::{AnswerError, Client, FormRequest};
/// use mrtr_schema::elicitation::ElicitResult;
/// use serde_json::json;
///
/// #[derive(serde::Serialize)]
/// struct Login { name: String, note: Option<String> }
///
/// async fn ask_the_user(form: FormRequest) -> Result<ElicitResult, AnswerError> {
///     println!("{} ({:?}) asks: {}", form.context().server, form.context().name, form.message());
///     for field in form.fields() {
///         println!("{}{}", field.title(), if field.is_required { " *" } else { "" });
///     }
///     if let Err(reason) = form.check(&json!({ "name": 7 })) {
///         println!("{reason}"); // let the person try again
///     }
///     form.accept(&Login { name: "ada".to_owned(), note: None })
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), mrtr_client::CallError> {
/// let server = Script::new()
///     .result(json!({ "resultType": "input_required", "inputRequests": { "login": {
///         "method": "elicitation/create", "params": { "message": "Who are you?", "requestedSchema": {
///             "type": "object", "required": ["name"], "properties": {
///                 "name": { "type": "string", "title": "Name" },
///                 "note": { "type": "string", "default": "none" },
///             } } } } } }))
///     .result(json!({ "resultType": "complete", "content": [] }));
/// let client = Client::builder(server.clone()).on_elicit(ask_the_user).build();
/// client.call_tool("greet", json!({})).await?;
/// let answer = r#"{"login":{"action":"accept","content":{"name":"ada","note":"none"}}}"#;
/// assert!(server.sent()[1].as_str().contains(answer));
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct FormRequest {
    params: ElicitFormParams,
    /// The message as it may be shown, where that is not the message itself.
    shown: Option<String>,
    context: QuestionContext,
}

impl FormRequest {
    pub(crate) fn new(params: ElicitFormParams, context: QuestionContext) -> Self {
        let shown = shown(&params.message);
        Self { params, shown, context }
    }

    /// Returns the server's message to the person, as it may be shown: see [`Printable::text`].
    pub fn message(&self) -> &str {
        self.shown.as_deref().unwrap_or(&self.params.message)
    }

    /// Returns the server's message to the person, whole and as it came. Do not show it as it is.
    pub fn untrusted_message(&self) -> &str {
        &self.params.message
    }

    /// The form as the server sent it.
    pub fn form(&self) -> &Form {
        &self.params.requested_schema
    }

    /// The fields, in order: what to show for each, and what a person may enter.
    pub fn fields(&self) -> impl Iterator<Item = Field<'_>> {
        self.form().fields()
    }

    /// Returns the context of the question: the server that asks, and the call in which it asks.
    pub fn context(&self) -> &QuestionContext {
        &self.context
    }

    /// Checks that a form filled in like this would be taken. Use it while the person types.
    pub fn check<T: Serialize + ?Sized>(&self, content: &T) -> Result<(), AnswerError> {
        self.filled_in(content).map(drop)
    }

    /// Returns the filled-in form as an answer, if it fits. Fields that are left out get their defaults.
    pub fn accept<T: Serialize + ?Sized>(&self, content: &T) -> Result<ElicitResult, AnswerError> {
        self.filled_in(content).map(ElicitResult::accept)
    }

    fn filled_in<T: Serialize + ?Sized>(&self, content: &T) -> Result<JsonObject, AnswerError> {
        let key = &self.context.key;
        let content = JsonObject::of(content).map_err(|source| AnswerError::WrongKind { key: key.clone(), source })?;
        answer::content(key, self.form(), &content)
    }

    /// Answers that the person said no. It never fails, and has the type of [`accept`](Self::accept), so that a handler
    /// can end in either.
    ///
    /// ```
    /// use mrtr_client::Client;
    /// use mrtr_client::testing::Script;
    /// use serde_json::json;
    ///
    /// let client = Client::builder(Script::new())
    ///     .on_elicit(|form| async move {
    ///         if form.context().server.starts_with("https:") { form.accept(&json!({ "name": "Ada" })) } else { form.decline() }
    ///     })
    ///     .build();
    /// ```
    pub fn decline(&self) -> Result<ElicitResult, AnswerError> {
        Ok(ElicitResult::decline())
    }

    /// Answers that the person went away. Like [`decline`](Self::decline), it never fails.
    pub fn cancel(&self) -> Result<ElicitResult, AnswerError> {
        Ok(ElicitResult::cancel())
    }
}

/// A URL for a person to visit.
///
/// Show the whole of it and who asks, open it only if the person agrees, and never before (EL-3).
///
/// ```
/// use mrtr_client::testing::Script;
/// use mrtr_client::{Client, UrlRequest};
/// use mrtr_schema::elicitation::ElicitResult;
/// use serde_json::json;
///
/// async fn ask_the_user(request: UrlRequest) -> ElicitResult {
///     println!("{} asks you to visit {}", request.context().server, request.url());
///     request.consent() // once they have agreed, and the browser is open
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), mrtr_client::CallError> {
/// let server = Script::new()
///     .result(json!({ "resultType": "input_required", "inputRequests": { "connect": {
///         "method": "elicitation/create", "params": {
///             "mode": "url", "message": "Connect your account", "url": "https://example.com/connect" } } } }))
///     .result(json!({ "resultType": "complete", "content": [] }));
/// let client = Client::builder(server.clone()).on_url(ask_the_user).build();
/// client.call_tool("sync", json!({})).await?;
/// assert!(server.sent()[1].as_str().contains(r#""inputResponses":{"connect":{"action":"accept"}}"#));
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct UrlRequest {
    params: ElicitUrlParams,
    /// The message as it may be shown, where that is not the message itself.
    shown: Option<String>,
    context: QuestionContext,
}

impl UrlRequest {
    pub(crate) fn new(params: ElicitUrlParams, context: QuestionContext) -> Self {
        let shown = shown(&params.message);
        Self { params, shown, context }
    }

    /// Returns the server's reason to go there, as it may be shown: see [`Printable::text`].
    pub fn message(&self) -> &str {
        self.shown.as_deref().unwrap_or(&self.params.message)
    }

    /// Returns the server's reason to go there, whole and as it came. Do not show it as it is.
    pub fn untrusted_message(&self) -> &str {
        &self.params.message
    }

    /// Returns the whole URL, as the server wrote it.
    pub fn url(&self) -> &str {
        self.params.url.as_str()
    }

    /// Returns the URL, checked against the grammar of URLs.
    pub fn parsed_url(&self) -> &Url {
        &self.params.url
    }

    /// The host of the URL, if it has one: show it beside the URL, where a person easily overlooks it.
    pub fn host(&self) -> Option<&str> {
        self.params.url.host()
    }

    /// Returns true if the host is written in punycode (`xn--…`): a browser may show it in other letters, which may
    /// look like a name that the person knows. Say so, and show the host as it is.
    ///
    /// ```
    /// # use mrtr_client::{Client, UrlRequest, testing::Script};
    /// fn host_line(request: &UrlRequest) -> String {
    ///     let note = if request.has_punycode_host() { " (punycode)" } else { "" };
    ///     format!("{}{note}", request.host().unwrap_or_default())
    /// }
    /// # drop(Client::builder(Script::new()).on_url(|request| async move { host_line(&request); request.decline() }));
    /// ```
    pub fn has_punycode_host(&self) -> bool {
        self.host().is_some_and(is_punycode)
    }

    /// Checks that a person may be offered to open the URL: `https`, or `http` on this machine. A server may send any
    /// scheme, and a `javascript:` or `file:` URL is not a page to visit.
    ///
    /// The client has checked this before it calls the handler, unless
    /// [`danger_accept_any_url`](crate::Builder::danger_accept_any_url) says otherwise.
    ///
    /// ```
    /// use mrtr_client::testing::Script;
    /// use mrtr_client::{Client, UnsafeUrl, UrlRequest};
    /// use mrtr_schema::elicitation::ElicitResult;
    ///
    /// async fn ask_the_user(request: UrlRequest) -> Result<ElicitResult, UnsafeUrl> {
    ///     request.check()?; // the call ends, and can be resumed
    ///     Ok(request.consent()) // once they have agreed
    /// }
    /// # drop(Client::builder(Script::new()).on_url(ask_the_user));
    /// ```
    pub fn check(&self) -> Result<(), UnsafeUrl> {
        UnsafeUrl::check(&self.params.url)
    }

    /// Returns the context of the question: the server that asks, and the call in which it asks.
    pub fn context(&self) -> &QuestionContext {
        &self.context
    }

    /// Answers that the person agreed to go there. The server finds out by itself if they did (EL-4).
    pub fn consent(&self) -> ElicitResult {
        ElicitResult::new(ElicitAction::Accept)
    }

    /// Answers that the person said no.
    pub fn decline(&self) -> ElicitResult {
        ElicitResult::decline()
    }

    /// Answers that the person went away without an answer.
    pub fn cancel(&self) -> ElicitResult {
        ElicitResult::cancel()
    }
}

/// A message as it may be shown, if that is not the message itself.
fn shown(message: &str) -> Option<String> {
    match Printable::text(message).into_text() {
        Cow::Borrowed(_) => None,
        Cow::Owned(shown) => Some(shown),
    }
}

/// A type that a handler may give as its answer to a question to a person: what the person did, or an error if no
/// person was asked.
///
/// ```
/// use mrtr_client::IntoElicitResult;
/// use mrtr_schema::elicitation::ElicitResult;
///
/// assert!(ElicitResult::decline().into_elicit_result().is_ok(), "a person said no");
/// assert!(Err::<ElicitResult, _>("there is no screen").into_elicit_result().is_err(), "nobody was asked");
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be what a handler of forms or URLs ends in",
    label = "this handler ends in a `{Self}`",
    note = "it ends in an `ElicitResult` or in a `Result<ElicitResult, Error>`, as `form.accept(…)`, `form.decline()` and `request.consent()` make them",
    note = "the error is an `AnswerError`, a `String`, `anyhow::Error`, `Box<dyn std::error::Error + Send + Sync>`, or an error type of your own; `Failure` is for the handlers of servers"
)]
pub trait IntoElicitResult {
    /// Turns this into what the person did, or into an error.
    fn into_elicit_result(self) -> Result<ElicitResult, Box<dyn std::error::Error + Send + Sync>>;
}

impl IntoElicitResult for ElicitResult {
    fn into_elicit_result(self) -> Result<ElicitResult, Box<dyn std::error::Error + Send + Sync>> {
        Ok(self)
    }
}

#[diagnostic::do_not_recommend]
impl<E: Into<Box<dyn std::error::Error + Send + Sync>>> IntoElicitResult for Result<ElicitResult, E> {
    fn into_elicit_result(self) -> Result<ElicitResult, Box<dyn std::error::Error + Send + Sync>> {
        self.map_err(Into::into)
    }
}

/// An error that says why a person is not offered to open a URL. The person may still decline it.
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
    /// The URL has another scheme than `https`, or `http` on this machine: it may run code, read files or start a
    /// program.
    #[error("it asks to open a `{}:` URL; only https is opened, and http on this machine", Printable::line(.0).up_to(32))]
    Scheme(String),
    /// The page is not encrypted: others can read and change on the way what goes there and what comes back.
    #[error("it asks to open a page at {} without encryption; http is opened on this machine only", Printable::line(.0))]
    Unencrypted(String),
    /// The URL has no host, or one that is written so that a person cannot read it.
    #[error("it asks to open a URL whose host cannot be read")]
    NoHost,
}

impl UnsafeUrl {
    /// Checks that a URL may be offered: `https` on any host, `http` on this machine.
    pub fn check(url: &Url) -> Result<(), Self> {
        let scheme = url.as_str().split(':').next().unwrap_or_default().to_ascii_lowercase();
        if scheme != "https" && scheme != "http" {
            return Err(Self::Scheme(scheme));
        }
        // A browser decodes percent-encoded letters, so the person would agree to another host than the one they see.
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

/// True if a host is written in punycode: a browser may show it in other letters, which may look like another name.
fn is_punycode(host: &str) -> bool {
    host.split('.').any(|label| label.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("xn--")))
}
