//! What a server offers, counted: for a transport to say when it begins to serve.

use super::parts::Parts;

/// What a server offers, counted. [`Server::inventory`](crate::Server::inventory) makes it.
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
    /// How many tools there are.
    pub tools: usize,
    /// How many prompts there are.
    pub prompts: usize,
    /// How many resources there are, each template counted once.
    pub resources: usize,
    /// Whether another instance, or this one after a restart, opens the states that it seals.
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
