//! A call in a file: put down by one process, and picked up by another.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use mrtr::PendingCall;
use mrtr::client::PendingTask;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::failure::Failure;
use crate::private_file;
use crate::server::Target;

/// A call that was put down.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SavedCall {
    /// What the file is.
    file: String,
    version: u32,
    pub(crate) target: Target,
    /// The tool.
    pub(crate) tool: String,
    pub(crate) work: Work,
}

/// What there is to go on with.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::large_enum_variant, reason = "a process has one of it")]
pub(crate) enum Work {
    /// A call, with what was answered.
    Call(PendingCall),
    /// A task at the server.
    Task(PendingTask),
}

/// Where a call goes that is put down.
#[derive(Debug, Clone)]
pub(crate) enum SaveTo {
    /// The person said where.
    File(PathBuf),
    /// A file that is named for the tool.
    Anywhere,
}

impl SavedCall {
    pub(crate) fn new(target: Target, tool: &str, work: Work) -> Self {
        Self { file: FILE.to_owned(), version: VERSION, target, tool: tool.to_owned(), work }
    }

    /// Writes it down, and says where. What could not be read again is not written.
    pub(crate) fn write(&self, to: &SaveTo) -> Result<PathBuf> {
        let text = serde_json::to_string_pretty(self)?;
        serde_json::from_str::<Self>(&text)?;
        Ok(match to {
            SaveTo::File(path) => {
                private_file::replace(path, &text)?;
                path.clone()
            }
            SaveTo::Anywhere => {
                let name: String =
                    self.tool.chars().filter(|char| char.is_ascii_alphanumeric() || "_-".contains(*char)).collect();
                private_file::create_numbered(&format!("mrtr-{name}"), "call.json", &text)?
            }
        })
    }

    pub(crate) fn read(path: &Path) -> Result<Self> {
        let name = path.display();
        let text = fs::read_to_string(path).map_err(|error| {
            Failure::new(format!("{name} cannot be read: {error}"))
                .next("give the file that `mrtr call` named when it saved the call")
        })?;
        let Some(whole) = envelope(&text) else {
            bail!(
                Failure::new(format!("{name} is no call that mrtr has saved"))
                    .next("give the file that `mrtr call` named when it saved the call, or that you gave it by --save")
            );
        };
        if private_file::is_writable_by_others(path) {
            bail!(
                Failure::new(format!("other users may change {name}, and it says which server is called or started"))
                    .next(format!("if what is in it is yours: chmod 600 {name}"))
            );
        }
        let version = whole.get("version").cloned().unwrap_or_default();
        if version.as_u64() != Some(VERSION.into()) {
            bail!(
                Failure::new(format!(
                    "{name} was saved in version {version} of its format, and this mrtr knows version {VERSION}"
                ))
                .next("resume it with the mrtr that saved it, or make the call again")
            );
        }
        serde_json::from_str(&text).map_err(|error| {
            Failure::new(format!("the call in {name} cannot be gone on with: {error}"))
                .next("it was changed, or saved by another version of mrtr: make the call again")
                .into()
        })
    }

    /// Whether a file may be written over: there is none, or it is one of ours.
    pub(crate) fn check_may_write(path: &Path) -> Result<()> {
        let is_ours = fs::read_to_string(path).is_ok_and(|text| envelope(&text).is_some());
        if path.exists() && !is_ours {
            bail!(
                Failure::usage(format!(
                    "{} is there already, and is no saved call: it is not written over",
                    path.display()
                ))
                .next("give --save another name")
            );
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if folder.is_some_and(|folder| !folder.is_dir()) {
            bail!(Failure::usage(format!("there is no folder for {}", path.display())).next("make it first"));
        }
        Ok(())
    }
}

/// The members of a file of ours, of any version.
fn envelope(text: &str) -> Option<Value> {
    serde_json::from_str::<Value>(text).ok().filter(|whole| whole.get("file").and_then(Value::as_str) == Some(FILE))
}

const FILE: &str = "mrtr call";
const VERSION: u32 = 1;
