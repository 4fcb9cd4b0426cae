//! The contents of a script.

use std::fs;
use std::path::Path;

use indexmap::IndexMap;
use mrtr_server::StatePolicy;
use serde::Deserialize;
use serde_json::Value;

/// A transcript of a document.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Script {
    /// The document and the section.
    pub(crate) title: String,
    pub(crate) revision: String,
    /// The capabilities that the client declares, if not everything that the protocol defines.
    pub(crate) capabilities: Option<Value>,
    /// The servers that answer. They share their keys.
    pub(crate) servers: IndexMap<String, ServerOfScript>,
    pub(crate) exchanges: Vec<Exchange>,
    #[serde(skip)]
    pub(crate) file: String,
}

/// A server: which handler it has, and when its replies carry a state.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ServerOfScript {
    pub(crate) handler: String,
    pub(crate) state_policy: Policy,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Policy {
    Always,
    WhenNeeded,
}

impl From<Policy> for StatePolicy {
    fn from(policy: Policy) -> Self {
        match policy {
            Policy::Always => Self::Always,
            Policy::WhenNeeded => Self::WhenNeeded,
        }
    }
}

/// A request and the reply to it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Exchange {
    /// The place of the two messages in the document, and what of them it leaves to us.
    #[serde(rename = "from")]
    pub(crate) source: String,
    /// The server on which the request lands.
    pub(crate) server: String,
    pub(crate) request: Value,
    pub(crate) reply: Value,
    #[serde(default)]
    pub(crate) differs: Vec<Difference>,
}

/// A place where our reply is not the document's.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Difference {
    /// A JSON pointer into the reply.
    pub(crate) at: String,
    /// The document's value there; absent, if it has nothing.
    pub(crate) document: Option<Value>,
    pub(crate) because: String,
}

impl Script {
    /// Every script of the folder.
    pub(crate) fn all() -> Vec<Self> {
        let mut files: Vec<_> = fs::read_dir(FOLDER).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files.retain(|file| file.is_file() && file.extension().is_none_or(|extension| extension != "rs"));
        files.iter().map(|file| Self::load(file)).collect()
    }

    fn load(file: &Path) -> Self {
        let script = serde_json::from_str(&fs::read_to_string(file).unwrap());
        let script = script.unwrap_or_else(|error| panic!("{} is not a script: {error}", file.display()));
        let file = file.file_stem().unwrap().to_string_lossy().into_owned();
        Self { file, ..script }
    }

    pub(crate) fn handlers(&self) -> impl Iterator<Item = &str> {
        self.servers.values().map(|server| server.handler.as_str())
    }
}

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/transcripts");
