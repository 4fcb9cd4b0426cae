//! A call in a file: one process saves it, and another resumes it.

use std::fs::{self, File, TryLockError};
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use mrtr::PendingCall;
use mrtr::client::PendingTask;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::failure::Failure;
use crate::kept::Kept;
use crate::private_file::{self, Distrust};
use crate::server::Target;
use crate::shown::quoted_path;

/// A saved call.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SavedCall {
    /// The mark by which the file is known as a saved call.
    file: String,
    version: u32,
    pub(crate) target: Target,
    /// The tool's name.
    pub(crate) tool: String,
    work: Work,
    /// True if the answers of the call were sent, and the server may have acted on them. Older files do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    may_be_taken: Option<bool>,
}

/// The call or task that can be resumed.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::large_enum_variant, reason = "a process has one of it")]
enum Work {
    /// A call, with the answers so far.
    Call(PendingCall),
    /// A task at the server.
    Task(PendingTask),
}

/// The place where a call is saved.
#[derive(Debug, Clone)]
pub(crate) enum SaveTo {
    /// The file that the call came from, which is replaced.
    File(PathBuf),
    /// A new file of this name.
    New(PathBuf),
    /// A new file that is named for the tool, in the working directory, or else in the system's folder for temporary
    /// files.
    Anywhere,
}

impl SavedCall {
    pub(crate) fn new(target: Target, tool: &str, Kept { call, may_be_taken }: Kept) -> Self {
        let target = target.without_credentials();
        let (work, may_be_taken) = (Work::Call(call), Some(may_be_taken));
        Self { file: FILE.to_owned(), version: VERSION, target, tool: tool.to_owned(), work, may_be_taken }
    }

    /// The call to resume. A task that is known by its id alone is followed at this server.
    pub(crate) fn into_kept(self, here: &str) -> Kept {
        let call = match self.work {
            Work::Call(call) => call,
            Work::Task(task) if task.server().is_none() => task.trust_other_server(here).into(),
            Work::Task(task) => task.into(),
        };
        Kept::saved(call, self.may_be_taken)
    }

    /// Writes the file, and returns its path. A call that could not be read again is not written.
    pub(crate) fn write(&self, to: &SaveTo) -> Result<PathBuf> {
        let text = serde_json::to_string_pretty(self)?;
        serde_json::from_str::<Self>(&text)?;
        Ok(match to {
            SaveTo::File(path) => {
                private_file::replace(path, &text)?;
                path.clone()
            }
            // Another process may have made the file meanwhile: its call stays.
            SaveTo::New(path) if private_file::create(path, &text).is_ok() => path.clone(),
            SaveTo::New(_) | SaveTo::Anywhere => {
                let is_plain = |char: &char| char.is_ascii_alphanumeric() || "_-".contains(*char);
                let name: String = self.tool.chars().filter(is_plain).take(MAX_NAME).collect();
                let stem = format!("mrtr-{name}");
                let create = |folder: &Path| private_file::create_numbered(folder, &stem, "call.json", &text);
                // A folder that cannot be written must not lose answers.
                create(Path::new("")).or_else(|error| create(&std::env::temp_dir()).map_err(|_| error))?
            }
        })
    }

    /// Reads a saved call, and keeps its file locked while this process works on it, so that no other process does.
    pub(crate) fn take(path: &Path) -> Result<(Self, HeldFile)> {
        let mut held = HeldFile::take(path)?;
        Ok((Self::parse(path, &held.read()?)?, held))
    }

    /// Reads the state of the call in this file, as text. It starts and calls nothing, so the file may be anybody's.
    pub(crate) fn state_in(path: &Path) -> Result<String> {
        let text = fs::read_to_string(path).map_err(|error| unreadable(path, &error))?;
        match Self::parse(path, &text)?.work {
            Work::Call(call) => {
                let call = serde_json::to_value(call)?;
                let state = call["state"].as_str().map(str::to_owned);
                state.ok_or_else(|| Failure::new(format!("the call in {} has no state", path.display())).into())
            }
            Work::Task(_) => Err(Failure::new(format!("the call in {} is a task, which has no state", path.display()))
                .next("its server has it: mrtr tasks list --db FILE")
                .into()),
        }
    }

    fn parse(path: &Path, text: &str) -> Result<Self> {
        let name = path.display();
        let Some(whole) = envelope(text) else {
            bail!(
                Failure::new(format!("{name} is not a call that mrtr saved"))
                    .next("give the file that `mrtr call` named when it saved the call, or that you gave it by --save")
            );
        };
        let version = whole.get("version").cloned().unwrap_or_default();
        if version.as_u64() != Some(VERSION.into()) {
            bail!(
                Failure::new(format!(
                    "{name} was saved in version {version} of its format, and this mrtr knows version {VERSION}"
                ))
                .next("resume it with the mrtr that saved it, or make the call again")
            );
        }
        serde_json::from_str(text).map_err(|error| {
            Failure::new(format!("the call in {name} cannot be resumed: {error}"))
                .next("it was changed, or saved by another version of mrtr: make the call again")
                .into()
        })
    }

    /// Fails unless a call may be saved as this file: there must be none of its name, and its folder must exist.
    pub(crate) fn check_may_write(path: &Path) -> Result<()> {
        let is_ours = fs::read_to_string(path).is_ok_and(|text| envelope(&text).is_some());
        if is_ours && File::open(path).is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock))) {
            bail!(in_use(path).next("give --save another name"));
        }
        if is_ours {
            bail!(
                Failure::usage(format!("{} holds another saved call", path.display()))
                    .next(format!("resume that call first: mrtr resume {}", quoted_path(path)))
                    .next(format!("or discard it: rm {}", quoted_path(path)))
                    .next("or give --save another name")
            );
        }
        if path.exists() {
            bail!(
                Failure::usage(format!(
                    "{} exists already and is not a saved call: it is not overwritten",
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

/// The file of a call that this process works on. Other processes are refused until this is dropped, or the process
/// ends.
pub(crate) struct HeldFile {
    path: PathBuf,
    file: File,
}

impl HeldFile {
    fn take(path: &Path) -> Result<Self> {
        loop {
            let file = File::open(path).map_err(|error| unreadable(path, &error))?;
            if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
                bail!(
                    Failure::new(format!("{} is a folder, and not a saved call", path.display()))
                        .next("give the file that `mrtr call` named when it saved the call")
                );
            }
            check_owner(path, &file)?;
            match file.try_lock() {
                // Another process may have finished with it between the two.
                Ok(()) if !private_file::is_at(&file, path) => {}
                Ok(()) => return Ok(Self { path: path.to_owned(), file }),
                Err(TryLockError::WouldBlock) => {
                    bail!(
                        in_use(path)
                            .next("wait until that process ends: if the file is still there, resume the call again")
                    )
                }
                Err(TryLockError::Error(error)) => return Err(unreadable(path, &error)),
            }
        }
    }

    fn read(&mut self) -> Result<String> {
        let mut text = String::new();
        self.file.read_to_string(&mut text).map_err(|error| unreadable(&self.path, &error))?;
        Ok(text)
    }

    /// Removes the file: its answers are spent. Another file that has its name by now stays.
    pub(crate) fn remove(self) -> Result<()> {
        if private_file::is_at(&self.file, &self.path) {
            fs::remove_file(&self.path)?;
        }
        Ok(())
    }
}

/// Fails if another user could have written the file: it says which server to call or start, and as whom.
fn check_owner(path: &Path, file: &File) -> Result<()> {
    let name = path.display();
    match private_file::distrust(file).map_err(|error| unreadable(path, &error))? {
        None => Ok(()),
        Some(Distrust::OtherOwner) => Err(Failure::new(format!(
            "{name} belongs to another user, who may have written into it which server is started and what is answered"
        ))
        .next(format!(
            "if you have read it and want all that it says, resume a copy: cp {} mine.json; mrtr resume mine.json",
            quoted_path(path)
        ))
        .into()),
        Some(Distrust::Writable) => {
            Err(Failure::new(format!("other users may change {name}, and it says which server is called or started"))
                .next(format!("if what is in it is yours: chmod 600 {}", quoted_path(path)))
                .into())
        }
    }
}

fn unreadable(path: &Path, error: &std::io::Error) -> anyhow::Error {
    Failure::new(format!("{} cannot be read: {error}", path.display()))
        .next("give the file that `mrtr call` named when it saved the call")
        .into()
}

fn in_use(path: &Path) -> Failure {
    Failure::new(format!("another process resumes the call in {}", path.display()))
}

/// Reads a file as JSON, if it is a saved call of any version.
fn envelope(text: &str) -> Option<Value> {
    serde_json::from_str::<Value>(text).ok().filter(|whole| whole.get("file").and_then(Value::as_str) == Some(FILE))
}

/// The most characters of a tool's name in the name of its file.
const MAX_NAME: usize = 64;

const FILE: &str = "mrtr call";
const VERSION: u32 = 1;
