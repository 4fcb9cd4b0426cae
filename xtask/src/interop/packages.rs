//! The packages of other SDKs: installed at pinned versions, while something else is done.

use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};

use anyhow::{Result, anyhow};

use super::python;
use crate::{metadata, npm};

/// The packages that come over the network, on their way.
pub(crate) struct Installation(JoinHandle<Result<Packages>>);

/// Where they are.
pub(super) struct Packages {
    pub(super) node: PathBuf,
    pub(super) npm: PathBuf,
    pub(super) python_1: PathBuf,
    pub(super) python_2: PathBuf,
}

impl Installation {
    /// Nothing where the packages cannot be had: without npm or Python, unless a CI relies on them.
    pub(crate) fn begin() -> Result<Option<Self>> {
        let is_possible = (npm::is_there() && python::is_there()) || std::env::var_os("CI").is_some();
        is_possible.then(Self::begin_anyway).transpose()
    }

    pub(super) fn begin_anyway() -> Result<Self> {
        let metadata = metadata::read()?;
        // Node is where the conformance suite has it, if that was installed.
        let conformance = metadata.target_directory.join("conformance");
        let folder = folder(&metadata.target_directory);
        Ok(Self(thread::spawn(move || {
            let npm = npm::install("interop/node", &folder)?;
            let python_1 = python::install("interop/python-1", &folder)?;
            let python_2 = python::install("interop/python-2", &folder)?;
            Ok(Packages { node: npm::node(&conformance)?, npm, python_1, python_2 })
        })))
    }

    pub(super) fn finish(self) -> Result<Packages> {
        self.0.join().map_err(|_| anyhow!("the installation panicked"))?
    }
}

/// Where packages are kept, and what a run writes.
pub(super) fn folder(target: &Path) -> PathBuf {
    target.join("interop")
}
