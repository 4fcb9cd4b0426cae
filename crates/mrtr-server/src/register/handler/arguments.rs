//! What a handler takes besides its flow: a type that is read from JSON and has a schema.

use mrtr_schema::{JsonObject, ReadError};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::invalid_arguments;

/// What a handler can take as its arguments: every type that can be read from JSON, and that has a schema to tell
/// callers what that JSON is.
///
/// ```
/// use mrtr_server::handler::HandlerArguments;
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Greet {
///     /// Whom to greet
///     name: String,
/// }
///
/// fn takes<A: HandlerArguments>() {}
/// takes::<Greet>();
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the arguments of a handler",
    label = "this handler takes a `{Self}`",
    note = "arguments are read from JSON, and their schema is told to callers: `#[derive(serde::Deserialize, schemars::JsonSchema)] struct …`",
    note = "types inside it need both derives, too; the arguments are `Send + 'static`, and borrow nothing"
)]
pub trait HandlerArguments: Send + Sized + 'static {
    /// Their JSON Schema, as an object.
    #[doc(hidden)]
    fn input_schema() -> Result<JsonObject, ReadError>;

    /// Reads them, or says why they do not fit.
    #[doc(hidden)]
    fn read(arguments: &RawValue) -> Result<Self, String>;
}

impl<A: DeserializeOwned + JsonSchema + Send + 'static> HandlerArguments for A {
    fn input_schema() -> Result<JsonObject, ReadError> {
        JsonObject::of(&schemars::schema_for!(A))
    }

    #[inline]
    fn read(arguments: &RawValue) -> Result<Self, String> {
        serde_json::from_str(arguments.get()).map_err(|error| invalid_arguments::reason::<A>(arguments, error))
    }
}

/// The arguments of a handler that takes none. Whatever a caller sends is left alone.
#[derive(Debug)]
pub struct NoArguments;

#[diagnostic::do_not_recommend]
impl HandlerArguments for NoArguments {
    fn input_schema() -> Result<JsonObject, ReadError> {
        JsonObject::parse(r#"{"type": "object"}"#)
    }

    fn read(_: &RawValue) -> Result<Self, String> {
        Ok(Self)
    }
}
