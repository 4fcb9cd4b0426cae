//! Results: complete ones, interim ones that ask for input, and those that extensions define.

use mrtr_macros::Wire;
use schemars::{Schema, json_schema};
use serde::Serializer;
use serde::ser::{Error, SerializeMap};
use serde_json::value::RawValue;

use crate::error::ReadError;
use crate::json::{Members, RawMembers};
use crate::revision::{Dialect, Feature, Revision};
use crate::types::input::{InputRequest, InputRequests};
use crate::types::meta::ResultMeta;
use crate::types::request_state::RequestState;
use crate::wire::schema::Definitions;
use crate::wire::{Wire, WireObject, serde_at_published_revision, wire_text};

/// The kind of a result. Open: an extension may define further kinds.
///
/// ```
/// use mrtr_schema::result::ResultType;
///
/// let task: ResultType = serde_json::from_str(r#""task""#)?;
/// assert!(matches!(task, ResultType::Extension(word) if word.as_str() == "task"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ResultType {
    /// The request is done. An absent `resultType` means this.
    #[default]
    Complete,
    /// More input is needed.
    InputRequired,
    /// A kind of result that an extension defines. Both sides declared the extension.
    Extension(ExtensionType),
}

impl ResultType {
    /// Returns the kind of a result, by its members: nothing else of it is read.
    ///
    /// ```
    /// use mrtr_schema::{RawMembers, Revision};
    /// use mrtr_schema::result::ResultType;
    ///
    /// let result = RawMembers::parse(r#"{"requestState": "sealed"}"#)?;
    /// assert_eq!(ResultType::of(&result, Revision::Draft202602.strict())?, ResultType::InputRequired);
    /// assert_eq!(ResultType::of(&result, Revision::V2026_07_28.strict())?, ResultType::Complete);
    /// # Ok::<(), mrtr_schema::ReadError>(())
    /// ```
    pub fn of(members: &RawMembers<'_>, dialect: Dialect) -> Result<Self, ReadError> {
        if !dialect.revision.has(Feature::ResultType) {
            let is_told = dialect.revision.has(Feature::InterimByFields);
            let interim = is_told && members.get("inputRequests").or(members.get("requestState")).is_some();
            return Ok(if interim { Self::InputRequired } else { Self::Complete });
        }
        match members.get("resultType") {
            Some(word) => Self::read(word, dialect).map_err(|error| error.in_member("resultType")),
            None => Ok(Self::default()),
        }
    }

    /// Returns the `resultType` as the wire spells it.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Complete => COMPLETE,
            Self::InputRequired => INPUT_REQUIRED,
            Self::Extension(word) => word.as_str(),
        }
    }
}

impl Wire for ResultType {
    const NAME: Option<&'static str> = Some("ResultType");
    const WHEN: Option<Feature> = Some(Feature::ResultType);

    fn read(value: &RawValue, dialect: Dialect) -> Result<Self, ReadError> {
        match String::read(value, dialect)? {
            word if word == COMPLETE => Ok(Self::Complete),
            word if word == INPUT_REQUIRED => Ok(Self::InputRequired),
            word if dialect.revision.has(Feature::ResultTypeExtensions) => {
                ExtensionType::new(word).map(Self::Extension)
            }
            word => Err(ReadError::not_one_of(&word, &[COMPLETE, INPUT_REQUIRED])),
        }
    }

    fn write<S: Serializer>(&self, revision: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Extension(word) if !revision.has(Feature::ResultTypeExtensions) => Err(not_in(word, revision)),
            word => serializer.serialize_str(word.as_str()),
        }
    }

    fn schema(definitions: &mut Definitions) -> Schema {
        let about = "What a result is.";
        if definitions.dialect().revision.has(Feature::ResultTypeExtensions) {
            json_schema!({ "description": about, "type": "string" })
        } else {
            json_schema!({ "description": about, "type": "string", "enum": [COMPLETE, INPUT_REQUIRED] })
        }
    }

    #[cfg(feature = "proptest")]
    fn any_value(revision: Revision) -> proptest::strategy::BoxedStrategy<Self> {
        use proptest::prelude::*;
        let mut words = vec![Self::Complete, Self::InputRequired];
        if revision.has(Feature::ResultTypeExtensions) {
            words.push(Self::Extension(ExtensionType("task".to_owned())));
        }
        proptest::sample::select(words).boxed()
    }
}

serde_at_published_revision!(ResultType);

/// The `resultType` of a result that is complete.
///
/// ```
/// use mrtr_schema::CallToolResult;
/// use mrtr_schema::result::CompleteType;
///
/// let result: CallToolResult = serde_json::from_str(r#"{"content": []}"#)?;
/// assert_eq!(result.result_type, CompleteType::Complete, "what an absent `resultType` means");
/// assert!(serde_json::from_str::<CompleteType>(r#""input_required""#).is_err());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Wire)]
#[expect(clippy::exhaustive_enums, reason = "a result of another kind is another type")]
pub enum CompleteType {
    /// The request is done.
    #[default]
    Complete,
}

/// The `resultType` of a result that asks for input.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Wire)]
enum InputRequiredType {
    #[default]
    #[wire(rename = "input_required")]
    InputRequired,
}

/// An interim result: what the server needs, what it wants carried, or both; never neither (TY-3).
///
/// ```
/// use mrtr_schema::{InputRequiredResult, RequestState};
/// use mrtr_schema::roots::ListRootsRequest;
///
/// let interim = InputRequiredResult::ask("client_roots", ListRootsRequest::new()).and_carry(RequestState::new("sealed"));
/// assert_eq!(interim.input_requests().count(), 1);
/// assert!(interim.request_state().is_some());
/// assert!(serde_json::from_str::<InputRequiredResult>(r#"{"resultType": "input_required"}"#).is_err());
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct InputRequiredResult(Interim);

impl InputRequiredResult {
    /// Asks for an input.
    pub fn ask(key: impl Into<String>, request: impl Into<InputRequest>) -> Self {
        Self(Interim::default()).and_ask(key, request)
    }

    /// Asks for nothing: the client carries the state and retries (SV-13).
    pub fn carry(state: RequestState) -> Self {
        Self(Interim::default()).and_carry(state)
    }

    /// Makes a result of requests and a state, or `None` where there is neither.
    ///
    /// ```
    /// use mrtr_schema::{InputRequests, InputRequiredResult, RequestState};
    ///
    /// assert!(InputRequiredResult::from_parts(InputRequests::default(), None).is_none());
    /// let state = RequestState::new("sealed");
    /// let interim = InputRequiredResult::from_parts(InputRequests::default(), Some(state.clone())).unwrap();
    /// assert_eq!(interim.into_parts().1, Some(state));
    /// ```
    pub fn from_parts(requests: InputRequests, state: Option<RequestState>) -> Option<Self> {
        let input_requests = Some(requests).filter(|requests| !requests.is_empty());
        let interim = Interim { input_requests, request_state: state, ..Interim::default() };
        interim.is_allowed().then_some(Self(interim))
    }

    /// Asks for one more input.
    #[must_use]
    pub fn and_ask(mut self, key: impl Into<String>, request: impl Into<InputRequest>) -> Self {
        self.0.input_requests.get_or_insert_default().insert(key, request);
        self
    }

    /// Has the client carry this state.
    #[must_use]
    pub fn and_carry(mut self, state: RequestState) -> Self {
        self.0.request_state = Some(state);
        self
    }

    /// Returns the inputs that the server asks for, by key.
    pub fn input_requests(&self) -> impl Iterator<Item = (&str, &InputRequest)> {
        self.0.input_requests.iter().flat_map(InputRequests::iter)
    }

    /// Returns the state that the client is to echo.
    pub fn request_state(&self) -> Option<&RequestState> {
        self.0.request_state.as_ref()
    }

    /// Metadata.
    pub fn meta(&self) -> Option<&ResultMeta> {
        self.0.meta.as_ref()
    }

    /// Returns the metadata, to be set.
    pub fn meta_mut(&mut self) -> &mut Option<ResultMeta> {
        &mut self.0.meta
    }

    /// Takes the result apart: the inputs that the server asks for, and the state to echo.
    pub fn into_parts(self) -> (InputRequests, Option<RequestState>) {
        (self.0.input_requests.unwrap_or_default(), self.0.request_state)
    }
}

/// The members of an interim result, any of which may be absent by themselves.
#[derive(Debug, Clone, Default, PartialEq, Wire)]
#[wire(name = "InputRequiredResult", when = Feature::InterimResults)]
struct Interim {
    /// Says that the result is an interim one.
    #[wire(when = Feature::ResultType)]
    result_type: InputRequiredType,
    /// The inputs that the client must answer before it retries.
    input_requests: Option<InputRequests>,
    /// The state that the client must echo when it retries: opaque.
    request_state: Option<RequestState>,
    /// Metadata.
    #[wire(rename = "_meta")]
    meta: Option<ResultMeta>,
    /// Members that this type does not name.
    #[wire(extra)]
    extra: Members,
}

impl Interim {
    fn is_allowed(&self) -> bool {
        self.request_state.is_some() || self.input_requests.as_ref().is_some_and(|requests| !requests.is_empty())
    }
}

impl Wire for InputRequiredResult {
    const NAME: Option<&'static str> = Interim::NAME;
    const WHEN: Option<Feature> = Interim::WHEN;

    fn read(value: &RawValue, dialect: Dialect) -> Result<Self, ReadError> {
        Self::read_members(RawMembers::of(value)?, dialect)
    }

    fn write<S: Serializer>(&self, revision: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.write(revision, serializer)
    }

    fn schema(definitions: &mut Definitions) -> Schema {
        let mut schema = Interim::schema(definitions);
        let about = "An interim result: what the server needs, what it wants carried, or both; never neither.";
        schema.insert("description".to_owned(), about.into());
        let asks = serde_json::json!({
            "properties": { "inputRequests": { "minProperties": 1 } },
            "required": ["inputRequests"],
        });
        schema.insert("anyOf".to_owned(), serde_json::json!([asks, { "required": ["requestState"] }]));
        schema
    }

    #[cfg(feature = "proptest")]
    fn any_value(revision: Revision) -> proptest::strategy::BoxedStrategy<Self> {
        use proptest::prelude::*;
        Interim::any_value(revision).prop_filter("never empty", Interim::is_allowed).prop_map(Self).boxed()
    }
}

impl WireObject for InputRequiredResult {
    fn read_members(members: RawMembers<'_>, dialect: Dialect) -> Result<Self, ReadError> {
        let interim = Interim::read_members(members, dialect)?;
        if !interim.is_allowed() {
            return Err(ReadError::refused("has neither `inputRequests` nor `requestState`"));
        }
        Ok(Self(interim))
    }

    fn write_members<M: SerializeMap>(&self, revision: Revision, map: &mut M) -> Result<(), M::Error> {
        self.0.write_members(revision, map)
    }
}

serde_at_published_revision!(InputRequiredResult);

/// The result of a request that may ask for input first.
///
/// Reading tells the kind by `resultType`; in `draft-2026-02`, which has none, by the members of an interim result
/// (TY-5).
///
/// ```
/// use mrtr_schema::{CallToolResult, MethodResult, Revision, Wire};
///
/// let interim = r#"{"requestState": "sealed"}"#;
/// let read = MethodResult::<CallToolResult>::from_json(interim, Revision::Draft202602.strict())?;
/// assert!(matches!(read, MethodResult::InputRequired(_)));
/// # Ok::<(), mrtr_schema::ReadError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum MethodResult<T> {
    /// The request is done.
    Complete(T),
    /// More input is needed.
    InputRequired(InputRequiredResult),
    /// A result that an extension defines. Invalid unless both sides declared it (TY-4).
    Extension(ExtensionResult),
}

impl<T> From<InputRequiredResult> for MethodResult<T> {
    fn from(result: InputRequiredResult) -> Self {
        Self::InputRequired(result)
    }
}

serde_at_published_revision!(MethodResult<T: WireObject>);

impl<T: WireObject> Wire for MethodResult<T> {
    const NAME: Option<&'static str> = None;

    fn read(value: &RawValue, dialect: Dialect) -> Result<Self, ReadError> {
        let members = RawMembers::of(value)?;
        match ResultType::of(&members, dialect)? {
            ResultType::Complete => T::read_members(members, dialect).map(Self::Complete),
            ResultType::InputRequired => WireObject::read_members(members, dialect).map(Self::InputRequired),
            ResultType::Extension(_) => WireObject::read_members(members, dialect).map(Self::Extension),
        }
    }

    fn write<S: Serializer>(&self, revision: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Complete(result) => result.write(revision, serializer),
            Self::InputRequired(result) if revision.has(Feature::InterimResults) => result.write(revision, serializer),
            Self::InputRequired(_) => Err(S::Error::custom(format_args!("{revision} has no interim results"))),
            Self::Extension(result) if revision.has(Feature::ResultTypeExtensions) => {
                result.write(revision, serializer)
            }
            Self::Extension(result) => Err(not_in(&result.result_type, revision)),
        }
    }

    fn schema(definitions: &mut Definitions) -> Schema {
        let mut complete = definitions.reference::<T>();
        if definitions.dialect().revision.has(Feature::InterimByFields) {
            let interim = serde_json::json!([{ "required": ["inputRequests"] }, { "required": ["requestState"] }]);
            complete.insert("not".to_owned(), serde_json::json!({ "anyOf": interim }));
        }
        if !definitions.dialect().revision.has(Feature::InterimResults) {
            return complete;
        }
        let mut kinds = vec![definitions.reference::<InputRequiredResult>(), complete];
        if definitions.dialect().revision.has(Feature::ResultTypeExtensions) {
            kinds.push(definitions.reference::<ExtensionResult>());
        }
        json_schema!({ "anyOf": kinds })
    }

    #[cfg(feature = "proptest")]
    fn any_value(revision: Revision) -> proptest::strategy::BoxedStrategy<Self> {
        use proptest::prelude::*;
        let mut kinds = vec![T::any_value(revision).prop_map(Self::Complete).boxed()];
        if revision.has(Feature::InterimResults) {
            kinds.push(InputRequiredResult::any_value(revision).prop_map(Self::InputRequired).boxed());
        }
        if revision.has(Feature::ResultTypeExtensions) {
            kinds.push(ExtensionResult::any_value(revision).prop_map(Self::Extension).boxed());
        }
        proptest::strategy::Union::new(kinds).boxed()
    }
}

fn not_in<E: Error>(word: &ExtensionType, revision: Revision) -> E {
    E::custom(format_args!("`{}` is not a `resultType` of {revision}", word.as_str()))
}

/// A result that an extension defines.
///
/// ```
/// use mrtr_schema::{CallToolResult, MethodResult};
///
/// let read: MethodResult<CallToolResult> = serde_json::from_str(r#"{"resultType": "task", "taskId": "t-1"}"#)?;
/// let MethodResult::Extension(result) = read else { panic!("an extension's") };
/// assert_eq!(result.extra.get("taskId").unwrap().as_text().unwrap(), "t-1");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "ExtensionResult", when = Feature::ResultTypeExtensions, open)]
#[non_exhaustive]
pub struct ExtensionResult {
    /// The kind of the result, as the extension names it.
    pub result_type: ExtensionType,
    /// Metadata.
    #[wire(rename = "_meta")]
    pub meta: Option<ResultMeta>,
    /// The members that the extension defines.
    #[wire(extra)]
    pub extra: Members,
}

/// A `resultType` that an extension defines.
///
/// ```
/// use mrtr_schema::result::ExtensionType;
///
/// assert_eq!(ExtensionType::new("task")?.as_str(), "task");
/// assert!(ExtensionType::new("complete").is_err(), "the protocol's own");
/// # Ok::<(), mrtr_schema::ReadError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ExtensionType(String);

impl ExtensionType {
    /// Takes the name of a kind of result, which must not be one of the protocol's own.
    pub fn new(word: impl Into<String>) -> Result<Self, ReadError> {
        let word = word.into();
        if word == COMPLETE || word == INPUT_REQUIRED {
            return Err(ReadError::refused(format!("`{word}` is not a result type of an extension")));
        }
        Ok(Self(word))
    }

    /// Returns the `resultType` as the wire spells it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

wire_text!(
    ExtensionType,
    Self::new,
    json_schema!({ "type": "string", "not": { "enum": [COMPLETE, INPUT_REQUIRED] } }),
    crate::wire::arbitrary::text().prop_map(Self).boxed()
);

/// A result of which only the common members are known.
///
/// ```
/// use mrtr_schema::{Revision, Wire};
/// use mrtr_schema::result::AnyResult;
///
/// assert_eq!(AnyResult::new().to_json(Revision::Draft202602)?, "{}");
/// assert_eq!(AnyResult::new().to_json(Revision::V2026_07_28)?, r#"{"resultType":"complete"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Wire)]
#[wire(name = "Result", open)]
#[non_exhaustive]
pub struct AnyResult {
    /// The kind of the result.
    #[wire(when = Feature::ResultType, lenient)]
    pub result_type: ResultType,
    /// Metadata.
    #[wire(rename = "_meta")]
    pub meta: Option<ResultMeta>,
    /// The rest of it.
    #[wire(extra)]
    pub extra: Members,
}

const COMPLETE: &str = "complete";
const INPUT_REQUIRED: &str = "input_required";
