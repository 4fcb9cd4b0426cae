//! Files that only their owner may read: answers, states and keys.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Writes a new file. It fails where a file of that name exists, and never overwrites one.
pub(crate) fn create(path: &Path, text: &str) -> io::Result<()> {
    let mut file = create_new(path)?;
    // A file that was written in part, for example on a full disk, is of no use and would block its name.
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).inspect_err(|_| drop(fs::remove_file(path)))
}

/// Replaces a file in one step: all of it, or nothing.
pub(crate) fn replace(path: &Path, text: &str) -> io::Result<()> {
    let beside = beside(path);
    // A file that an earlier process of this number left behind is of no use.
    drop(fs::remove_file(&beside));
    create(&beside, text).and_then(|()| fs::rename(&beside, path)).inspect_err(|_| drop(fs::remove_file(&beside)))
}

/// Writes another text into an existing file, which keeps its owner, its mode and all of its names.
///
/// A file is replaced in one step, all of it or nothing, also behind a symbolic link. A file with several names (hard
/// links) would lose them by that, so it is written in place; the new text is beside it until that is done.
pub(crate) fn rewrite(path: &Path, text: &str) -> io::Result<()> {
    let path = fs::canonicalize(path)?;
    let (before, beside) = (fs::metadata(&path)?, beside(&path));
    drop(fs::remove_file(&beside));
    let made = create_new(&beside).and_then(|mut new| {
        new.write_all(text.as_bytes())?;
        keep_owner(&before, &new)?;
        new.sync_all()
    });
    if has_other_names(&before) {
        // The text beside it stays whole if this one is written in part.
        made.and_then(|()| write_over(&path, text))?;
        return fs::remove_file(&beside);
    }
    made.and_then(|()| fs::rename(&beside, &path)).inspect_err(|_| drop(fs::remove_file(&beside)))
}

fn write_over(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).open(path)?;
    file.write_all(text.as_bytes())?;
    file.set_len(text.len() as u64)?;
    file.sync_all()
}

#[cfg(unix)]
fn has_other_names(file: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    file.nlink() > 1
}

#[cfg(not(unix))]
fn has_other_names(_: &fs::Metadata) -> bool {
    false
}

/// Gives a new file the owner, the group and the mode of another.
#[cfg(unix)]
fn keep_owner(of: &fs::Metadata, new: &File) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};
    let made = new.metadata()?;
    if (of.uid(), of.gid()) != (made.uid(), made.gid()) {
        fchown(new, Some(of.uid()), Some(of.gid()))?;
    }
    // The mode comes last, since a change of owner may clear some of its bits.
    new.set_permissions(of.permissions())
}

#[cfg(not(unix))]
fn keep_owner(of: &fs::Metadata, new: &File) -> io::Result<()> {
    new.set_permissions(of.permissions())
}

/// Returns a name in the same folder, for the new file that will replace this one.
fn beside(path: &Path) -> PathBuf {
    let mut beside = path.file_name().unwrap_or_default().to_owned();
    beside.push(format!(".{}.new", std::process::id()));
    path.with_file_name(beside)
}

/// Writes a new file of this name into a folder, with a number in it if the name is taken, and returns its path.
pub(crate) fn create_numbered(folder: &Path, stem: &str, extension: &str, text: &str) -> io::Result<PathBuf> {
    for number in 1..=MOST_NUMBERS {
        let number = if number == 1 { String::new() } else { format!("-{number}") };
        let path = folder.join(format!("{stem}{number}.{extension}"));
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

/// The reason not to trust a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Distrust {
    /// The file belongs to another user, who decides what is in it.
    OtherOwner,
    /// Other users of the machine may change it.
    Writable,
}

/// Returns the reason, if any, not to take the file's content as its reader's own word. It asks the open file, since
/// another file may have its name by now.
#[cfg(unix)]
pub(crate) fn distrust(file: &File) -> io::Result<Option<Distrust>> {
    use std::os::unix::fs::MetadataExt;
    let metadata = file.metadata()?;
    let is_others = metadata.uid() != rustix::process::geteuid().as_raw();
    let is_writable = metadata.mode() & 0o022 != 0;
    Ok(is_others.then_some(Distrust::OtherOwner).or(is_writable.then_some(Distrust::Writable)))
}

#[cfg(not(unix))]
pub(crate) fn distrust(_: &File) -> io::Result<Option<Distrust>> {
    Ok(None)
}

/// Returns true if the open file is still the one at this path.
#[cfg(unix)]
pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let place = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    let (open, there) = (file.metadata().map(place), fs::metadata(path).map(place));
    open.is_ok_and(|open| there.is_ok_and(|there| open == there))
}

#[cfg(not(unix))]
pub(crate) fn is_at(_: &File, path: &Path) -> bool {
    path.exists()
}

const MOST_NUMBERS: u32 = 1000;
