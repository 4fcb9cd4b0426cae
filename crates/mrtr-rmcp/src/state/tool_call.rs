//! A call of a tool in rmcp's `#[tool]` methods, which get its parts one by one.

use std::borrow::Cow;
use std::fmt;

use mrtr_state::Payload;
use rmcp::handler::server::common::FromContextPart;
use rmcp::handler::server::tool::ToolCallContext;
use rmcp::model::{CallToolRequestParams, InputResponses};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde::Serialize;
use serde_json::Value;

use super::{Round, States};

/// The call that a `#[tool]` method answers, as a parameter of the method: all that [`States::open_tool`] needs but the
/// arguments. It stands at any place among the parameters, in place of rmcp's extractors `RequestState` and
/// `InputResponses`.
///
/// ```
/// use mrtr_rmcp::state::{Round, States, ToolCall};
/// use mrtr_state::JsonPayload;
/// use rmcp::ErrorData;
/// use rmcp::handler::server::wrapper::Parameters;
/// use rmcp::model::{CallToolResponse, CallToolResult, ContentBlock, InputRequests};
/// # struct Hotel { states: States }
/// # fn confirmation() -> InputRequests { InputRequests::new() }
///
/// #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
/// struct Trip { city: String }
///
/// #[derive(serde::Serialize, serde::Deserialize)]
/// struct Quote { euros: u64 }
///
/// impl JsonPayload for Quote {
///     const KIND: &'static str = "com.example/quote";
/// }
///
/// // #[tool_router]
/// impl Hotel {
///     // #[tool(description = "Books a room")]
///     async fn book(&self, call: ToolCall, Parameters(trip): Parameters<Trip>) -> Result<CallToolResponse, ErrorData> {
///         match self.states.open_tool::<Quote>(&call, &trip)? {
///             Round::First(round) => Ok(round.ask(confirmation(), &Quote { euros: 101 })?.into()),
///             Round::Retry(round) => {
///                 let text = format!("{}: booked for {} euros", trip.city, round.state().euros);
///                 Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
///             }
///         }
///     }
/// }
/// ```
pub struct ToolCall {
    name: Cow<'static, str>,
    state: Option<String>,
    answers: Option<InputResponses>,
    context: RequestContext<RoleServer>,
}

impl ToolCall {
    /// The answers that a retry brings, as the client sent them.
    pub fn answers(&self) -> Option<&InputResponses> {
        self.answers.as_ref()
    }

    /// The context of the request.
    pub fn context(&self) -> &RequestContext<RoleServer> {
        &self.context
    }
}

impl<S> FromContextPart<ToolCallContext<'_, S>> for ToolCall {
    fn from_context_part(context: &mut ToolCallContext<'_, S>) -> Result<Self, ErrorData> {
        Ok(Self {
            name: context.name.clone(),
            state: context.request_state.clone(),
            answers: context.input_responses.clone(),
            context: context.request_context.clone(),
        })
    }
}

impl fmt::Debug for ToolCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolCall").field("name", &self.name).finish_non_exhaustive()
    }
}

impl States {
    /// Returns the round of a call in a `#[tool]` method, as [`open`](Self::open) does. [`ToolCall`] has an example.
    ///
    /// The state is bound to these arguments as they are written here: give what `Parameters` read. The same arguments
    /// must always be written the same way, so keep the entries of a map in a `BTreeMap`, not in a `HashMap`. For a
    /// tool without arguments, give `&()`.
    pub fn open_tool<P: Payload>(&self, call: &ToolCall, arguments: &impl Serialize) -> Result<Round<P>, ErrorData> {
        let mut request = CallToolRequestParams::new(call.name.clone());
        request.arguments = match serde_json::to_value(arguments) {
            Ok(Value::Object(arguments)) => Some(arguments),
            Ok(Value::Null) => None,
            written => {
                let error = written.err().map(|error| error.to_string());
                tracing::error!(tool = &*call.name, error, "the arguments of a tool are not written as an object");
                return Err(ErrorData::internal_error("The server could not read the state of this call", None));
            }
        };
        (request.request_state, request.input_responses) = (call.state.clone(), call.answers.clone());
        self.open(&request, &call.context)
    }
}
