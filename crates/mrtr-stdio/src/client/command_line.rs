//! The digest of a command line: it tells servers apart that one program starts, and gives no secret of them away.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::process::Command;

use sha2::{Digest, Sha256};

/// A digest of all that the caller has said of the process: the program, its arguments, the working directory and the
/// environment variables that are set or removed. It is the same in every process.
pub(super) fn digest(command: &Command) -> String {
    let mut digest = Sha256::new_with_prefix(b"mrtr stdio server 1");
    part(&mut digest, b'p', command.get_program());
    command.get_args().for_each(|argument| part(&mut digest, b'a', argument));
    if let Some(folder) = command.get_current_dir() {
        part(&mut digest, b'd', folder.as_os_str());
    }
    // They come in the order of their names, whichever was set first.
    for (name, value) in command.get_envs() {
        part(&mut digest, b'n', name);
        if let Some(value) = value {
            part(&mut digest, b'v', value);
        }
    }
    let mut text = String::with_capacity(2 * SHOWN);
    for byte in &digest.finalize()[..SHOWN] {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// A part, after its kind and its length: what stands in one part is never taken for two.
fn part(digest: &mut Sha256, kind: u8, text: &OsStr) {
    let bytes = text.as_encoded_bytes();
    digest.update([kind]);
    digest.update((bytes.len() as u64).to_be_bytes());
    digest.update(bytes);
}

/// How many bytes of the digest are kept: no other command line is found that has them.
const SHOWN: usize = 16;
