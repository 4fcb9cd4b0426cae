//! What a server of flows says of itself, as rmcp's types have it.

use std::collections::HashMap;

use mrtr_schema::{Revision, Wire};
use mrtr_server::Server;
use rmcp::model::{Implementation, ServerCapabilities, ServerConfig, Tool};
use serde::de::DeserializeOwned;

/// What a server of flows says of itself. It does not change while the server lives.
pub(super) struct Declared {
    info: Implementation,
    instructions: Option<String>,
    /// To a client that discovers.
    pub(super) modern: ServerCapabilities,
    /// To one that initializes.
    pub(super) legacy: ServerCapabilities,
    /// The tools that rmcp's transport asks for by name, to compare headers with arguments.
    pub(super) tools: HashMap<String, Tool>,
}

impl Declared {
    pub(super) fn of(server: &Server) -> Self {
        let offers = server.offers();
        let tools = offers.tools().filter_map(|tool| Some((tool.name.clone(), converted(tool)?)));
        Self {
            info: converted(offers.info()).unwrap_or_default(),
            instructions: offers.instructions().map(str::to_owned),
            modern: converted(&offers.capabilities(Revision::default())).unwrap_or_default(),
            legacy: converted(&offers.capabilities(NEWEST_LEGACY)).unwrap_or_default(),
            tools: tools.collect(),
        }
    }

    /// What rmcp is told of a server that has these flows and nothing else.
    pub(super) fn config(&self) -> ServerConfig {
        let mut config = ServerConfig::new(self.modern.clone()).with_server_info(self.info.clone());
        config.instructions.clone_from(&self.instructions);
        config
    }
}

/// The revision whose capabilities a client gets that initializes: those of older ones are no others.
const NEWEST_LEGACY: Revision = Revision::LEGACY[Revision::LEGACY.len() - 1];

/// What both can do.
pub(super) fn union(ours: &ServerCapabilities, mut theirs: ServerCapabilities) -> ServerCapabilities {
    if let Some(extensions) = &ours.extensions {
        theirs.extensions.get_or_insert_default().extend(extensions.clone());
    }
    if let Some(experimental) = &ours.experimental {
        theirs.experimental.get_or_insert_default().extend(experimental.clone());
    }
    theirs.logging = ours.logging.clone().or(theirs.logging);
    theirs.completions = ours.completions.clone().or(theirs.completions);
    theirs.prompts = ours.prompts.clone().or(theirs.prompts);
    theirs.tools = ours.tools.clone().or(theirs.tools);
    theirs.resources = ours.resources.clone().or(theirs.resources);
    theirs
}

/// What has one form on the wire, as rmcp's type for it.
fn converted<F: Wire, T: DeserializeOwned>(ours: &F) -> Option<T> {
    let text = ours.to_json(Revision::default()).ok()?;
    serde_json::from_str(&text)
        .inspect_err(|error| tracing::error!(%error, "rmcp has no type for what the server says of itself"))
        .ok()
}
