//! States of handlers by hand: an rmcp handler that returns its questions itself seals what it must remember in
//! between.
//!
//! ```
//! use mrtr_rmcp::state::{Round, States};
//! use mrtr_server::Sealer;
//! use mrtr_state::JsonPayload;
//! use rmcp::model::{
//!     CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ElicitRequest, ElicitRequestParams,
//!     ElicitationSchema, InputRequest, InputRequests,
//! };
//! use rmcp::service::RequestContext;
//! use rmcp::{ErrorData, RoleServer, ServerHandler};
//!
//! #[derive(serde::Serialize, serde::Deserialize)]
//! struct Quote { euros: u64 }
//!
//! impl JsonPayload for Quote {
//!     const KIND: &'static str = "com.example/quote";
//! }
//!
//! struct Hotel { states: States }
//!
//! impl ServerHandler for Hotel {
//!     async fn call_tool(
//!         &self,
//!         request: CallToolRequestParams,
//!         context: RequestContext<RoleServer>,
//!     ) -> Result<CallToolResponse, ErrorData> {
//!         match self.states.open::<Quote>(&request, &context)? {
//!             Round::First(round) => Ok(round.ask(confirm(), &Quote { euros: 101 })?.into()),
//!             Round::Retry(round) => Ok(booked(round.state()).into()),
//!         }
//!     }
//! }
//! # fn booked(quote: &Quote) -> CallToolResult {
//! #     CallToolResult::success(vec![ContentBlock::text(format!("booked for {} euros", quote.euros))])
//! # }
//! # fn confirm() -> InputRequests { InputRequests::new() }
//! let hotel = Hotel { states: States::new(Sealer::this_process_only()) };
//! ```

mod once;
mod round;
mod tool_call;

use std::fmt;
use std::time::SystemTime;

use mrtr_server::{Caller, Sealer};
use mrtr_state::{Payload, Refusal};
use rmcp::model::Extensions;
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};

pub use round::{FirstRound, MayAsk, RetryRound, Round};
pub use tool_call::ToolCall;

use crate::identity::{Identify, Told};
use round::BoundRequest;

/// Seals and opens the states of a handler.
///
/// A state is bound to the caller and the tenant if there are any, the method, the tool, prompt or resource, and the
/// arguments. It lives as long as the sealer's [`Lifetimes`](mrtr_state::Lifetimes) say, and opens under every key of
/// the sealer's ring, so that keys can be rotated.
///
/// ```
/// use mrtr_rmcp::state::States;
/// use mrtr_server::Sealer;
///
/// let states = States::new(Sealer::this_process_only()); // or Sealer::from_env("MRTR_STATE_KEYS")?
/// ```
#[derive(Clone)]
pub struct States {
    sealer: Sealer,
    identify: Identify,
}

impl States {
    /// Creates states that this sealer seals.
    pub fn new(sealer: Sealer) -> Self {
        Self { sealer, identify: Identify::default() }
    }

    /// Sets the function that says who sent a request, as [`Flows::caller`](crate::Flows::caller) does. Another
    /// caller's state does not open.
    ///
    /// ```
    /// # use mrtr_rmcp::state::States;
    /// # use mrtr_server::{Caller, Sealer};
    /// # #[derive(Clone)] struct User(String);
    /// let states = States::new(Sealer::this_process_only()).caller(|extensions| {
    ///     let User(name) = extensions.get::<http::request::Parts>()?.extensions.get()?;
    ///     Some(Caller::new("https://id.example.com", name))
    /// });
    /// ```
    #[must_use]
    pub fn caller(mut self, who: impl Fn(&Extensions) -> Option<Caller> + Send + Sync + 'static) -> Self {
        self.identify.caller = Told::by(who);
        self
    }

    /// Sets the function that says on behalf of which tenant a request was sent, as
    /// [`Flows::tenant`](crate::Flows::tenant) does.
    ///
    /// ```
    /// # use mrtr_rmcp::state::States;
    /// # use mrtr_server::Sealer;
    /// let states = States::new(Sealer::this_process_only()).tenant(|_| Some("acme".to_owned()));
    /// ```
    #[must_use]
    pub fn tenant(mut self, whose: impl Fn(&Extensions) -> Option<String> + Send + Sync + 'static) -> Self {
        self.identify.tenant = Told::by(whose);
        self
    }

    /// Returns the round of a request: the first one of its flow, or a retry whose state has opened.
    ///
    /// A state that does not open always gives the same error on the wire. The log has the reason.
    pub fn open<P: Payload>(
        &self,
        request: &impl MayAsk,
        context: &RequestContext<RoleServer>,
    ) -> Result<Round<P>, ErrorData> {
        let identity = self.identify.of(&context.extensions);
        let bound = BoundRequest::of(request, self.sealer.clone(), identity)?;
        let Some(state) = request.request_state() else { return Ok(Round::First(FirstRound::new(bound))) };
        let opened = bound.with_binding(|binding| self.sealer.open_text::<P>(state, binding, SystemTime::now().into()));
        let opened = opened?.map_err(|refusal| refused(refusal, refusal.label(), &self.why(refusal)))?;
        RetryRound::new(bound, opened, request.answers()).map(Round::Retry)
    }

    /// The reason why a state does not open, for the log.
    fn why(&self, refusal: Refusal) -> String {
        match refusal {
            // The refusal alone would read like an attack, and most often the server was restarted.
            Refusal::Forged | Refusal::UnknownKey if !self.sealer.outlives_process() => {
                "this server seals with a key of its process, and another process sealed the state, such as this \
                 server before a restart: give `States::new` keys that stay, `Sealer::from_env(\"MRTR_STATE_KEYS\")?`"
                    .to_owned()
            }
            refusal => refusal.to_string(),
        }
    }
}

impl fmt::Debug for States {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("States").finish_non_exhaustive()
    }
}

/// The error for a state that does not open. The reason goes to the log alone: on the wire there is one error for every
/// reason.
fn refused(refusal: Refusal, reason: &str, why: &str) -> ErrorData {
    tracing::info!(reason, why, "a request state was refused");
    ErrorData::invalid_params(refusal.to_error().message, None)
}
