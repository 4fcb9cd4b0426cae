//! One round of a handler by hand: the request that it is for, what its state said, and the state of the next one.

use std::fmt;
use std::time::SystemTime;

use mrtr_schema::{RawMembers, Revision};
use mrtr_server::{Identity, Sealer};
use mrtr_state::{AnswersDigest, Binding, Opened, Payload, SealError, SealOptions, TokenUse};
use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, GetPromptRequestParams, InputRequests, InputRequiredResult, InputResponses,
    ReadResourceRequestParams,
};
use serde::Serialize;

/// One round of a call: the first one, or a retry whose state has opened. [`States::open`](super::States::open) makes
/// it.
///
/// ```
/// use mrtr_rmcp::state::Round;
/// # use mrtr_state::Payload;
///
/// fn is_retry<P: Payload>(round: &Round<P>) -> bool {
///     matches!(round, Round::Retry(_))
/// }
/// ```
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "a request brings a state, or it does not")]
pub enum Round<P> {
    /// The first round: there is no state yet.
    First(FirstRound),
    /// A retry: its state holds what the handler sealed.
    Retry(RetryRound<P>),
}

/// The first round of a call.
///
/// ```
/// # use mrtr_state::Payload;
/// use mrtr_rmcp::state::FirstRound;
/// use rmcp::ErrorData;
/// use rmcp::model::{CallToolResponse, InputRequests};
///
/// fn ask<P: Payload>(round: &FirstRound, questions: InputRequests, kept: &P) -> Result<CallToolResponse, ErrorData> {
///     Ok(round.ask(questions, kept)?.into())
/// }
/// ```
#[derive(Debug)]
pub struct FirstRound(BoundRequest);

impl FirstRound {
    pub(super) fn new(request: BoundRequest) -> Self {
        Self(request)
    }

    /// Asks the client these questions, and gives it `kept` to bring back, sealed.
    pub fn ask<P: Payload>(&self, questions: InputRequests, kept: &P) -> Result<InputRequiredResult, ErrorData> {
        let state = self.0.seal(|sealer, binding| sealer.seal(kept, binding, SystemTime::now().into()))?;
        Ok(asking(questions, state))
    }
}

/// A round that continues from what the handler has sealed. Its state has opened: it is ours and fresh, and it came
/// with the request and from the caller that it was sealed for.
///
/// ```
/// use mrtr_rmcp::state::RetryRound;
///
/// fn price(round: &RetryRound<u64>) -> u64 {
///     *round.state()
/// }
/// ```
pub struct RetryRound<P> {
    request: BoundRequest,
    opened: Box<Opened<P>>,
    pub(super) token_use: TokenUse,
}

impl<P> RetryRound<P> {
    pub(super) fn new(
        request: BoundRequest,
        opened: Opened<P>,
        answers: Option<&InputResponses>,
    ) -> Result<Self, ErrorData> {
        let text = answers.map(text_of).transpose()?;
        let members = text.as_deref().map(RawMembers::parse).transpose().map_err(|error| invalid(&error))?;
        let answers = AnswersDigest::of(members.as_ref()).map_err(|error| invalid(&error))?;
        let token_use = opened.token_use(answers);
        Ok(Self { request, opened: Box::new(opened), token_use })
    }

    /// Returns what the handler sealed in the round before.
    pub fn state(&self) -> &P {
        self.opened.payload()
    }
}

impl<P: Payload> RetryRound<P> {
    /// Asks the client again, and gives it `kept` to bring back, sealed.
    pub fn ask(&self, questions: InputRequests, kept: &P) -> Result<InputRequiredResult, ErrorData> {
        let options = SealOptions::new(self.opened.next_round());
        let state =
            self.request.seal(|sealer, binding| sealer.seal_as(kept, binding, options, SystemTime::now().into()));
        Ok(asking(questions, state?))
    }
}

impl<P> fmt::Debug for RetryRound<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetryRound").field("round", &self.opened.progress().round()).finish_non_exhaustive()
    }
}

/// Makes a result that asks these questions. Without questions it holds a state alone: the client retries, and brings
/// no answers.
fn asking(questions: InputRequests, state: String) -> InputRequiredResult {
    InputRequiredResult::new(Some(questions).filter(|questions| !questions.is_empty()), Some(state))
}

/// A request, with everything that its states are bound to.
pub(super) struct BoundRequest {
    method: &'static str,
    subject: String,
    /// The parameters as text, for the digest.
    params: String,
    identity: Identity,
    sealer: Sealer,
}

impl BoundRequest {
    pub(super) fn of<R: Request>(request: &R, sealer: Sealer, identity: Identity) -> Result<Self, ErrorData> {
        let (subject, params) = (request.subject().to_owned(), text_of(request)?);
        Ok(Self { method: R::METHOD, subject, params, identity, sealer })
    }

    pub(super) fn with_binding<T>(&self, use_it: impl FnOnce(&Binding<'_>) -> T) -> Result<T, ErrorData> {
        let params = RawMembers::parse(&self.params).map_err(|error| invalid(&error))?;
        let binding = Binding::named(Revision::default(), self.method, self.subject.as_str(), &params);
        Ok(use_it(&self.identity.bind(binding)))
    }

    fn seal(
        &self,
        seal: impl FnOnce(&Sealer, &Binding<'_>) -> Result<mrtr_schema::RequestState, SealError>,
    ) -> Result<String, ErrorData> {
        let sealed = self.with_binding(|binding| seal(&self.sealer, binding))?;
        sealed.map(|state| state.untrusted_text().to_owned()).map_err(|error| {
            tracing::error!(%error, subject = self.subject, "a request state could not be sealed");
            ErrorData::internal_error("The server could not seal the state of this call", None)
        })
    }
}

impl fmt::Debug for BoundRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoundRequest").field("subject", &self.subject).finish_non_exhaustive()
    }
}

fn text_of(value: &impl Serialize) -> Result<String, ErrorData> {
    serde_json::to_string(value).map_err(|error| invalid(&error))
}

fn invalid(error: &dyn std::error::Error) -> ErrorData {
    ErrorData::invalid_params(error.to_string(), None)
}

/// A request to which a server may answer with questions: `tools/call`, `prompts/get` or `resources/read`. There are no
/// others.
///
/// ```
/// use mrtr_rmcp::state::MayAsk;
/// use rmcp::model::CallToolRequestParams;
///
/// fn takes(_: &impl MayAsk) {}
/// takes(&CallToolRequestParams::new("pay"));
/// ```
pub trait MayAsk: Request {}

/// The parts of a request that [`MayAsk`] marks. Other crates cannot implement it.
pub trait Request: Serialize {
    /// The method of the request.
    const METHOD: &'static str;

    /// The tool or prompt by name, or the resource by URI.
    fn subject(&self) -> &str;

    /// The state that a retry brings back, as the client sent it.
    fn request_state(&self) -> Option<&str>;

    /// The answers that a retry brings.
    fn answers(&self) -> Option<&InputResponses>;
}

macro_rules! requests {
    ($($request:ident: $method:literal, $subject:ident;)*) => {$(
        impl MayAsk for $request {}

        impl Request for $request {
            const METHOD: &'static str = $method;

            fn subject(&self) -> &str {
                &self.$subject
            }

            fn request_state(&self) -> Option<&str> {
                self.request_state.as_deref()
            }

            fn answers(&self) -> Option<&InputResponses> {
                self.input_responses.as_ref()
            }
        }
    )*};
}
requests! {
    CallToolRequestParams: "tools/call", name;
    GetPromptRequestParams: "prompts/get", name;
    ReadResourceRequestParams: "resources/read", uri;
}
