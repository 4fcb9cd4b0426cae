//! Parameters that many methods share, and what it means to leave them out.

use mrtr_macros::Wire;
use schemars::Schema;
use serde::Serializer;
use serde::ser::SerializeMap;
use serde_json::value::RawValue;

use crate::error::ReadError;
use crate::json::{Members, RawMembers};
use crate::revision::{Dialect, Feature, Revision};
use crate::types::input::InputResponses;
use crate::types::meta::{NotificationMeta, RequestMeta};
use crate::types::request_state::RequestState;
use crate::wire::schema::Definitions;
use crate::wire::{Wire, WireObject, write_object};

/// The parameters of a request or notification.
///
/// ```
/// use mrtr_schema::Revision;
/// use mrtr_schema::params::{Optional, PaginatedParams, Params};
/// use mrtr_schema::tools::CallToolParams;
///
/// assert_eq!(CallToolParams::absent_in(Revision::Sep2322), None, "a call must name its tool");
/// assert!(Optional::<PaginatedParams>::absent_in(Revision::Sep2322).is_some());
/// assert!(Optional::<PaginatedParams>::absent_in(Revision::V2026_07_28).is_none(), "metadata must be there");
/// ```
pub trait Params: WireObject {
    /// Returns the parameters that a message without `params` means, in revisions that allow it.
    fn absent_in(revision: Revision) -> Option<Self>;
}

/// Parameters that may be left out, unless they must carry metadata.
///
/// ```
/// use mrtr_schema::{Revision, Wire};
/// use mrtr_schema::jsonrpc::Request;
/// use mrtr_schema::methods::ListTools;
/// use mrtr_schema::params::{Optional, PaginatedParams};
///
/// let request = Request::<ListTools>::new(1, Optional::absent());
/// assert_eq!(request.to_json(Revision::Sep2322)?, r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
/// assert!(request.to_json(Revision::V2026_07_28).is_err());
/// let request = Request::<ListTools>::new(1, PaginatedParams::new());
/// assert!(request.to_json(Revision::Sep2322)?.ends_with(r#""params":{}}"#));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Optional<T>(Option<T>);

impl<T> Optional<T> {
    /// Makes parameters that are left out.
    pub fn absent() -> Self {
        Self(None)
    }

    /// The parameters, if they are there.
    pub fn as_ref(&self) -> Option<&T> {
        self.0.as_ref()
    }

    /// The parameters, if they are there.
    pub fn into_inner(self) -> Option<T> {
        self.0
    }
}

impl<T> From<T> for Optional<T> {
    fn from(params: T) -> Self {
        Self(Some(params))
    }
}

impl<T: WireObject + Default> Wire for Optional<T> {
    const NAME: Option<&'static str> = T::NAME;
    const WHEN: Option<Feature> = T::WHEN;

    fn read(value: &RawValue, dialect: Dialect) -> Result<Self, ReadError> {
        T::read(value, dialect).map(Self::from)
    }

    fn write<S: Serializer>(&self, revision: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        write_object(self, revision, serializer)
    }

    fn schema(definitions: &mut Definitions) -> Schema {
        T::schema(definitions)
    }

    #[cfg(feature = "proptest")]
    fn any_value(revision: Revision) -> proptest::strategy::BoxedStrategy<Self> {
        use proptest::strategy::Strategy;
        let demanded = revision.has(Feature::RequestMetadata);
        crate::wire::arbitrary::optional(revision, demanded).prop_map(Self).boxed()
    }
}

impl<T: WireObject + Default> WireObject for Optional<T> {
    fn read_members(members: RawMembers<'_>, dialect: Dialect) -> Result<Self, ReadError> {
        T::read_members(members, dialect).map(Self::from)
    }

    fn write_members<M: SerializeMap>(&self, revision: Revision, map: &mut M) -> Result<(), M::Error> {
        match &self.0 {
            Some(params) => params.write_members(revision, map),
            None => T::default().write_members(revision, map),
        }
    }
}

impl<P: RequestOnly + WireObject + Default> Params for Optional<P> {
    fn absent_in(revision: Revision) -> Option<Self> {
        (!revision.has(Feature::RequestMetadata)).then(Self::absent)
    }
}

impl Params for Optional<NotificationParams> {
    fn absent_in(_: Revision) -> Option<Self> {
        Some(Self::absent())
    }
}

/// A trait that no other crate implements.
mod sealed {
    /// Parameters of requests, which carry metadata where a revision demands it; those of notifications never must.
    pub trait RequestOnly {}
}
use sealed::RequestOnly;

/// Declares that a message cannot do without these parameters.
macro_rules! required_params {
    ($($params:ty),* $(,)?) => {$(
        impl crate::types::params::Params for $params {
            fn absent_in(_: crate::Revision) -> Option<Self> {
                None
            }
        }
    )*};
}
pub(crate) use required_params;

/// The members that turn any request into a retry, in `draft-2026-02` (TY-5). Later revisions have them only where a
/// server may ask.
///
/// ```
/// use mrtr_schema::{RequestState, Revision, Wire};
/// use mrtr_schema::params::PaginatedParams;
///
/// let mut retry = PaginatedParams::new();
/// retry.retry.request_state = Some(RequestState::new("sealed"));
/// assert_eq!(retry.to_json(Revision::Draft202602)?, r#"{"requestState":"sealed"}"#);
/// assert_eq!(retry.to_json(Revision::Sep2322)?, "{}", "a list cannot be retried there");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Wire)]
#[wire(part)]
#[non_exhaustive]
pub struct RetryAnywhere {
    /// Answers to what the server asked.
    #[wire(when = Feature::RetryOnAnyRequest)]
    pub input_responses: Option<InputResponses>,
    /// The server's state for the client to carry, byte for byte.
    #[wire(when = Feature::RetryOnAnyRequest)]
    pub request_state: Option<RequestState>,
}

/// Parameters of a request that has nothing but metadata.
///
/// ```
/// use mrtr_schema::{ClientCapabilities, Revision};
/// use mrtr_schema::meta::RequestMeta;
/// use mrtr_schema::params::RequestParams;
///
/// let mut params = RequestParams::new();
/// assert!(serde_json::to_string(&params).is_err(), "the published revision demands metadata");
/// params.meta = Some(RequestMeta::declaring(Revision::V2026_07_28, ClientCapabilities::new()));
/// assert!(serde_json::to_string(&params).is_ok());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Wire)]
#[wire(name = "RequestParams")]
#[non_exhaustive]
pub struct RequestParams {
    /// The members that make the request a retry, in `draft-2026-02`.
    #[wire(flatten, lenient)]
    pub retry: RetryAnywhere,
    /// Metadata.
    #[wire(rename = "_meta", required = Feature::RequestMetadata)]
    pub meta: Option<RequestMeta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

impl RequestOnly for RequestParams {}

required_params!(RequestParams);

/// Parameters of a request for one page of a list.
///
/// ```
/// use mrtr_schema::{Revision, Wire};
/// use mrtr_schema::params::PaginatedParams;
///
/// let mut next = PaginatedParams::new();
/// next.cursor = Some("page-2".into());
/// assert_eq!(next.to_json(Revision::Sep2322)?, r#"{"cursor":"page-2"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Wire)]
#[wire(name = "PaginatedRequestParams")]
#[non_exhaustive]
pub struct PaginatedParams {
    /// The place where the page begins; absent for the first one.
    pub cursor: Option<String>,
    /// The members that make the request a retry, in `draft-2026-02`.
    #[wire(flatten, lenient)]
    pub retry: RetryAnywhere,
    /// Metadata.
    #[wire(rename = "_meta", required = Feature::RequestMetadata)]
    pub meta: Option<RequestMeta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

impl RequestOnly for PaginatedParams {}

/// Parameters of a notification that has nothing but metadata.
///
/// ```
/// use mrtr_schema::meta::NotificationMeta;
/// use mrtr_schema::params::NotificationParams;
///
/// let mut params = NotificationParams::new();
/// params.meta.get_or_insert_with(NotificationMeta::new).subscription_id = Some("s-1".into());
/// assert_eq!(serde_json::to_string(&params)?, r#"{"_meta":{"io.modelcontextprotocol/subscriptionId":"s-1"}}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Wire)]
#[wire(name = "NotificationParams")]
#[non_exhaustive]
pub struct NotificationParams {
    /// Metadata.
    #[wire(rename = "_meta")]
    pub meta: Option<NotificationMeta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}
