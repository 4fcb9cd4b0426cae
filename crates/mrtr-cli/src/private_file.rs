//! Files that are for their owner's eyes only: answers, states and keys.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Writes a new file, and never over another.
pub(crate) fn create(path: &Path, text: &str) -> io::Result<()> {
    let mut file = create_new(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Writes a file in the place of the one that is there, all of it or nothing.
pub(crate) fn replace(path: &Path, text: &str) -> io::Result<()> {
    let mut beside = path.file_name().unwrap_or_default().to_owned();
    beside.push(format!(".{}.new", std::process::id()));
    let beside = path.with_file_name(beside);
    // What a process of this number left behind is of no use.
    drop(fs::remove_file(&beside));
    create(&beside, text).and_then(|()| fs::rename(&beside, path)).inspect_err(|_| drop(fs::remove_file(&beside)))
}

/// Writes a new file of this name, or with a number in it if there is one, and says which.
pub(crate) fn create_numbered(stem: &str, extension: &str, text: &str) -> io::Result<PathBuf> {
    for number in 1..=MOST_NUMBERS {
        let number = if number == 1 { String::new() } else { format!("-{number}") };
        let path = PathBuf::from(format!("{stem}{number}.{extension}"));
        match create(&path, text) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
            Ok(()) => return Ok(path),
        }
    }
    Err(io::Error::other(format!("there are {MOST_NUMBERS} files of the name {stem} already")))
}

#[cfg(unix)]
fn create_new(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

#[cfg(not(unix))]
fn create_new(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

/// Whether other users of the machine may change it: then it is not its owner who says what is in it.
#[cfg(unix)]
pub(crate) fn is_writable_by_others(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o022 != 0)
}

#[cfg(not(unix))]
pub(crate) fn is_writable_by_others(_: &Path) -> bool {
    false
}

const MOST_NUMBERS: u32 = 1000;
