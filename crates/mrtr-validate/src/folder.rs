//! A folder of examples, laid out as `<Type>/*.json`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::Serialize;

/// One file of a folder.
#[derive(Debug, Clone)]
#[expect(clippy::exhaustive_structs, reason = "a file, and what it is to show")]
pub struct Example {
    /// The type that the file's folder names.
    pub type_name: String,
    /// The path of the file.
    pub path: PathBuf,
    /// The text of the file.
    pub text: String,
    /// The kind of the file: an example or a counter-example.
    pub kind: Kind,
}

/// The kind of a file: it shows a right message or a wrong one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[expect(clippy::exhaustive_enums, reason = "what is shown is right or wrong")]
pub enum Kind {
    /// The file shows a right message.
    Example,
    /// The file shows a wrong message.
    CounterExample,
}

/// Reads all files of a folder, `<Type>/*.json`, sorted by type and name. It fails if there are none.
pub fn examples(folder: &Path, kind: Kind) -> Result<Vec<Example>> {
    if !folder.is_dir() {
        bail!("there is no such folder");
    }
    let mut examples = Vec::new();
    for type_folder in sorted(folder)?.into_iter().filter(|path| path.is_dir()) {
        let type_name = type_folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for path in sorted(&type_folder)?.into_iter().filter(|path| path.extension().is_some_and(|e| e == "json")) {
            let text = fs::read_to_string(&path).with_context(|| format!("could not read {}", path.display()))?;
            examples.push(Example { type_name: type_name.clone(), path, text, kind });
        }
    }
    if examples.is_empty() {
        bail!("it holds no <Type>/*.json");
    }
    Ok(examples)
}

fn sorted(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("could not list {}", folder.display()))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}
