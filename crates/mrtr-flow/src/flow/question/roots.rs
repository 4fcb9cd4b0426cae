//! A question for the client's roots.

use mrtr_schema::roots::{ListRootsRequest, ListRootsResult, Root};
use mrtr_schema::{Dialect, InputRequest, Wire};
use serde_json::value::RawValue;

use super::{QuestionKind, sealed};
use crate::flow::Answered;

/// A question for the client's roots.
///
/// ```
/// # use mrtr_flow::Flow;
/// # use mrtr_flow::flow::{Ask, RootsQuestion};
/// fn roots(flow: &Flow) -> Ask<'_, RootsQuestion> {
///     flow.roots("roots")
/// }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct RootsQuestion;

impl sealed::Sealed for RootsQuestion {}

impl QuestionKind for RootsQuestion {
    type Value = Vec<Root>;

    fn request(&self, _: Option<&str>) -> Result<InputRequest, String> {
        Ok(ListRootsRequest::new().into())
    }

    fn read(&self, response: &RawValue, dialect: Dialect) -> Result<Answered<Self::Value>, String> {
        let result = ListRootsResult::read(response, dialect).map_err(|error| error.to_string())?;
        Ok(Answered::Accepted(result.roots))
    }

    fn wording(&self) -> u64 {
        // There is one way to ask for roots.
        0
    }
}
