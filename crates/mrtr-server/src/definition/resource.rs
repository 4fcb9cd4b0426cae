//! Resources: at one URI, or at all URIs of a template; their handlers are flows.

mod template;

use mrtr_flow::{Failure, Flow};
use mrtr_schema::content::{Annotations, ResourceContents};
use mrtr_schema::resources::ReadResourceResult;
use mrtr_schema::{CachingHints, JsonObject, ReadError};

use crate::definition::completion::{Completer, Completers, Completing};
use crate::definition::handler::{Handler, HandlerArguments, HandlerCall, HandlerFuture, IntoHandler};
use crate::definition::settings::{FlowSettings, shared_setters};
use crate::definition::text_members::TextMembers;
use crate::error::BuildError;
use template::{UriTemplate, is_absolute};

/// A resource that a server offers at one URI.
///
/// ```
/// use mrtr_server::{Failure, Flow, Resource};
///
/// async fn read(_: Flow) -> Result<&'static str, Failure> {
///     Ok("# Guide")
/// }
///
/// let resource = Resource::new("docs://guide", "guide", read).mime_type("text/markdown");
/// ```
pub struct Resource {
    definition: mrtr_schema::resources::Resource,
    pub(crate) reader: Reader,
    schema: Result<JsonObject, ReadError>,
}

/// Resources that a server offers at all URIs of a template.
///
/// Its variables are the arguments of its handler. A variable such as `{id}` stands for the text between two slashes,
/// and one with a plus, such as `{+path}`, for any text. The server decodes what is percent-encoded in the URI, so
/// either may hold a slash, two dots, or anything else: a handler that opens files must check where it ends up. If the
/// values cannot be read as the handler's type, the client learns that there is no such resource. A handler says the
/// same with [`ProtocolError::resource_not_found`](crate::ProtocolError::resource_not_found).
///
/// ```
/// use mrtr_server::{Failure, Flow, ResourceTemplate};
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Bug { id: u64 }
///
/// async fn read(_: Flow, bug: Bug) -> Result<String, Failure> {
///     Ok(format!("Bug #{}", bug.id))
/// }
///
/// let bugs = ResourceTemplate::new("tracker://bugs/{id}", "bug", read);
/// ```
pub struct ResourceTemplate {
    definition: mrtr_schema::resources::ResourceTemplate,
    pub(crate) reader: Reader,
    schema: Result<JsonObject, ReadError>,
    completers: Completers,
}

/// The reader of a resource: its handler, the settings of its flows, and its caching hints.
pub(crate) struct Reader {
    pub(crate) handler: Handler<ReadResourceResult>,
    pub(crate) settings: FlowSettings,
    pub(crate) caching: CachingHints,
}

impl Reader {
    fn new(handler: Handler<ReadResourceResult>) -> Self {
        Self { handler, settings: FlowSettings::default(), caching: CachingHints::do_not_keep() }
    }

    /// Fills in what only the server knows: where the contents are, of what type, and how long they keep.
    pub(crate) fn finish(&self, result: &mut ReadResourceResult, uri: &str, mime_type: Option<&str>, is_policed: bool) {
        for contents in &mut result.contents {
            let (place, kind) = match contents {
                ResourceContents::Text(text) => (&mut text.uri, &mut text.mime_type),
                ResourceContents::Blob(blob) => (&mut blob.uri, &mut blob.mime_type),
            };
            if place.is_empty() {
                uri.clone_into(place);
                *kind = kind.take().or_else(|| mime_type.map(str::to_owned));
            }
        }
        match result.caching.ttl_ms {
            None => result.caching = self.caching.clone(),
            Some(_) => drop(result.caching.cache_scope.get_or_insert_default()),
        }
        // Another user may not be allowed to read it.
        if is_policed || !self.settings.scopes.is_empty() {
            result.caching.keep_private();
        }
    }
}

/// Writes the setters that resources and templates have in common.
macro_rules! resource_settings {
    ($($resource:ident)*) => {$(
        impl $resource {
            /// Sets the MIME type of the contents.
            #[must_use]
            pub fn mime_type(self, mime_type: impl Into<String>) -> Self {
                self.define(|resource| resource.mime_type = Some(mime_type.into()))
            }

            /// Sets which readers the contents are for, and how much they matter.
            #[must_use]
            pub fn annotations(self, annotations: Annotations) -> Self {
                self.define(|resource| resource.annotations = Some(annotations))
            }

            /// Changes any other member of the definition that clients see.
            #[must_use]
            pub fn define(mut self, change: impl FnOnce(&mut mrtr_schema::resources::$resource)) -> Self {
                change(&mut self.definition);
                self
            }

            /// Sets how long clients may keep the contents, where the handler does not say it. By default, they may not
            /// keep them.
            #[must_use]
            pub fn caching(mut self, hints: CachingHints) -> Self {
                self.reader.caching = hints;
                self
            }

        }

        shared_setters!(
            $resource,
            reader.settings,
            /// Says what it is.
        );
    )*};
}
resource_settings!(Resource ResourceTemplate);

impl Resource {
    /// A resource at this URI.
    pub fn new<M, H>(uri: impl Into<String>, name: impl Into<String>, handler: H) -> Self
    where
        // An `IntoHandler<M, ReadResourceResult>`, written in its parts, so that the compiler explains the one that
        // does not hold, and shows its line.
        H: HandlerCall<M> + Send + Sync + 'static,
        H::Arguments: HandlerArguments,
        H::Future: HandlerFuture<ReadResourceResult>, // `Send`: across an `.await`, `Arc` for `Rc`, no lock guard of std's
    {
        let erased = handler.erase();
        Self {
            definition: mrtr_schema::resources::Resource::new(uri, name),
            reader: Reader::new(erased.handler),
            schema: erased.input_schema,
        }
    }

    pub(crate) fn prepare(self) -> Result<PreparedResource, BuildError> {
        let Self { definition, reader, schema } = self;
        if !is_absolute(&definition.uri) {
            return Err(BuildError::Uri { name: definition.name, uri: definition.uri });
        }
        let schema = schema.map_err(|reason| BuildError::Schema { name: definition.name.clone(), reason })?;
        let never = |reason| BuildError::Arguments { name: definition.uri.clone(), reason };
        let members = TextMembers::of(&schema).map_err(never)?;
        if let Some(member) = members.without_variable(&[]) {
            let reason =
                format!("its handler needs `{member}`, and one URI has no variables: make it a `ResourceTemplate`");
            return Err(never(reason));
        }
        Ok(PreparedResource { definition, reader })
    }
}

impl ResourceTemplate {
    /// Resources at all URIs of this template.
    pub fn new<M, H>(uri_template: impl Into<String>, name: impl Into<String>, handler: H) -> Self
    where
        // An `IntoHandler<M, ReadResourceResult>`, written in its parts, so that the compiler explains the one that
        // does not hold, and shows its line.
        H: HandlerCall<M> + Send + Sync + 'static,
        H::Arguments: HandlerArguments,
        H::Future: HandlerFuture<ReadResourceResult>, // `Send`: across an `.await`, `Arc` for `Rc`, no lock guard of std's
    {
        let erased = handler.erase();
        Self {
            definition: mrtr_schema::resources::ResourceTemplate::new(uri_template, name),
            reader: Reader::new(erased.handler),
            schema: erased.input_schema,
            completers: Completers::default(),
        }
    }

    /// Completes a variable while the user types it.
    #[must_use]
    pub fn complete<C, F, E>(mut self, variable: impl Into<String>, completer: C) -> Self
    where
        C: Fn(Flow, Completing) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Vec<String>, E>> + Send + 'static,
        E: Into<Failure> + 'static,
    {
        self.completers.insert(variable.into(), Completer::new(completer));
        self
    }

    pub(crate) fn prepare(self) -> Result<PreparedTemplate, BuildError> {
        let Self { definition, reader, schema, completers } = self;
        let template = &definition.uri_template;
        let uris = UriTemplate::parse(template)
            .map_err(|reason| BuildError::UriTemplate { template: template.clone(), reason })?;
        if !uris.matches_absolute() {
            return Err(BuildError::Uri { name: definition.name.clone(), uri: template.clone() });
        }
        let schema = schema.map_err(|reason| BuildError::Schema { name: definition.name.clone(), reason })?;
        let never = |reason| BuildError::Arguments { name: template.clone(), reason };
        let members = TextMembers::of(&schema).map_err(never)?;
        if let Some(member) = members.without_variable(&uris.variables()) {
            let reason = format!("its handler needs `{member}`, and the template has no `{{{member}}}`");
            return Err(never(reason));
        }
        completers.check(template, &uris.variables())?;
        Ok(PreparedTemplate { definition, reader, completers, uris, members })
    }
}

/// A resource that is ready to be read.
pub(crate) struct PreparedResource {
    pub(crate) definition: mrtr_schema::resources::Resource,
    pub(crate) reader: Reader,
}

/// A template whose resources are ready to be read.
pub(crate) struct PreparedTemplate {
    pub(crate) definition: mrtr_schema::resources::ResourceTemplate,
    pub(crate) reader: Reader,
    pub(crate) completers: Completers,
    uris: UriTemplate,
    members: TextMembers,
}

impl PreparedTemplate {
    /// The handler's arguments, if the URI matches the template.
    pub(crate) fn arguments(&self, uri: &str) -> Option<JsonObject> {
        let values = self.uris.matches(uri)?;
        Some(self.members.object(values.iter().map(|(name, value)| (name.as_str(), value.as_str()))))
    }
}
