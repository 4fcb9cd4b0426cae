//! A file of used tokens that an earlier version wrote opens, and its tokens stay used.
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

#[path = "single_use/earlier.rs"]
mod earlier;
#[path = "single_use/tokens.rs"]
#[allow(dead_code, reason = "other tests of single use need more of it")]
mod tokens;

use std::path::Path;

use mrtr_state::SqliteSingleUse;
use tokens::NOON;

#[tokio::test]
async fn tokens_in_a_file_of_the_first_version_stay_used() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("single-use.sqlite");
    std::fs::write(&file, include_bytes!("earlier/single-use-1.sqlite")).unwrap();
    let store = SqliteSingleUse::open(file, NOON).unwrap();
    earlier::go_on(&store, include_str!("earlier/single-use-1.txt")).await;
}

/// Not a test: leaves a file of this version in the target folder, for later ones to open.
#[tokio::test]
#[ignore = "it makes what tests of later versions read"]
async fn leave_a_file() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let store = SqliteSingleUse::open(folder.join("single-use.sqlite"), NOON).unwrap();
    std::fs::write(folder.join("single-use.txt"), earlier::leave(&store).await).unwrap();
}
