//! JSON-RPC: requests, notifications and responses, of one method or of any.

use mrtr_macros::Wire;
use schemars::Schema;
use serde::Serializer;
use serde::ser::SerializeMap;
use serde_json::value::RawValue;

use crate::error::ReadError;
use crate::json::{JsonObject, Members, RawMembers};
use crate::messages::methods::{NotificationMethod, RequestMethod};
use crate::revision::{Dialect, Feature, Revision};
use crate::types::params::Params;
use crate::types::request_id::RequestId;
use crate::types::result::{AnyResult, InputRequiredResult};
use crate::wire::schema::{Definitions, ObjectSchema, Property};
use crate::wire::{InRevision, Wire, serde_at_published_revision};

/// A request of one method.
///
/// ```
/// use mrtr_schema::{Revision, Wire};
/// use mrtr_schema::jsonrpc::Request;
/// use mrtr_schema::methods::CallTool;
/// use mrtr_schema::tools::CallToolParams;
///
/// let request = Request::<CallTool>::new(1, CallToolParams::new("get_time"));
/// assert_eq!(
///     request.to_json(Revision::Sep2322)?,
///     r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_time"}}"#,
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Request<M: RequestMethod> {
    /// Its id; each request has its own, retries included (CL-3).
    pub id: RequestId,
    /// Its parameters.
    pub params: M::Params,
    /// Members that this type does not name.
    pub extra: Members,
}

impl<M: RequestMethod> Request<M> {
    /// Makes a request.
    pub fn new(id: impl Into<RequestId>, params: impl Into<M::Params>) -> Self {
        Self { id: id.into(), params: params.into(), extra: Members::default() }
    }
}

impl<M: RequestMethod> Wire for Request<M> {
    const NAME: Option<&'static str> = Some(M::REQUEST);
    const WHEN: Option<Feature> = M::WHEN;

    fn read(value: &RawValue, dialect: Dialect) -> Result<Self, ReadError> {
        let mut members = RawMembers::of(value)?;
        members.constant("jsonrpc", VERSION)?;
        members.constant("method", M::METHOD)?;
        let id = members.required("id", dialect)?;
        let params = params_or_absent(&mut members, dialect)?;
        Ok(Self { id, params, extra: members.rest()? })
    }

    fn write<S: Serializer>(&self, revision: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("jsonrpc", VERSION)?;
        map.serialize_entry("id", &InRevision::new(&self.id, revision))?;
        map.serialize_entry("method", M::METHOD)?;
        write_params(&self.params, revision, &mut map)?;
        self.extra.write_into(&mut map, |key| MESSAGE_MEMBERS.contains(&key))?;
        map.end()
    }

    fn schema(definitions: &mut Definitions) -> Schema {
        let mut object = ObjectSchema::new("A request.");
        object.constant("jsonrpc", VERSION);
        object.property("id", Property::of::<RequestId>(definitions, ""), true);
        object.constant("method", M::METHOD);
        describe_params::<M::Params>(&mut object, definitions);
        object.finish()
    }

    #[cfg(feature = "proptest")]
    fn any_value(revision: Revision) -> proptest::strategy::BoxedStrategy<Self> {
        use proptest::strategy::Strategy;
        (RequestId::any_value(revision), M::Params::any_value(revision), crate::wire::arbitrary::extra_members())
            .prop_map(|(id, params, extra)| Self { id, params, extra })
            .boxed()
    }
}

serde_at_published_revision!(Request<M: RequestMethod>);

/// A notification of one method.
///
/// ```
/// use mrtr_schema::jsonrpc::Notification;
/// use mrtr_schema::methods::ToolListChanged;
/// use mrtr_schema::params::Optional;
///
/// let notification = Notification::<ToolListChanged>::new(Optional::absent());
/// assert_eq!(
///     serde_json::to_string(&notification)?,
///     r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Notification<M: NotificationMethod> {
    /// Its parameters.
    pub params: M::Params,
    /// Members that this type does not name.
    pub extra: Members,
}

impl<M: NotificationMethod> Notification<M> {
    /// Makes a notification.
    pub fn new(params: impl Into<M::Params>) -> Self {
        Self { params: params.into(), extra: Members::default() }
    }
}

impl<M: NotificationMethod> Wire for Notification<M> {
    const NAME: Option<&'static str> = Some(M::NAME);
    const WHEN: Option<Feature> = M::WHEN;

    fn read(value: &RawValue, dialect: Dialect) -> Result<Self, ReadError> {
        let mut members = RawMembers::of(value)?;
        members.constant("jsonrpc", VERSION)?;
        members.constant("method", M::METHOD)?;
        let params = params_or_absent(&mut members, dialect)?;
        Ok(Self { params, extra: members.rest()? })
    }

    fn write<S: Serializer>(&self, revision: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("jsonrpc", VERSION)?;
        map.serialize_entry("method", M::METHOD)?;
        write_params(&self.params, revision, &mut map)?;
        self.extra.write_into(&mut map, |key| MESSAGE_MEMBERS.contains(&key))?;
        map.end()
    }

    fn schema(definitions: &mut Definitions) -> Schema {
        let mut object = ObjectSchema::new("A notification.");
        object.constant("jsonrpc", VERSION);
        object.constant("method", M::METHOD);
        describe_params::<M::Params>(&mut object, definitions);
        object.finish()
    }

    #[cfg(feature = "proptest")]
    fn any_value(revision: Revision) -> proptest::strategy::BoxedStrategy<Self> {
        use proptest::strategy::Strategy;
        (M::Params::any_value(revision), crate::wire::arbitrary::extra_members())
            .prop_map(|(params, extra)| Self { params, extra })
            .boxed()
    }
}

serde_at_published_revision!(Notification<M: NotificationMethod>);

fn params_or_absent<P: Params>(members: &mut RawMembers<'_>, dialect: Dialect) -> Result<P, ReadError> {
    match members.optional("params", dialect)? {
        Some(params) => Ok(params),
        None => P::absent_in(dialect.revision).ok_or_else(|| ReadError::missing("params")),
    }
}

fn write_params<P: Params, M: SerializeMap>(params: &P, revision: Revision, map: &mut M) -> Result<(), M::Error> {
    if P::absent_in(revision).as_ref() == Some(params) {
        return Ok(());
    }
    map.serialize_entry("params", &InRevision::new(params, revision))
}

fn describe_params<P: Params>(object: &mut ObjectSchema, definitions: &mut Definitions) {
    let required = P::absent_in(definitions.dialect().revision).is_none();
    object.property("params", Property::of::<P>(definitions, ""), required);
}

/// A response that carries the result of one method.
///
/// ```
/// use mrtr_schema::{InputRequiredResult, RequestState};
/// use mrtr_schema::jsonrpc::Response;
/// use mrtr_schema::methods::CallTool;
///
/// let response = Response::<CallTool>::new(1, InputRequiredResult::carry(RequestState::new("sealed")));
/// assert!(serde_json::to_string(&response).unwrap().contains(r#""id":1,"result":{"#));
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Response<M: RequestMethod> {
    /// The id of the request.
    pub id: RequestId,
    /// The result.
    pub result: M::Result,
    /// Members that this type does not name.
    pub extra: Members,
}

impl<M: RequestMethod> Response<M> {
    /// Makes a response.
    pub fn new(id: impl Into<RequestId>, result: impl Into<M::Result>) -> Self {
        Self { id: id.into(), result: result.into(), extra: Members::default() }
    }
}

impl<M: RequestMethod> Wire for Response<M> {
    const NAME: Option<&'static str> = Some(M::RESPONSE);
    const WHEN: Option<Feature> = M::WHEN;

    fn read(value: &RawValue, dialect: Dialect) -> Result<Self, ReadError> {
        let mut members = RawMembers::of(value)?;
        members.constant("jsonrpc", VERSION)?;
        let id = members.required("id", dialect)?;
        let result = members.required("result", dialect)?;
        Ok(Self { id, result, extra: members.rest()? })
    }

    fn write<S: Serializer>(&self, revision: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("jsonrpc", VERSION)?;
        map.serialize_entry("id", &InRevision::new(&self.id, revision))?;
        map.serialize_entry("result", &InRevision::new(&self.result, revision))?;
        self.extra.write_into(&mut map, |key| MESSAGE_MEMBERS.contains(&key))?;
        map.end()
    }

    fn schema(definitions: &mut Definitions) -> Schema {
        let mut object = ObjectSchema::new("A response that carries a result.");
        object.constant("jsonrpc", VERSION);
        object.property("id", Property::of::<RequestId>(definitions, ""), true);
        object.property("result", Property::of::<M::Result>(definitions, ""), true);
        object.finish()
    }

    #[cfg(feature = "proptest")]
    fn any_value(revision: Revision) -> proptest::strategy::BoxedStrategy<Self> {
        use proptest::strategy::Strategy;
        (RequestId::any_value(revision), M::Result::any_value(revision), crate::wire::arbitrary::extra_members())
            .prop_map(|(id, result, extra)| Self { id, result, extra })
            .boxed()
    }
}

serde_at_published_revision!(Response<M: RequestMethod>);

/// A response that carries a result of any method.
///
/// ```
/// use mrtr_schema::jsonrpc::AnyResponse;
/// use mrtr_schema::result::ResultType;
///
/// let response = r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requestState":"sealed"}}"#;
/// let response: AnyResponse = serde_json::from_str(response)?;
/// assert_eq!(response.result.result_type, ResultType::InputRequired);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "JSONRPCResultResponse", tag(jsonrpc = "2.0"))]
#[non_exhaustive]
pub struct AnyResponse {
    /// The id of the request.
    pub id: RequestId,
    /// The result.
    pub result: AnyResult,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// A response that carries an interim result: a type of its own where nothing else tells it apart.
///
/// ```
/// use mrtr_schema::{InputRequiredResult, RequestState, Revision, Wire};
/// use mrtr_schema::jsonrpc::InterimResponse;
///
/// let response = InterimResponse::new(1, InputRequiredResult::carry(RequestState::new("sealed")));
/// assert_eq!(
///     response.to_json(Revision::Draft202602)?,
///     r#"{"jsonrpc":"2.0","id":1,"result":{"requestState":"sealed"}}"#,
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "JSONRPCIncompleteResultResponse", when = Feature::InterimByFields, tag(jsonrpc = "2.0"))]
#[non_exhaustive]
pub struct InterimResponse {
    /// The id of the request.
    pub id: RequestId,
    /// The interim result.
    pub result: InputRequiredResult,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// A request of any method.
///
/// ```
/// use mrtr_schema::jsonrpc::AnyRequest;
///
/// let request: AnyRequest = serde_json::from_str(r#"{"jsonrpc": "2.0", "id": "a-1", "method": "tools/list"}"#)?;
/// assert_eq!(request.method, "tools/list");
/// assert!(request.params.is_none());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "JSONRPCRequest", tag(jsonrpc = "2.0"))]
#[non_exhaustive]
pub struct AnyRequest {
    /// Its id.
    pub id: RequestId,
    /// The method.
    pub method: String,
    /// Its parameters.
    pub params: Option<JsonObject>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// A notification of any method.
///
/// ```
/// use mrtr_schema::jsonrpc::AnyNotification;
///
/// let initialized = AnyNotification::new("notifications/initialized");
/// assert_eq!(serde_json::to_string(&initialized)?, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "JSONRPCNotification", tag(jsonrpc = "2.0"))]
#[non_exhaustive]
pub struct AnyNotification {
    /// The method.
    pub method: String,
    /// Its parameters.
    pub params: Option<JsonObject>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

const VERSION: &str = "2.0";
/// The members that tell the kind of a message: no message repeats them or has them smuggled in beside its own.
pub(crate) const MESSAGE_MEMBERS: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];
