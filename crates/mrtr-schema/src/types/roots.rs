//! Roots: the folders and files that a client lets a server work on.

use mrtr_macros::Wire;

use crate::json::Members;
use crate::revision::Feature;
use crate::types::meta::Meta;

/// Asks a client for its roots.
///
/// ```
/// use mrtr_schema::roots::ListRootsRequest;
///
/// assert_eq!(serde_json::to_string(&ListRootsRequest::new())?, r#"{"method":"roots/list"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Wire)]
#[wire(name = "ListRootsRequest", when = Feature::RootsAsInput, tag(method = "roots/list"))]
#[non_exhaustive]
pub struct ListRootsRequest {
    /// Nothing but metadata.
    pub params: Option<ListRootsParams>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// Parameters of a request for roots: nothing but metadata.
///
/// ```
/// use mrtr_schema::roots::{ListRootsParams, ListRootsRequest};
///
/// let mut request = ListRootsRequest::new();
/// request.params = Some(ListRootsParams::new());
/// assert_eq!(serde_json::to_string(&request)?, r#"{"method":"roots/list","params":{}}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Wire)]
#[non_exhaustive]
pub struct ListRootsParams {
    /// Metadata.
    #[wire(rename = "_meta")]
    pub meta: Option<Meta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// The client's roots.
///
/// ```
/// use mrtr_schema::roots::{ListRootsResult, Root};
///
/// let roots = ListRootsResult::new([Root::new("file:///home/user/project")]);
/// assert_eq!(serde_json::to_string(&roots)?, r#"{"roots":[{"uri":"file:///home/user/project"}]}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "ListRootsResult")]
#[non_exhaustive]
pub struct ListRootsResult {
    /// The roots.
    pub roots: Vec<Root>,
    /// Metadata.
    #[wire(rename = "_meta", when = Feature::InputMetadata)]
    pub meta: Option<Meta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// A folder or file that a server may work on.
///
/// ```
/// use mrtr_schema::roots::Root;
///
/// let mut root = Root::new("file:///home/ada/engine");
/// root.name = Some("The engine".into());
/// assert_eq!(serde_json::to_string(&root)?, r#"{"uri":"file:///home/ada/engine","name":"The engine"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "Root")]
#[non_exhaustive]
pub struct Root {
    /// The place of the root: a `file://` URI for now.
    #[wire(format = "uri")]
    pub uri: String,
    /// A name for people.
    pub name: Option<String>,
    /// Metadata.
    #[wire(rename = "_meta")]
    pub meta: Option<Meta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}
