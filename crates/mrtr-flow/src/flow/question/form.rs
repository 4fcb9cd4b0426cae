//! A form for a person.

use std::marker::PhantomData;

use mrtr_schema::elicitation::{ElicitAction, ElicitFormParams, ElicitRequest, ElicitResult};
use mrtr_schema::{Dialect, FormError, InputRequest, Wire};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::{QuestionKind, sealed, with_note};
use crate::engine::context::RunContext;
use crate::engine::environment::KnownForm;
use crate::flow::Answered;
use crate::support::echo;

/// What a form can ask for: every struct of plain fields that can be read from JSON and has a schema, from which the form
/// is made. Whether its fields are plain is known when it is first asked for.
///
/// ```
/// use mrtr_flow::flow::FormType;
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Login { name: String }
///
/// fn is_form<T: FormType>() {}
/// is_form::<Login>();
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be asked for with a form",
    label = "a form is made from this type",
    note = "a form is a struct with `#[derive(serde::Deserialize, schemars::JsonSchema)]`, and so is every enum in it",
    note = "its fields are texts, numbers, booleans, enums without data, lists of such enums, or `Option`s of these: forms are flat"
)]
pub trait FormType: DeserializeOwned + JsonSchema + Send + 'static {}

impl<T: DeserializeOwned + JsonSchema + Send + 'static> FormType for T {}

/// A form for a person.
///
/// ```
/// # use mrtr_flow::Flow;
/// # use mrtr_flow::flow::{Ask, FormQuestion};
/// # #[derive(serde::Deserialize, schemars::JsonSchema)] struct Login { name: String }
/// fn login(flow: &Flow) -> Ask<'_, FormQuestion<Login>> {
///     flow.elicit("login", "Who are you?")
/// }
/// ```
#[derive(Debug)]
pub struct FormQuestion<T> {
    message: String,
    form: Result<KnownForm, FormError>,
    answer: PhantomData<fn() -> T>,
}

impl<T: JsonSchema + 'static> FormQuestion<T> {
    pub(in crate::flow) fn new(context: &RunContext, message: String) -> Self {
        Self { message, form: context.environment.forms.of::<T>(), answer: PhantomData }
    }
}

impl<T> sealed::Sealed for FormQuestion<T> {}

impl<T: FormType> QuestionKind for FormQuestion<T> {
    type Value = T;

    fn request(&self, note: Option<&str>) -> Result<InputRequest, String> {
        let form = self.form.as_ref().map_err(ToString::to_string)?.form.clone();
        let message = with_note(&self.message, note);
        Ok(ElicitRequest::new(ElicitFormParams::ask(message, form)).into())
    }

    fn read(&self, response: &RawValue, dialect: Dialect) -> Result<Answered<T>, String> {
        let plain = self.form.as_ref().ok().and_then(|known| known.form.plain_answer(response));
        if let Some(value) = plain.and_then(|content| serde_json::from_str(content.get()).ok()) {
            return Ok(Answered::Accepted(value));
        }
        let result = ElicitResult::read(response, dialect).map_err(|error| error.to_string())?;
        match result.action {
            ElicitAction::Decline => Ok(Answered::Declined),
            ElicitAction::Cancel => Ok(Answered::Cancelled),
            ElicitAction::Accept => {
                let form = &self.form.as_ref().map_err(ToString::to_string)?.form;
                let content = result.content.ok_or("the form was not filled in")?;
                let content = content.as_object();
                form.check(content).map_err(|violations| violations.to_string())?;
                // A type may have an opinion of its own, and quote what it read in it.
                let answered = form.answer(content).map(Answered::Accepted);
                answered.map_err(|error| echo::sentence(&error.to_string()).into_owned())
            }
        }
    }

    fn wording(&self) -> u64 {
        let form = self.form.as_ref().map_or(0, |form| form.digest);
        xxh3_64_with_seed(self.message.as_bytes(), form)
    }
}
