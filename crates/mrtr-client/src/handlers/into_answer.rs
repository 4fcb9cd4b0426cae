//! The types that a handler may end in, apart from answers of a person.

use std::error::Error;

/// A type that the handler of a model, of roots or of an application's own input may end in: a `Result` of the answer
/// `A`, with an error if there is none.
///
/// ```
/// use mrtr_client::IntoAnswer;
/// use mrtr_schema::roots::Root;
///
/// fn is_taken<T: IntoAnswer<Vec<Root>>>(_: T) {}
/// is_taken(Ok::<Vec<Root>, std::io::Error>(vec![Root::new("file:///src")]));
/// is_taken(Err::<Vec<Root>, _>("there is no folder"));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be what this handler ends in",
    label = "this handler ends in a `{Self}`",
    note = "it ends in a `Result<{A}, Error>`, such as `Ok::<_, String>(answer)`",
    note = "the error is a `String`, `anyhow::Error`, `Box<dyn std::error::Error + Send + Sync>`, or an error type of your own; `Failure` is for the handlers of servers"
)]
pub trait IntoAnswer<A> {
    /// Turns this into the answer, or into the error that says why there is none.
    fn into_answer(self) -> Result<A, Box<dyn Error + Send + Sync>>;
}

#[diagnostic::do_not_recommend]
impl<A, E: Into<Box<dyn Error + Send + Sync>>> IntoAnswer<A> for Result<A, E> {
    fn into_answer(self) -> Result<A, Box<dyn Error + Send + Sync>> {
        self.map_err(Into::into)
    }
}
