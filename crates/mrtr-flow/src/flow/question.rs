//! The kinds of question: what each asks, and how its answer is read.

use std::any::TypeId;
use std::hash::{BuildHasher, Hash, Hasher};
use std::marker::PhantomData;

use mrtr_schema::elicitation::{ElicitAction, ElicitFormParams, ElicitRequest, ElicitResult};
use mrtr_schema::namespaced::NamespacedInputRequest;
use mrtr_schema::roots::{ListRootsRequest, ListRootsResult, Root};
use mrtr_schema::sampling::{CreateMessageParams, CreateMessageRequest, CreateMessageResult};
use mrtr_schema::{Dialect, FormError, InputRequest, Json, NamespacedInput, SchemaCheck, Wire};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::Answered;
use crate::engine::ActiveRun;
use crate::engine::context::RunContext;
use crate::engine::environment::KnownForm;
use crate::engine::journal::{Asked, Wording};
use crate::support::echo;

/// A kind of question. Implemented here alone; named in the types of [`Ask`](super::Ask).
///
/// ```
/// # use mrtr_flow::{Failure, FlowError};
/// # use mrtr_flow::flow::{Ask, QuestionKind};
/// /// Works for every kind of question.
/// async fn or_none<Q: QuestionKind + Unpin>(question: Ask<'_, Q>) -> Result<Option<Q::Value>, FlowError> {
///     match question.await {
///         Ok(value) => Ok(Some(value)),
///         Err(FlowError::Declined { .. }) => Ok(None),
///         Err(error) => Err(error),
///     }
/// }
/// ```
pub trait QuestionKind: sealed::Sealed + 'static {
    /// The type of an accepted answer.
    type Value: Send;

    /// Makes the request, with a note on why the last answer would not do.
    #[doc(hidden)]
    fn request(&self, note: Option<&str>) -> Result<InputRequest, String>;

    /// Reads an answer, or says why it is none.
    #[doc(hidden)]
    fn read(&self, response: &RawValue, dialect: Dialect) -> Result<Answered<Self::Value>, String>;

    /// True if its answer makes no sense without the state it was asked with.
    #[doc(hidden)]
    const NEEDS_STATE: bool = false;

    /// Returns a digest of the question, which is the same in every build and on every machine.
    #[doc(hidden)]
    fn wording(&self) -> u64;
}

/// Hashes of a question: two different questions hardly ever have the same.
pub(super) struct Fingerprint {
    /// Differs from that of another question of the same name in this run, whose answer may be of another type.
    pub(super) identity: u64,
    /// The wording that is kept with its answer, for later runs.
    pub(super) wording: Wording,
}

impl Fingerprint {
    pub(super) fn of<Q: QuestionKind>(question: &Q) -> Self {
        let wording = question.wording();
        let mut hasher = foldhash::fast::FixedState::default().build_hasher();
        TypeId::of::<Q>().hash(&mut hasher);
        hasher.write_u64(wording);
        let short = u32::try_from(wording >> 40).expect("24 bits of it");
        Self { identity: hasher.finish(), wording: Wording(short) }
    }

    /// Returns the wording that is kept with the answer.
    pub(super) fn asked(&self) -> Asked {
        Asked { wording: self.wording, pinned: None }
    }
}

pub(super) mod sealed {
    pub trait Sealed {}
}

/// Returns a digest of a value that does not depend on the order of its members: a map of the application's may have
/// another order in each run, and is still the same value.
fn digest_of(value: &impl Serialize) -> u64 {
    let mut text = Vec::new();
    if let Ok(value) = serde_json::to_value(value) {
        write_in_order(&value, &mut text);
    }
    xxh3_64(&text)
}

fn write_in_order(value: &Value, text: &mut Vec<u8>) {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_unstable_by_key(|(name, _)| *name);
            text.push(b'{');
            for (name, value) in members {
                write_in_order(&Value::from(name.as_str()), text);
                write_in_order(value, text);
            }
            text.push(b'}');
        }
        Value::Array(elements) => {
            text.push(b'[');
            for element in elements {
                write_in_order(element, text);
                text.push(b',');
            }
            text.push(b']');
        }
        leaf => text.extend_from_slice(leaf.to_string().as_bytes()),
    }
}

/// Returns a message with the reason why the flow asks again.
pub(super) fn with_note(message: &str, note: Option<&str>) -> String {
    match note {
        Some(note) => format!("{message}\n\n{note}"),
        None => message.to_owned(),
    }
}

/// A type that a form can ask for: every struct of plain fields that can be read from JSON and has a schema. The schema
/// gives the form. The first question with the type shows whether its fields are plain.
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
    note = "a form is made of a struct: write `#[data]` of `mrtr` above it, and above every enum in it",
    note = "a program without `mrtr` writes `#[derive(serde::Deserialize, schemars::JsonSchema)]` instead",
    note = "its fields are texts, numbers, booleans, enums without data, lists of such enums, or `Option`s of these: forms are flat"
)]
pub trait FormType: DeserializeOwned + JsonSchema + Send + 'static {}

// The compiler then names the type that cannot be asked for, and not each trait that it lacks.
#[diagnostic::do_not_recommend]
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
    /// The scopes in which it was asked, from which the id of its interaction follows.
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

    pub(in crate::flow) fn interaction_id(&self, run: &ActiveRun) -> String {
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
