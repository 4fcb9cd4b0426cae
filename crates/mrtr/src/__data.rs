//! The check of `#[data]` on the types in a type. No part of the API.

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A type that can be inside a type with `#[data]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is in a type with `#[data]`, and is no such type itself",
    label = "write `#[data]` above `{Self}`, too",
    note = "a type of another crate has to implement `Serialize`, `Deserialize` and `JsonSchema`: look whether it has features for serde and schemars"
)]
pub trait Data {}

// The compiler then names the type, and not each trait that it lacks.
#[diagnostic::do_not_recommend]
impl<T: Serialize + DeserializeOwned + JsonSchema> Data for T {}

/// Compiles only for such a type.
pub fn is_data<T: Data>() {}
