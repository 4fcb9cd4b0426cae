//! Code that was added to the server, whose panics stay its own.

use std::pin::Pin;

use mrtr_schema::ErrorObject;

use crate::engine::{Contained, Panicked};
use crate::error::internal_error;
use crate::support::echo;

/// Runs code that was added to the server. If it panics, the caller gets an internal error, and the log the rest. It
/// stands in a box, so that nothing large is moved.
pub(crate) async fn contained<T>(
    who: &str,
    code: Pin<Box<dyn Future<Output = T> + Send + '_>>,
) -> Result<T, ErrorObject> {
    Contained::new(code).await.map_err(|Panicked(text)| {
        tracing::error!(who, panic = &*echo::logged(&text), "what was added to the server panicked");
        internal_error()
    })
}
