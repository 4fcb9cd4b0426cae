//! Input requests and responses: the server's questions in the middle of a request, and the answers in the retry.

mod in_revision;

use indexmap::IndexMap;
use mrtr_macros::Wire;
use schemars::{Schema, json_schema};
use serde::Serializer;
use serde::ser::{Error, SerializeMap};
use serde_json::value::RawValue;

use crate::error::ReadError;
use crate::json::{JsonObject, Members, RawMembers};
use crate::revision::{Dialect, Feature, Revision};
use crate::types::elicitation::{ElicitFormParams, ElicitParams, ElicitRequest, ElicitResult, ElicitUrlParams};
use crate::types::meta::RequestMeta;
use crate::types::namespaced::{Method, NamespacedInputRequest};
use crate::types::request_state::RequestState;
use crate::types::roots::{ListRootsRequest, ListRootsResult};
use crate::types::sampling::{CreateMessageParams, CreateMessageRequest, CreateMessageResult};
use crate::wire::schema::Definitions;
use crate::wire::{Wire, WireObject, serde_at_published_revision, write_object};

/// One thing that a server asks for; `method` tells which kind it is.
///
/// ```
/// use mrtr_schema::{InputRequest, Revision, Wire};
///
/// let roots = r#"{"method": "roots/list"}"#;
/// assert!(matches!(InputRequest::from_json(roots, Revision::V2026_07_28.strict()), Ok(InputRequest::Roots(_))));
/// assert!(InputRequest::from_json(roots, Revision::Draft202602.strict()).is_err());
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum InputRequest {
    /// A question to a person.
    Elicit(ElicitRequest),
    /// A question to a model.
    Sample(CreateMessageRequest),
    /// The client's roots.
    Roots(ListRootsRequest),
    /// An input that an application defines.
    Namespaced(NamespacedInputRequest),
    /// A request for an input whose method the revision does not have. Only read leniently, and never written: a client
    /// skips it and answers the rest (NS-3).
    Unknown(UnknownInputRequest),
}

impl InputRequest {
    /// The method on the wire.
    pub fn method(&self) -> &str {
        match self {
            Self::Elicit(_) => ELICIT,
            Self::Sample(_) => SAMPLE,
            Self::Roots(_) => ROOTS,
            Self::Namespaced(request) => request.method.as_str(),
            Self::Unknown(request) => &request.method,
        }
    }

    /// Returns the kind, with the parameters of the question.
    #[doc(hidden)]
    pub fn kind(&self) -> InputKind<'_> {
        match self {
            Self::Elicit(request) => match &request.params {
                ElicitParams::Form(params) => InputKind::Form(params),
                ElicitParams::Url(params) => InputKind::Url(params),
            },
            Self::Sample(request) => InputKind::Sample(&request.params),
            Self::Roots(_) => InputKind::Roots,
            Self::Namespaced(request) => InputKind::Namespaced(request),
            Self::Unknown(request) => InputKind::Unknown(request),
        }
    }

    /// Takes the request apart by its kind.
    #[doc(hidden)]
    pub fn into_kind(self) -> OwnedInputKind {
        match self {
            Self::Elicit(request) => match request.params {
                ElicitParams::Form(params) => OwnedInputKind::Form(params),
                ElicitParams::Url(params) => OwnedInputKind::Url(params),
            },
            Self::Sample(request) => OwnedInputKind::Sample(request.params),
            Self::Roots(_) => OwnedInputKind::Roots,
            Self::Namespaced(request) => OwnedInputKind::Namespaced(request),
            Self::Unknown(request) => OwnedInputKind::Unknown(request),
        }
    }
}

/// All kinds of input. Code of this workspace that decides by the kind matches this enum, so that the compiler finds
/// each place where a new kind is missing. It is no part of this crate's API, since a revision may add a kind at any
/// time.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::exhaustive_enums, reason = "that is what it is for")]
#[doc(hidden)]
pub enum InputKind<'a> {
    /// A form for a person.
    Form(&'a ElicitFormParams),
    /// A URL that a person is to visit.
    Url(&'a ElicitUrlParams),
    /// A question to a model.
    Sample(&'a CreateMessageParams),
    /// The client's roots.
    Roots,
    /// An input that an application defines.
    Namespaced(&'a NamespacedInputRequest),
    /// A request for an input whose method the revision does not have.
    Unknown(&'a UnknownInputRequest),
}

/// [`InputKind`], with the parameters by value.
#[derive(Debug, Clone)]
#[expect(clippy::exhaustive_enums, reason = "that is what it is for")]
#[doc(hidden)]
pub enum OwnedInputKind {
    /// A form for a person.
    Form(ElicitFormParams),
    /// A URL that a person is to visit.
    Url(ElicitUrlParams),
    /// A question to a model.
    Sample(CreateMessageParams),
    /// The client's roots.
    Roots,
    /// An input that an application defines.
    Namespaced(NamespacedInputRequest),
    /// A request for an input whose method the revision does not have.
    Unknown(UnknownInputRequest),
}

impl Wire for InputRequest {
    const NAME: Option<&'static str> = Some("InputRequest");
    const WHEN: Option<Feature> = Some(Feature::InterimResults);

    fn read(value: &RawValue, dialect: Dialect) -> Result<Self, ReadError> {
        Self::read_members(RawMembers::of(value)?, dialect)
    }

    fn write<S: Serializer>(&self, revision: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        write_object(self, revision, serializer)
    }

    fn schema(definitions: &mut Definitions) -> Schema {
        let revision = definitions.dialect().revision;
        let mut kinds = vec![definitions.reference::<ElicitRequest>(), definitions.reference::<CreateMessageRequest>()];
        if revision.has(Feature::RootsAsInput) {
            kinds.push(definitions.reference::<ListRootsRequest>());
        }
        if revision.has(Feature::NamespacedInputs) {
            kinds.push(definitions.reference::<NamespacedInputRequest>());
        }
        if !definitions.dialect().strict {
            kinds.push(UnknownInputRequest::schema(definitions));
        }
        json_schema!({ "description": "One thing that a server asks for.", "anyOf": kinds })
    }

    #[cfg(feature = "proptest")]
    fn any_value(revision: Revision) -> proptest::strategy::BoxedStrategy<Self> {
        use proptest::prelude::*;
        let mut kinds = vec![
            ElicitRequest::any_value(revision).prop_map(Self::Elicit).boxed(),
            CreateMessageRequest::any_value(revision).prop_map(Self::Sample).boxed(),
        ];
        if revision.has(Feature::RootsAsInput) {
            kinds.push(ListRootsRequest::any_value(revision).prop_map(Self::Roots).boxed());
        }
        if revision.has(Feature::NamespacedInputs) {
            kinds.push(NamespacedInputRequest::any_value(revision).prop_map(Self::Namespaced).boxed());
        }
        proptest::strategy::Union::new(kinds).boxed()
    }
}

impl WireObject for InputRequest {
    fn read_members(members: RawMembers<'_>, dialect: Dialect) -> Result<Self, ReadError> {
        let revision = dialect.revision;
        let method = members.tag("method")?;
        match &*method {
            ELICIT => WireObject::read_members(members, dialect).map(Self::Elicit),
            SAMPLE => WireObject::read_members(members, dialect).map(Self::Sample),
            ROOTS if revision.has(Feature::RootsAsInput) => WireObject::read_members(members, dialect).map(Self::Roots),
            other
                if revision.has(Feature::NamespacedInputs)
                    && (dialect.strict || Method::new(other.to_owned()).is_ok()) =>
            {
                WireObject::read_members(members, dialect).map(Self::Namespaced)
            }
            _ if !dialect.strict => WireObject::read_members(members, dialect).map(Self::Unknown),
            other if revision.has(Feature::RootsAsInput) => {
                Err(ReadError::not_one_of(other, &[ELICIT, SAMPLE, ROOTS]).in_member("method"))
            }
            other => Err(ReadError::not_one_of(other, &[ELICIT, SAMPLE]).in_member("method")),
        }
    }

    fn write_members<M: SerializeMap>(&self, revision: Revision, map: &mut M) -> Result<(), M::Error> {
        match self {
            Self::Elicit(request) => request.write_members(revision, map),
            Self::Sample(request) => request.write_members(revision, map),
            Self::Roots(request) if revision.has(Feature::RootsAsInput) => request.write_members(revision, map),
            Self::Namespaced(request) if revision.has(Feature::NamespacedInputs) => {
                request.write_members(revision, map)
            }
            Self::Roots(_) | Self::Namespaced(_) | Self::Unknown(_) => {
                let method = self.method();
                Err(M::Error::custom(format_args!("`{method}` is not an input request of {revision}")))
            }
        }
    }
}

serde_at_published_revision!(InputRequest);

impl From<ElicitRequest> for InputRequest {
    fn from(request: ElicitRequest) -> Self {
        Self::Elicit(request)
    }
}

impl From<CreateMessageRequest> for InputRequest {
    fn from(request: CreateMessageRequest) -> Self {
        Self::Sample(request)
    }
}

impl From<ListRootsRequest> for InputRequest {
    fn from(request: ListRootsRequest) -> Self {
        Self::Roots(request)
    }
}

impl From<NamespacedInputRequest> for InputRequest {
    fn from(request: NamespacedInputRequest) -> Self {
        Self::Namespaced(request)
    }
}

/// A request for an input whose method the revision does not have.
///
/// ```
/// use mrtr_schema::{InputRequest, Revision, Wire};
///
/// let asked = r#"{"method": "weather/guess"}"#;
/// let read = InputRequest::from_json(asked, Revision::V2026_07_28.lenient())?;
/// assert!(matches!(read, InputRequest::Unknown(unknown) if unknown.method == "weather/guess"));
/// assert!(InputRequest::from_json(asked, Revision::V2026_07_28.strict()).is_err());
/// # Ok::<(), mrtr_schema::ReadError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(open)]
#[non_exhaustive]
pub struct UnknownInputRequest {
    /// Its method.
    pub method: String,
    /// All other members.
    #[wire(extra)]
    pub extra: Members,
}

/// Everything that a server asks for in one round, under keys of its choice (TY-1).
///
/// ```
/// use mrtr_schema::InputRequests;
/// use mrtr_schema::roots::ListRootsRequest;
///
/// let mut requests = InputRequests::default();
/// requests.insert("client_roots", ListRootsRequest::new());
/// assert_eq!(requests.keys().collect::<Vec<_>>(), ["client_roots"]);
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct InputRequests(IndexMap<String, InputRequest>);

/// Everything that a client answers in one retry: each answer directly under the key of its request (TY-1).
///
/// ```
/// use mrtr_schema::{InputResponse, InputResponses, Revision};
/// use mrtr_schema::elicitation::ElicitResult;
///
/// let mut responses = InputResponses::default();
/// responses.insert("github_login", InputResponse::of(&ElicitResult::decline(), Revision::V2026_07_28)?);
/// assert_eq!(serde_json::to_string(&responses)?, r#"{"github_login":{"action":"decline"}}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct InputResponses(IndexMap<String, InputResponse>);

/// Defines the methods that both maps share, and their form on the wire.
macro_rules! keyed_map {
    ($map:ident, $value:ident, $name:literal) => {
        impl $map {
            /// Puts a value under a key, in place of the one that was there.
            pub fn insert(&mut self, key: impl Into<String>, value: impl Into<$value>) {
                self.0.insert(key.into(), value.into());
            }

            /// The value under a key.
            pub fn get(&self, key: &str) -> Option<&$value> {
                self.0.get(key)
            }

            /// The keys, in order.
            pub fn keys(&self) -> impl Iterator<Item = &str> {
                self.0.keys().map(String::as_str)
            }

            /// Keys and values, in order.
            pub fn iter(&self) -> impl Iterator<Item = (&str, &$value)> {
                self.0.iter().map(|(key, value)| (key.as_str(), value))
            }

            /// Returns the number of entries.
            pub fn len(&self) -> usize {
                self.0.len()
            }

            /// Returns true if there are no entries.
            pub fn is_empty(&self) -> bool {
                self.0.is_empty()
            }
        }

        impl FromIterator<(String, $value)> for $map {
            fn from_iter<I: IntoIterator<Item = (String, $value)>>(members: I) -> Self {
                Self(members.into_iter().collect())
            }
        }

        impl IntoIterator for $map {
            type Item = (String, $value);
            type IntoIter = indexmap::map::IntoIter<String, $value>;

            fn into_iter(self) -> Self::IntoIter {
                self.0.into_iter()
            }
        }

        impl Wire for $map {
            const NAME: Option<&'static str> = Some($name);
            const WHEN: Option<Feature> = Some(Feature::InterimResults);

            fn read(value: &RawValue, dialect: Dialect) -> Result<Self, ReadError> {
                IndexMap::read(value, dialect).map(Self)
            }

            fn write<S: Serializer>(&self, revision: Revision, serializer: S) -> Result<S::Ok, S::Error> {
                self.0.write(revision, serializer)
            }

            fn schema(definitions: &mut Definitions) -> Schema {
                IndexMap::<String, $value>::schema(definitions)
            }

            #[cfg(feature = "proptest")]
            fn any_value(revision: Revision) -> proptest::strategy::BoxedStrategy<Self> {
                use proptest::strategy::Strategy;
                IndexMap::any_value(revision).prop_map(Self).boxed()
            }
        }

        serde_at_published_revision!($map);
    };
}

keyed_map!(InputRequests, InputRequest, "InputRequests");
keyed_map!(InputResponses, InputResponse, "InputResponses");

/// One answer: an object, until the caller reads it as the answer to a question.
///
/// An answer does not say what it is. Only the request that stands under the same key can tell, so nothing here
/// guesses; see [`answering`](Self::answering).
///
/// ```
/// use mrtr_schema::{InputResponse, Revision};
/// use mrtr_schema::elicitation::ElicitResult;
///
/// let answer = InputResponse::of(&ElicitResult::cancel(), Revision::V2026_07_28)?;
/// assert_eq!(serde_json::to_string(&answer)?, r#"{"action":"cancel"}"#);
/// assert!(serde_json::from_str::<InputResponse>("true").is_err(), "an answer is an object");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct InputResponse(JsonObject);

impl InputResponse {
    /// An answer of a known kind.
    pub fn of<T: Wire>(answer: &T, revision: Revision) -> Result<Self, serde_json::Error> {
        let text = answer.to_json(revision)?;
        JsonObject::parse(&text).map(Self).map_err(Error::custom)
    }

    /// An answer that an application defines.
    pub fn from_object(answer: JsonObject) -> Self {
        Self(answer)
    }

    /// The answer as an object.
    pub fn as_object(&self) -> &JsonObject {
        &self.0
    }

    /// Reads the response as an answer to `request`.
    ///
    /// ```
    /// use mrtr_schema::{InputRequest, InputResponse, JsonObject, Revision};
    /// use mrtr_schema::input::Answer;
    /// use mrtr_schema::roots::ListRootsRequest;
    ///
    /// let dialect = Revision::V2026_07_28.strict();
    /// let asked = InputRequest::from(ListRootsRequest::new());
    /// let answer = InputResponse::from_object(JsonObject::parse(r#"{"roots": []}"#)?);
    /// assert!(matches!(answer.answering(&asked, dialect), Ok(Answer::Roots(_))));
    /// let answer = InputResponse::from_object(JsonObject::parse(r#"{"action": "accept"}"#)?);
    /// assert!(answer.answering(&asked, dialect).is_err(), "of another kind than was asked for");
    /// # Ok::<(), mrtr_schema::ReadError>(())
    /// ```
    pub fn answering(&self, request: &InputRequest, dialect: Dialect) -> Result<Answer, ReadError> {
        let value = self.0.as_raw();
        match request {
            InputRequest::Elicit(_) => ElicitResult::read(value, dialect).map(Answer::Elicit),
            InputRequest::Sample(_) => CreateMessageResult::read(value, dialect).map(Answer::Sample),
            InputRequest::Roots(_) => ListRootsResult::read(value, dialect).map(Answer::Roots),
            InputRequest::Namespaced(_) | InputRequest::Unknown(_) => Ok(Answer::Namespaced(self.0.clone())),
        }
    }
}

/// An answer, read as the kind that the server asked for.
///
/// ```
/// use mrtr_schema::{InputResponse, Revision};
/// use mrtr_schema::input::Answer;
/// use mrtr_schema::sampling::{CreateMessageParams, CreateMessageRequest, SamplingMessage};
///
/// let asked = CreateMessageRequest::new(CreateMessageParams::new([SamplingMessage::user("Hello")], 10_u64)).into();
/// let said = r#"{"role": "assistant", "content": {"type": "text", "text": "Hi"}, "model": "m"}"#;
/// let answer: InputResponse = serde_json::from_str(said)?;
/// let Ok(Answer::Sample(result)) = answer.answering(&asked, Revision::V2026_07_28.strict()) else { panic!() };
/// assert_eq!(result.text().as_deref(), Some("Hi"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Answer {
    /// A person's answer.
    Elicit(ElicitResult),
    /// A model's answer.
    Sample(CreateMessageResult),
    /// The client's roots.
    Roots(ListRootsResult),
    /// An answer that an application defines.
    Namespaced(JsonObject),
}

impl Wire for InputResponse {
    const NAME: Option<&'static str> = Some("InputResponse");
    const WHEN: Option<Feature> = Some(Feature::InterimResults);

    fn read(value: &RawValue, dialect: Dialect) -> Result<Self, ReadError> {
        JsonObject::read(value, dialect).map(Self)
    }

    fn write<S: Serializer>(&self, revision: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.write(revision, serializer)
    }

    /// Strictly one of the kinds; leniently any object, since only the request can tell which kind is right.
    fn schema(definitions: &mut Definitions) -> Schema {
        let dialect = definitions.dialect();
        if !dialect.strict {
            return JsonObject::schema(definitions);
        }
        let mut kinds = vec![definitions.reference::<ElicitResult>(), definitions.reference::<CreateMessageResult>()];
        if dialect.revision.has(Feature::RootsAsInput) {
            kinds.push(definitions.reference::<ListRootsResult>());
        }
        if dialect.revision.has(Feature::NamespacedInputs) {
            kinds.push(definitions.reference::<NamespacedInputResponse>());
        }
        json_schema!({ "description": "One answer, of the kind that was asked for.", "anyOf": kinds })
    }

    #[cfg(feature = "proptest")]
    fn any_value(revision: Revision) -> proptest::strategy::BoxedStrategy<Self> {
        use proptest::prelude::*;
        fn kind<T: Wire>(revision: Revision) -> BoxedStrategy<InputResponse> {
            let write = move |answer: T| InputResponse::of(&answer, revision).expect("an object");
            T::any_value(revision).prop_map(write).boxed()
        }
        let mut kinds = vec![kind::<ElicitResult>(revision), kind::<CreateMessageResult>(revision)];
        if revision.has(Feature::RootsAsInput) {
            kinds.push(kind::<ListRootsResult>(revision));
        }
        if revision.has(Feature::NamespacedInputs) {
            kinds.push(kind::<NamespacedInputResponse>(revision));
        }
        proptest::strategy::Union::new(kinds).boxed()
    }
}

serde_at_published_revision!(InputResponse);

/// An answer that an application defines: any object.
///
/// ```
/// use mrtr_schema::Json;
/// use mrtr_schema::input::NamespacedInputResponse;
///
/// let mut decision = NamespacedInputResponse::new();
/// decision.extra.set("approved", Json::parse("true").unwrap());
/// assert_eq!(serde_json::to_string(&decision)?, r#"{"approved":true}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Wire)]
#[wire(name = "NamespacedInputResponse", when = Feature::NamespacedInputs, open)]
#[non_exhaustive]
pub struct NamespacedInputResponse {
    /// All members of the answer.
    #[wire(extra)]
    pub extra: Members,
}

/// The parameters that turn a request into a retry (TY-6).
///
/// ```
/// use mrtr_schema::RequestState;
/// use mrtr_schema::input::RetryParams;
///
/// let mut retry = RetryParams::new();
/// retry.request_state = Some(RequestState::new("sealed"));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Wire)]
#[wire(name = "InputResponseRequestParams", when = Feature::RetryParams)]
#[non_exhaustive]
pub struct RetryParams {
    /// The answers.
    pub input_responses: Option<InputResponses>,
    /// The server's state for the client to carry, byte for byte.
    pub request_state: Option<RequestState>,
    /// Metadata.
    #[wire(rename = "_meta", required = Feature::RequestMetadata)]
    pub meta: Option<RequestMeta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

const ELICIT: &str = "elicitation/create";
const SAMPLE: &str = "sampling/createMessage";
const ROOTS: &str = "roots/list";
