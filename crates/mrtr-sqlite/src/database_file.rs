//! A database file: one that is made for its owner alone, and that is known again.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The file of a database that is open, which can check that it is still the one at its path.
///
/// A file that was deleted or replaced still takes what is written to it, and all of it is gone when the last process
/// closes it. So a store checks the file before it acknowledges anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DatabaseFile {
    path: PathBuf,
    inode: Inode,
}

impl DatabaseFile {
    /// Makes an empty file that its owner alone may read and write, unless there is one. SQLite gives what it writes
    /// beside it the same mode.
    pub(crate) fn make(path: &Path) -> io::Result<()> {
        if path.exists() {
            return Ok(());
        }
        // Under another name, and closed before it has its own: a process that closes a file loses the locks which
        // others of its threads hold on it.
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}-{}.new", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed)));
        let made = path.with_file_name(name);
        drop(for_owner_alone().open(&made)?);
        let linked = std::fs::hard_link(&made, path);
        std::fs::remove_file(&made)?;
        match linked {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            // A file system without links.
            Err(_) => match for_owner_alone().open(path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
                opened => opened.map(drop),
            },
            Ok(()) => Ok(()),
        }
    }

    /// The file that is there now.
    pub(crate) fn at(path: &Path) -> io::Result<Self> {
        let path = std::path::absolute(path)?;
        Ok(Self { inode: Inode::of(&path)?, path })
    }

    /// Fails if another file is at its path, or none.
    pub(crate) fn check(&self) -> io::Result<()> {
        let lost = |why: &str| {
            let path = self.path.display();
            io::Error::other(format!(
                "the database file {path} was {why} while it was open: nothing more is kept in it; restart the server \
                 with the file in its place"
            ))
        };
        match Inode::of(&self.path) {
            Ok(found) if found == self.inode => Ok(()),
            Ok(_) => Err(lost("replaced")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(lost("deleted")),
            Err(error) => Err(error),
        }
    }
}

/// The number of files that this process has made.
static MADE: AtomicUsize = AtomicUsize::new(0);

fn for_owner_alone() -> std::fs::OpenOptions {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// The identity of a file, which no other has while it is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Inode {
    #[cfg(unix)]
    device: u64,
    #[cfg(unix)]
    number: u64,
}

impl Inode {
    #[cfg(unix)]
    fn of(path: &Path) -> io::Result<Self> {
        use std::os::unix::fs::MetadataExt;
        let found = std::fs::metadata(path)?;
        Ok(Self { device: found.dev(), number: found.ino() })
    }

    #[cfg(not(unix))]
    fn of(path: &Path) -> io::Result<Self> {
        std::fs::metadata(path).map(|_| Self {})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_gone_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tasks.sqlite");
        DatabaseFile::make(&path).unwrap();
        let file = DatabaseFile::at(&path).unwrap();
        file.check().unwrap();
        std::fs::remove_file(&path).unwrap();
        assert!(file.check().is_err());
    }
}
