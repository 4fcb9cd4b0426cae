//! What a handler takes besides its flow: a type that is read from JSON and has a schema.

use mrtr_schema::{Json, JsonObject, ReadError};
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
        serde_json::from_str(arguments.get()).or_else(|error| read_in_digits(arguments, error))
    }
}

/// Reads arguments that serde refused, with `1.0` spelt as the integer that it is to their schema.
#[cold]
fn read_in_digits<A: DeserializeOwned>(arguments: &RawValue, error: serde_json::Error) -> Result<A, String> {
    let Some(spelt) = Json::in_digits(arguments) else { return Err(invalid_arguments::reason::<A>(arguments, error)) };
    serde_json::from_str(spelt.get()).map_err(|error| invalid_arguments::reason::<A>(&spelt, error))
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
