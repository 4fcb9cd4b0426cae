//! Questions to a person, as a handler sees them, and what it may answer.

use mrtr_schema::{ElicitAction, ElicitFormParams, ElicitResult, ElicitUrlParams, Form, JsonObject, ReadError};
use serde::Serialize;
use serde_json::{Map, Value};

use super::{Asking, Unanswered};

/// A form for a person to fill in.
///
/// Show who is asking, and in the middle of what, along with the message: it is the server's word, not yours.
#[derive(Debug, Clone)]
pub struct FormRequest {
    params: ElicitFormParams,
    asking: Asking,
}

impl FormRequest {
    pub(crate) fn new(params: ElicitFormParams, asking: Asking) -> Self {
        Self { params, asking }
    }

    /// What the server wants to know.
    pub fn message(&self) -> &str {
        &self.params.message
    }

    /// The fields.
    pub fn form(&self) -> &Form {
        &self.params.requested_schema
    }

    /// Who is asking.
    pub fn asking(&self) -> &Asking {
        &self.asking
    }

    /// The form, filled in. Fields that are left out get their defaults; whether it fits is checked before it is sent.
    pub fn accept<T: Serialize + ?Sized>(&self, content: &T) -> Result<ElicitResult, ReadError> {
        JsonObject::of(content).map(ElicitResult::accept)
    }

    /// The person said no.
    pub fn decline(&self) -> ElicitResult {
        ElicitResult::decline()
    }

    /// The person went away without an answer.
    pub fn cancel(&self) -> ElicitResult {
        ElicitResult::cancel()
    }
}

/// A URL for a person to visit.
///
/// Show the whole of it and who asks, open it only if the person agrees, and never before (EL-3).
#[derive(Debug, Clone)]
pub struct UrlRequest {
    params: ElicitUrlParams,
    asking: Asking,
}

impl UrlRequest {
    pub(crate) fn new(params: ElicitUrlParams, asking: Asking) -> Self {
        Self { params, asking }
    }

    /// Why the person should go there.
    pub fn message(&self) -> &str {
        &self.params.message
    }

    /// Where to.
    pub fn url(&self) -> &str {
        self.params.url.as_str()
    }

    /// Who is asking.
    pub fn asking(&self) -> &Asking {
        &self.asking
    }

    /// The person agreed to go there. Whether they did, the server finds out by itself.
    pub fn consent(&self) -> ElicitResult {
        ElicitResult::new(ElicitAction::Accept)
    }

    /// The person said no.
    pub fn decline(&self) -> ElicitResult {
        ElicitResult::decline()
    }

    /// The person went away without an answer.
    pub fn cancel(&self) -> ElicitResult {
        ElicitResult::cancel()
    }
}

/// What a handler may answer a question to a person with: what the person did, or an error if nobody was asked.
pub trait IntoElicitResult {
    /// What the person did.
    fn into_elicit_result(self) -> Result<ElicitResult, Box<dyn std::error::Error + Send + Sync>>;
}

impl IntoElicitResult for ElicitResult {
    fn into_elicit_result(self) -> Result<ElicitResult, Box<dyn std::error::Error + Send + Sync>> {
        Ok(self)
    }
}

impl<E: Into<Box<dyn std::error::Error + Send + Sync>>> IntoElicitResult for Result<ElicitResult, E> {
    fn into_elicit_result(self) -> Result<ElicitResult, Box<dyn std::error::Error + Send + Sync>> {
        self.map_err(Into::into)
    }
}

/// An accepted answer with its defaults, once it is seen to fit.
pub(super) fn completed(mut answer: ElicitResult, form: &Form) -> Result<ElicitResult, Unanswered> {
    if answer.action != ElicitAction::Accept {
        answer.content = None;
        return Ok(answer);
    }
    let given = answer.content.as_ref().map(|content| content.as_object().clone()).unwrap_or_default();
    let content = with_defaults(&given, form)?;
    form.check(&content).map_err(Unanswered::Unfit)?;
    answer.content = ElicitResult::accept(content).content;
    Ok(answer)
}

fn with_defaults(given: &JsonObject, form: &Form) -> Result<JsonObject, Unanswered> {
    let defaults: Map<String, Value> = form
        .fields()
        .filter(|(name, _)| given.get(name).is_none())
        .filter_map(|(name, field)| {
            let field: Value = serde_json::to_value(field).ok()?;
            Some((name.to_owned(), field.get("default")?.clone()))
        })
        .collect();
    if defaults.is_empty() {
        return Ok(given.clone());
    }
    let mut members: Map<String, Value> = given.to()?;
    members.extend(defaults);
    Ok(members.into())
}
