//! The requests on which a server may ask, as rmcp has them.

use rmcp::model::{CallToolRequestParams, GetPromptRequestParams, InputResponses, ReadResourceRequestParams};
use serde::Serialize;

/// A request on which a server may ask: of `tools/call`, `prompts/get` or `resources/read`. There are no others.
///
/// ```
/// use mrtr_rmcp::state::MayAsk;
/// use rmcp::model::CallToolRequestParams;
///
/// fn takes(_: &impl MayAsk) {}
/// takes(&CallToolRequestParams::new("pay"));
/// ```
pub trait MayAsk: Request {}

/// What is known of such a request. It is not to be implemented elsewhere.
pub trait Request: Serialize {
    /// The method.
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
