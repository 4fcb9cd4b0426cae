//! What a server is built of.

use std::num::NonZeroUsize;
use std::sync::Arc;

use mrtr_flow::for_server::ByName;
use mrtr_schema::meta::ResultMeta;
use mrtr_schema::{CachingHints, Implementation};

use super::extension::Extension;
use super::middleware::Middleware;
use super::prompt::PreparedPrompt;
use super::reservations::Held;
use super::resource::{PreparedResource, PreparedTemplate};
use super::tool::PreparedTool;
use crate::definition::shared::Shared;
use crate::support::lease_thread::LeaseThread;

/// What a server was built of. It does not change while the server lives.
pub(crate) struct Parts {
    pub(crate) results: ResultWriter,
    pub(crate) instructions: Option<String>,
    pub(crate) shared: Arc<Shared>,
    /// Renews what rounds have reserved.
    pub(crate) reservations: LeaseThread<Held>,
    pub(crate) tools: ByName<PreparedTool>,
    pub(crate) prompts: ByName<PreparedPrompt>,
    pub(crate) resources: ByName<PreparedResource>,
    pub(crate) templates: ByName<PreparedTemplate>,
    pub(crate) lists: Lists,
    pub(crate) extensions: Vec<Arc<dyn Extension>>,
    pub(crate) middleware: Vec<Arc<dyn Middleware>>,
}

impl Parts {
    pub(crate) fn has_resources(&self) -> bool {
        !self.resources.is_empty() || !self.templates.is_empty()
    }

    pub(crate) fn completes(&self) -> bool {
        self.prompts.values().any(|prompt| !prompt.completers.is_empty())
            || self.templates.values().any(|template| !template.completers.is_empty())
    }
}

/// Whose results these are.
pub(crate) struct ResultWriter {
    pub(crate) info: Implementation,
    /// The server's name as it stands in the metadata of results.
    pub(crate) signature: String,
}

impl ResultWriter {
    pub(crate) fn new(info: Implementation) -> Self {
        Self { signature: signature(&info), info }
    }
}

/// How lists are given out.
#[derive(Debug, Clone)]
pub(crate) struct Lists {
    pub(crate) page_size: NonZeroUsize,
    pub(crate) caching: CachingHints,
}

/// The metadata of a result that has no other.
fn signature(info: &Implementation) -> String {
    let mut meta = ResultMeta::new();
    meta.server_info = Some(info.clone());
    let meta = serde_json::to_string(&meta).expect("a name is JSON");
    format!("\"_meta\":{meta}")
}
