//! A question to a model.

use mrtr_schema::sampling::{CreateMessageParams, CreateMessageRequest, CreateMessageResult};
use mrtr_schema::{Dialect, InputRequest, Wire};
use serde_json::value::RawValue;

use super::{QuestionKind, digest_of, sealed};
use crate::flow::Answered;

/// A question to a model.
///
/// ```
/// # use mrtr_schema::sampling::{CreateMessageParams, SamplingMessage};
/// # use mrtr_flow::Flow;
/// # use mrtr_flow::flow::{Ask, SamplingQuestion};
/// fn capital(flow: &Flow) -> Ask<'_, SamplingQuestion> {
///     flow.sample("capital", CreateMessageParams::new([SamplingMessage::user("The capital of France?")], 100_u64))
/// }
/// ```
#[derive(Debug)]
pub struct SamplingQuestion(CreateMessageParams);

impl SamplingQuestion {
    pub(in crate::flow) fn new(params: CreateMessageParams) -> Self {
        Self(params)
    }
}

impl sealed::Sealed for SamplingQuestion {}

impl QuestionKind for SamplingQuestion {
    type Value = CreateMessageResult;

    fn request(&self, _: Option<&str>) -> Result<InputRequest, String> {
        self.0.check_tool_results().map_err(|error| error.to_string())?;
        Ok(CreateMessageRequest::new(self.0.clone()).into())
    }

    fn read(&self, response: &RawValue, dialect: Dialect) -> Result<Answered<Self::Value>, String> {
        CreateMessageResult::read(response, dialect).map(Answered::Accepted).map_err(|error| error.to_string())
    }

    fn wording(&self) -> u64 {
        digest_of(&self.0)
    }
}
