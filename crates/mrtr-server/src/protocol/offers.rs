//! The offers of a server: by name, for a host that has offers of its own beside these, and counted, for the log.

use std::fmt;

use mrtr_schema::{Era, Implementation, Revision, ServerCapabilities, Tool};

use crate::definition::parts::Parts;
use crate::round::others;

/// The offers of a server, for a host that has tools, prompts or resources of its own and must know which are the
/// server's. [`Server::offers`](crate::Server::offers) makes it.
///
/// ```
/// use mrtr_schema::Revision;
/// use mrtr_server::{Failure, Flow, Server, Tool};
///
/// let greet = Tool::new("greet", async |_: Flow| Ok::<_, Failure>("Hello"));
/// let server = Server::builder("greeter", "1.0.0").tool(greet).build()?;
/// let offers = server.offers();
/// assert!(offers.has_tool("greet") && !offers.has_prompt("greet") && !offers.reads("greetings://hello"));
/// assert!(offers.capabilities(Revision::default()).tools.is_some());
/// assert_eq!(offers.info().name, "greeter");
/// assert_eq!(offers.tools().next().unwrap().name, "greet");
/// # Ok::<(), mrtr_server::BuildError>(())
/// ```
#[derive(Clone, Copy)]
pub struct Offers<'a>(&'a Parts);

impl<'a> Offers<'a> {
    pub(crate) fn of(parts: &'a Parts) -> Self {
        Self(parts)
    }

    /// The tools, in the order in which they were registered.
    pub fn tools(&self) -> impl Iterator<Item = &'a Tool> + use<'a> {
        self.0.tools.values().map(|tool| &tool.definition)
    }

    /// Returns true if there is a tool of this name.
    pub fn has_tool(&self, name: &str) -> bool {
        self.0.tools.contains_key(name)
    }

    /// Returns true if there is a prompt of this name.
    pub fn has_prompt(&self, name: &str) -> bool {
        self.0.prompts.contains_key(name)
    }

    /// Returns true if there is a resource of this URI, or a template that matches it.
    pub fn reads(&self, uri: &str) -> bool {
        others::is_read(self.0, uri)
    }

    /// Returns true if there is a template with exactly this text.
    pub fn has_template(&self, template: &str) -> bool {
        self.0.templates.contains_key(template)
    }

    /// Returns the capabilities that the server declares in a revision: those of a session for one of the legacy era.
    pub fn capabilities(&self, revision: Revision) -> ServerCapabilities {
        if revision.era() == Era::Legacy {
            self.0.session_capabilities(revision)
        } else {
            self.0.capabilities(revision)
        }
    }

    /// The server's name, version and other information about itself.
    pub fn info(&self) -> &'a Implementation {
        &self.0.results.info
    }

    /// The instructions that tell a model how to use the server.
    pub fn instructions(&self) -> Option<&'a str> {
        self.0.instructions.as_deref()
    }
}

impl fmt::Debug for Offers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Offers").field("of", &self.info().name).finish_non_exhaustive()
    }
}

/// The offers of a server, counted. [`Server::inventory`](crate::Server::inventory) makes it.
///
/// ```
/// use mrtr_server::Server;
///
/// let inventory = Server::builder("empty", "1.0.0").build()?.inventory();
/// assert_eq!((inventory.name.as_str(), inventory.tools), ("empty", 0));
/// # Ok::<(), mrtr_server::BuildError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Inventory {
    /// The server's name.
    pub name: String,
    /// The server's version.
    pub version: String,
    /// The number of tools.
    pub tools: usize,
    /// The number of prompts.
    pub prompts: usize,
    /// The number of resources, each template counted once.
    pub resources: usize,
    /// True if another instance, or this one after a restart, opens the states that it seals.
    pub states_outlive_process: bool,
}

impl Inventory {
    pub(crate) fn of(parts: &Parts) -> Self {
        Self {
            name: parts.results.info.name.clone(),
            version: parts.results.info.version.clone(),
            tools: parts.tools.len(),
            prompts: parts.prompts.len(),
            resources: parts.resources.len() + parts.templates.len(),
            states_outlive_process: parts.shared.sealer.outlives_process(),
        }
    }
}
