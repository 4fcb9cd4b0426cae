//! A question that an application defines.

use mrtr_schema::namespaced::NamespacedInputRequest;
use mrtr_schema::{Dialect, InputRequest, Json, NamespacedInput, SchemaCheck};
use serde_json::value::RawValue;

use super::{QuestionKind, digest_of, sealed};
use crate::engine::Run;
use crate::flow::Answered;

/// A question that an application defines.
///
/// ```
/// # use mrtr_schema::{Method, NamespacedInput};
/// # use mrtr_flow::Flow;
/// # use mrtr_flow::flow::{Ask, NamespacedQuestion};
/// # struct Seat;
/// # impl NamespacedInput for Seat {
/// #     const METHOD: Method = Method::from_static("com.example/seat");
/// #     type Params = ();
/// #     type Response = u32;
/// # }
/// fn seat(flow: &Flow) -> Ask<'_, NamespacedQuestion<Seat>> {
///     flow.ask::<Seat>("seat", ())
/// }
/// ```
pub struct NamespacedQuestion<I: NamespacedInput> {
    params: I::Params,
    /// Where it was asked, from which the id of its interaction follows.
    scopes: String,
    name: String,
}

impl<I: NamespacedInput> NamespacedQuestion<I> {
    pub(in crate::flow) fn new(params: I::Params, scopes: String, name: String) -> Self {
        Self { params, scopes, name }
    }

    pub(in crate::flow) fn params(&self) -> &I::Params {
        &self.params
    }

    pub(in crate::flow) fn interaction_id(&self, run: &Run) -> String {
        run.interaction_id(&self.scopes, &self.name)
    }
}

impl<I: NamespacedInput> std::fmt::Debug for NamespacedQuestion<I> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "NamespacedQuestion({})", I::METHOD)
    }
}

impl<I: NamespacedInput> sealed::Sealed for NamespacedQuestion<I> {}

impl<I: NamespacedInput + 'static> QuestionKind for NamespacedQuestion<I>
where
    I::Response: Send,
{
    type Value = I::Response;

    const NEEDS_STATE: bool = true;

    fn request(&self, note: Option<&str>) -> Result<InputRequest, String> {
        // An answer that cannot be checked is not asked for.
        SchemaCheck::of::<I::Response>().map_err(|error| error.to_string())?;
        let request = NamespacedInputRequest::ask::<I>(&self.params).map_err(|error| error.to_string())?;
        Ok(match note {
            Some(reason) => request.because(reason),
            None => request,
        }
        .into())
    }

    fn read(&self, response: &RawValue, _: Dialect) -> Result<Answered<Self::Value>, String> {
        let check = SchemaCheck::of::<I::Response>().map_err(|error| error.to_string())?;
        check.check(response).map_err(|violations| violations.to_string())?;
        let read = serde_json::from_str(response.get()).or_else(|error| match Json::in_digits(response) {
            Some(spelt) => serde_json::from_str(spelt.get()),
            None => Err(error),
        });
        read.map(Answered::Accepted).map_err(|error| error.to_string())
    }

    fn wording(&self) -> u64 {
        digest_of(&(I::METHOD.as_str(), &self.params))
    }
}
