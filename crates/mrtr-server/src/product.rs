//! What a flow can end in, by method: and how each says that it failed.

use mrtr_schema::{
    CallToolResult, CompleteResult, ContentBlock, ErrorCode, ErrorObject, GetPromptResult, ReadResourceResult,
    ResultMeta, Wire,
};

use crate::ProtocolError;

/// The complete result of a method whose handlers are flows. Implemented here alone.
pub trait Product: Wire {
    /// What its handler is called in messages.
    #[doc(hidden)]
    const WHAT: &'static str;

    /// Says that the handler failed, in words for whoever called.
    #[doc(hidden)]
    fn failed(text: String) -> Result<Self, ErrorObject> {
        Err(ErrorObject::new(ErrorCode::INTERNAL_ERROR, text))
    }

    /// Says that the arguments do not fit.
    #[doc(hidden)]
    fn unfit(text: String) -> Result<Self, ErrorObject> {
        Err(ProtocolError::invalid_params(text).into_object())
    }

    /// Its metadata.
    #[doc(hidden)]
    fn meta(&mut self) -> &mut Option<ResultMeta>;
}

impl Product for CallToolResult {
    const WHAT: &'static str = "tool";

    /// The model reads of it, and may try again.
    fn failed(text: String) -> Result<Self, ErrorObject> {
        let mut result = Self::new([ContentBlock::text(text)]);
        result.is_error = Some(true);
        Ok(result)
    }

    fn unfit(text: String) -> Result<Self, ErrorObject> {
        Self::failed(text)
    }

    fn meta(&mut self) -> &mut Option<ResultMeta> {
        &mut self.meta
    }
}

macro_rules! products {
    ($($result:ty, $what:literal;)*) => {$(
        impl Product for $result {
            const WHAT: &'static str = $what;

            fn meta(&mut self) -> &mut Option<ResultMeta> {
                &mut self.meta
            }
        }
    )*};
}
products! {
    GetPromptResult, "prompt";
    ReadResourceResult, "resource";
    CompleteResult, "completion";
}
