//! The file itself: its mode, and one that is deleted, replaced or not to be written.

use std::time::Duration;

use mrtr_sqlite::{SqliteOpenErrorKind, SqliteSingleUse};
use mrtr_state::SingleUse;

use crate::tokens::{NOON, seal, use_of};
use crate::unprivileged;

const LEASE: Duration = Duration::from_secs(30);

/// It holds what people answered and what tools replied.
#[tokio::test]
async fn the_file_and_what_sqlite_writes_beside_it_are_for_their_owner_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("private.sqlite");
    let store = SqliteSingleUse::open(&path, NOON).unwrap();
    store.reserve(&use_of(&seal(NOON), "accept"), LEASE, NOON).await.unwrap();
    let modes: Vec<_> = folder.path().read_dir().unwrap().map(|file| mode(&file.unwrap().path())).collect();
    assert_eq!(modes, [0o600; 3], "the file, its log and the index of that");
    drop(store);
}

fn mode(path: &std::path::Path) -> u32 {
    std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(path).unwrap().permissions()) & 0o777
}

#[tokio::test]
async fn a_file_that_was_deleted_or_replaced_takes_nothing_more() {
    for is_replaced in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deleted.sqlite");
        let store = SqliteSingleUse::open(&path, NOON).unwrap();
        store.reserve(&use_of(&seal(NOON), "accept"), LEASE, NOON).await.unwrap();
        let other = folder.path().join("other.sqlite");
        std::fs::copy(&path, &other).unwrap();
        std::fs::remove_file(&path).unwrap();
        if is_replaced {
            std::fs::rename(&other, &path).unwrap();
        }
        let refused = store.reserve(&use_of(&seal(NOON), "accept"), LEASE, NOON).await.unwrap_err();
        let said = std::iter::successors(Some(&refused as &dyn std::error::Error), |error| error.source());
        let said = said.map(ToString::to_string).collect::<Vec<_>>().join(": ");
        assert!(said.contains(if is_replaced { "replaced" } else { "deleted" }), "{said}");
    }
}

#[test]
fn a_file_that_cannot_be_written_is_refused_at_the_start() {
    let refused = |path: &std::path::Path| {
        let opened = SqliteSingleUse::open(path, NOON);
        let error = opened.map(drop).expect_err("it cannot be written");
        assert!(matches!(error.kind(), SqliteOpenErrorKind::ReadOnly), "{error:?}");
        assert!(error.to_string().starts_with(&format!("{}: the file cannot be written", path.display())), "{error}");
    };
    if let Some(path) = std::env::var_os(READ_ONLY) {
        return refused(std::path::Path::new(&path));
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("read-only.sqlite");
    drop(SqliteSingleUse::open(&path, NOON).unwrap());
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o444)).unwrap();
    let test = "file::a_file_that_cannot_be_written_is_refused_at_the_start";
    unprivileged::run_again(test, READ_ONLY, &path, folder.path());
}

const READ_ONLY: &str = "MRTR_TEST_READ_ONLY";
