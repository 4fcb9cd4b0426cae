//! The capabilities of a client and of a server.

use indexmap::IndexMap;
use mrtr_macros::Wire;

use crate::json::{JsonObject, Members};
use crate::revision::Feature;
use crate::types::namespaced::Method;

/// The capabilities of a client: the inputs that a server may ask it for (SV-8).
///
/// ```
/// use mrtr_schema::ClientCapabilities;
/// use mrtr_schema::capabilities::ElicitationCapability;
///
/// let mut client = ClientCapabilities::new();
/// client.elicitation = Some(ElicitationCapability::new());
/// assert!(client.elicits_forms(), "an empty capability means forms");
/// assert!(!client.elicits_urls());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Wire)]
#[wire(name = "ClientCapabilities")]
#[non_exhaustive]
pub struct ClientCapabilities {
    /// The client can put questions to a person.
    pub elicitation: Option<ElicitationCapability>,
    /// The client can ask a model.
    pub sampling: Option<SamplingCapability>,
    /// The client can list its roots.
    pub roots: Option<RootsCapability>,
    /// The client runs requests of the server's as tasks.
    #[wire(when = Feature::CoreTasks)]
    pub tasks: Option<ClientTasksCapability>,
    /// Extensions, by their names.
    #[wire(when = Feature::Extensions)]
    pub extensions: Option<IndexMap<String, JsonObject>>,
    /// Capabilities that no specification defines.
    pub experimental: Option<IndexMap<String, JsonObject>>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

impl ClientCapabilities {
    /// Returns true if the client shows forms: declared as such, or by an elicitation capability that says nothing
    /// further.
    pub fn elicits_forms(&self) -> bool {
        self.elicitation.as_ref().is_some_and(|elicitation| elicitation.form.is_some() || elicitation.url.is_none())
    }

    /// Returns true if the client opens URLs.
    pub fn elicits_urls(&self) -> bool {
        self.elicitation.as_ref().is_some_and(|elicitation| elicitation.url.is_some())
    }

    /// Returns true if the client samples.
    pub fn samples(&self) -> bool {
        self.sampling.is_some()
    }

    /// Returns true if the client lets a model use tools while sampling.
    pub fn samples_with_tools(&self) -> bool {
        self.sampling.as_ref().is_some_and(|sampling| sampling.tools.is_some())
    }

    /// Returns true if the client adds context of this or other servers to a sampling request.
    pub fn samples_with_context(&self) -> bool {
        self.sampling.as_ref().is_some_and(|sampling| sampling.context.is_some())
    }

    /// Returns true if the client lists its roots.
    pub fn lists_roots(&self) -> bool {
        self.roots.is_some()
    }

    /// Returns true if the client declared the kind of input with this method, which an application defines.
    ///
    /// ```
    /// use mrtr_schema::{ClientCapabilities, Method};
    ///
    /// let client: ClientCapabilities = serde_json::from_str(r#"{"extensions": {"com.example/approval": {}}}"#)?;
    /// assert!(client.knows(&Method::from_static("com.example/approval")));
    /// assert!(!client.knows(&Method::from_static("com.example/signature")));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn knows(&self, method: &Method) -> bool {
        self.extensions.as_ref().is_some_and(|extensions| extensions.contains_key(method.as_str()))
    }
}

/// The ways in which a client can put questions to a person.
///
/// ```
/// use mrtr_schema::ClientCapabilities;
///
/// let urls_only: ClientCapabilities = serde_json::from_str(r#"{"elicitation": {"url": {}}}"#)?;
/// assert!(urls_only.elicits_urls());
/// assert!(!urls_only.elicits_forms(), "only a capability that says nothing further means forms");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Wire)]
#[non_exhaustive]
pub struct ElicitationCapability {
    /// The client shows forms.
    #[wire(when = Feature::ElicitationModes)]
    pub form: Option<JsonObject>,
    /// The client opens URLs.
    #[wire(when = Feature::ElicitationModes)]
    pub url: Option<JsonObject>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// The ways in which a client can ask a model.
///
/// ```
/// use mrtr_schema::ClientCapabilities;
///
/// let client: ClientCapabilities = serde_json::from_str(r#"{"sampling": {"tools": {}}}"#)?;
/// assert!(client.samples_with_tools());
/// assert!(!client.samples_with_context());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Wire)]
#[non_exhaustive]
pub struct SamplingCapability {
    /// The client adds context where `includeContext` asks for it.
    #[wire(when = Feature::SamplingCapabilities)]
    pub context: Option<JsonObject>,
    /// The client lets the model use tools.
    #[wire(when = Feature::SamplingCapabilities)]
    pub tools: Option<JsonObject>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// A client's support for listing its roots.
///
/// ```
/// use mrtr_schema::{Revision, Wire};
/// use mrtr_schema::capabilities::RootsCapability;
///
/// let mut roots = RootsCapability::new();
/// roots.list_changed = Some(true);
/// assert_eq!(roots.to_json(Revision::Sep2322)?, r#"{"listChanged":true}"#);
/// assert_eq!(roots.to_json(Revision::V2026_07_28)?, "{}", "no longer said there");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Wire)]
#[non_exhaustive]
pub struct RootsCapability {
    /// The client sends a notification when its roots change.
    #[wire(when = Feature::RootsListChanged)]
    pub list_changed: Option<bool>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// The capabilities of a server.
///
/// ```
/// use mrtr_schema::ServerCapabilities;
/// use mrtr_schema::capabilities::ListChangedCapability;
///
/// let mut server = ServerCapabilities::new();
/// server.tools = Some(ListChangedCapability::new());
/// assert_eq!(serde_json::to_string(&server)?, r#"{"tools":{}}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Wire)]
#[wire(name = "ServerCapabilities")]
#[non_exhaustive]
pub struct ServerCapabilities {
    /// The server has tools.
    pub tools: Option<ListChangedCapability>,
    /// The server has prompts.
    pub prompts: Option<ListChangedCapability>,
    /// The server has resources.
    pub resources: Option<ResourcesCapability>,
    /// The server completes arguments.
    pub completions: Option<JsonObject>,
    /// The server sends log messages.
    pub logging: Option<JsonObject>,
    /// The server runs requests as tasks.
    #[wire(when = Feature::CoreTasks)]
    pub tasks: Option<ServerTasksCapability>,
    /// Extensions, by their names.
    #[wire(when = Feature::Extensions)]
    pub extensions: Option<IndexMap<String, JsonObject>>,
    /// Capabilities that no specification defines.
    pub experimental: Option<IndexMap<String, JsonObject>>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// A list that the server offers.
///
/// ```
/// use mrtr_schema::ServerCapabilities;
/// use mrtr_schema::capabilities::ListChangedCapability;
///
/// let mut prompts = ListChangedCapability::new();
/// prompts.list_changed = Some(true);
/// let mut server = ServerCapabilities::new();
/// server.prompts = Some(prompts);
/// assert_eq!(serde_json::to_string(&server)?, r#"{"prompts":{"listChanged":true}}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Wire)]
#[non_exhaustive]
pub struct ListChangedCapability {
    /// The server says when the list changes.
    pub list_changed: Option<bool>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// Resources that the server offers.
///
/// ```
/// use mrtr_schema::capabilities::ResourcesCapability;
///
/// let mut resources = ResourcesCapability::new();
/// resources.subscribe = Some(true);
/// assert_eq!(serde_json::to_string(&resources)?, r#"{"subscribe":true}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Wire)]
#[non_exhaustive]
pub struct ResourcesCapability {
    /// The server says when the list changes.
    pub list_changed: Option<bool>,
    /// The server says when a resource changes.
    pub subscribe: Option<bool>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// A server's support for running requests as tasks.
///
/// ```
/// use mrtr_schema::{Revision, ServerCapabilities, Wire};
///
/// let offer = r#"{"tasks":{"cancel":{},"requests":{"tools":{"call":{}}}}}"#;
/// let server = ServerCapabilities::from_json(offer, Revision::Sep2322.strict())?;
/// assert!(server.tasks.is_some_and(|tasks| tasks.list.is_none()), "it lists none");
/// # Ok::<(), mrtr_schema::ReadError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Wire)]
#[non_exhaustive]
pub struct ServerTasksCapability {
    /// The server lists its tasks.
    pub list: Option<JsonObject>,
    /// The server cancels its tasks.
    pub cancel: Option<JsonObject>,
    /// The requests that may run as tasks.
    pub requests: Option<ServerTaskRequests>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// The requests that a server runs as tasks.
///
/// ```
/// use mrtr_schema::capabilities::{ServerTaskRequests, ToolTaskRequests};
///
/// let mut requests = ServerTaskRequests::new();
/// requests.tools = Some(ToolTaskRequests::new());
/// assert_eq!(serde_json::to_string(&requests)?, r#"{"tools":{}}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Wire)]
#[non_exhaustive]
pub struct ServerTaskRequests {
    /// The requests about tools.
    pub tools: Option<ToolTaskRequests>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// The requests about tools that a server runs as tasks.
///
/// ```
/// use mrtr_schema::JsonObject;
/// use mrtr_schema::capabilities::ToolTaskRequests;
///
/// let mut tools = ToolTaskRequests::new();
/// tools.call = Some(JsonObject::default());
/// assert_eq!(serde_json::to_string(&tools)?, r#"{"call":{}}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Wire)]
#[non_exhaustive]
pub struct ToolTaskRequests {
    /// `tools/call`.
    pub call: Option<JsonObject>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// The support of a client for requests as tasks.
///
/// ```
/// use mrtr_schema::{ClientCapabilities, Revision, Wire};
///
/// let offer = r#"{"tasks":{"list":{},"requests":{"sampling":{"createMessage":{}}}}}"#;
/// let client = ClientCapabilities::from_json(offer, Revision::Draft202602.strict())?;
/// assert!(client.tasks.is_some_and(|tasks| tasks.cancel.is_none()), "it cancels none");
/// # Ok::<(), mrtr_schema::ReadError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Wire)]
#[non_exhaustive]
pub struct ClientTasksCapability {
    /// The client lists its tasks.
    pub list: Option<JsonObject>,
    /// The client cancels its tasks.
    pub cancel: Option<JsonObject>,
    /// The requests that may run as tasks.
    pub requests: Option<ClientTaskRequests>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// The requests that a client runs as tasks.
///
/// ```
/// use mrtr_schema::capabilities::{ClientTaskRequests, ElicitationTaskRequests};
///
/// let mut requests = ClientTaskRequests::new();
/// requests.elicitation = Some(ElicitationTaskRequests::new());
/// assert_eq!(serde_json::to_string(&requests)?, r#"{"elicitation":{}}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Wire)]
#[non_exhaustive]
pub struct ClientTaskRequests {
    /// The requests about elicitation.
    pub elicitation: Option<ElicitationTaskRequests>,
    /// The requests about sampling.
    pub sampling: Option<SamplingTaskRequests>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// The requests about elicitation that a client runs as tasks.
///
/// ```
/// use mrtr_schema::JsonObject;
/// use mrtr_schema::capabilities::ElicitationTaskRequests;
///
/// let mut elicitation = ElicitationTaskRequests::new();
/// elicitation.create = Some(JsonObject::default());
/// assert_eq!(serde_json::to_string(&elicitation)?, r#"{"create":{}}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Wire)]
#[non_exhaustive]
pub struct ElicitationTaskRequests {
    /// `elicitation/create`.
    pub create: Option<JsonObject>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// The requests about sampling that a client runs as tasks.
///
/// ```
/// use mrtr_schema::JsonObject;
/// use mrtr_schema::capabilities::SamplingTaskRequests;
///
/// let mut sampling = SamplingTaskRequests::new();
/// sampling.create_message = Some(JsonObject::default());
/// assert_eq!(serde_json::to_string(&sampling)?, r#"{"createMessage":{}}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Wire)]
#[non_exhaustive]
pub struct SamplingTaskRequests {
    /// `sampling/createMessage`.
    pub create_message: Option<JsonObject>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}
