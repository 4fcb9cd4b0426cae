//! Instances on one SQLite file, by a clock that a test moves.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mrtr_server::Tool;
use mrtr_server::testing::FixedClock;
use mrtr_sqlite::SqliteTaskStore;
use mrtr_state::Sealer;
use mrtr_tasks::TaskOptions;
use tempfile::TempDir;

use crate::support::{Site, sealer};

/// A file of tasks, which is removed at the end.
pub(crate) struct File {
    folder: TempDir,
    pub(crate) clock: FixedClock,
}

impl File {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), clock: FixedClock::default() }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("tasks.sqlite")
    }

    /// A store over it, with a connection of its own, as another process has.
    pub(crate) fn store(&self) -> Arc<SqliteTaskStore> {
        Arc::new(SqliteTaskStore::open_with_clock(self.path(), Arc::new(self.clock.clone())).unwrap())
    }

    /// An instance over it.
    pub(crate) fn instance(&self, tool: Tool) -> Site {
        self.sealed_by(Some(sealer()), tool)
    }

    pub(crate) fn sealed_by(&self, sealer: Option<Sealer>, tool: Tool) -> Site {
        let options = TaskOptions::default().look_interval(Duration::from_millis(20)).grace(Duration::from_secs(1));
        Site::sealed_by(sealer, self.store(), options, [tool])
    }

    /// All bytes of it and of what SQLite writes beside it.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let files = std::fs::read_dir(self.folder.path()).unwrap().map(|entry| entry.unwrap().path());
        files.flat_map(|file| std::fs::read(file).unwrap()).collect()
    }

    pub(crate) fn contains(&self, marker: &str) -> bool {
        self.bytes().windows(marker.len()).any(|window| window == marker.as_bytes())
    }
}
