//! The stores of the demo server: in memory, or in a file.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use anyhow::Result;
use mrtr::server::Guard;
use mrtr::sqlite::{SqliteOpenError, SqliteOpenErrorKind};
use mrtr::tasks::{MemoryTaskStore, TaskStore, Tasks};
use mrtr::{SqliteDatabase, SqliteSingleUse, SqliteTaskStore};
use mrtr_state::MemorySingleUse;

use crate::failure::{Failure, with_cause};
use crate::tasks::{audience_of, records};

pub(super) struct Stores {
    pub(super) tasks: Tasks,
    /// Keeps which states of `charge` were used.
    pub(super) single_use: Guard,
    /// The open tasks of other audiences, counted by audience: this server does not find them.
    pub(super) of_others: BTreeMap<String, usize>,
}

/// Opens the file, or keeps all in memory without one. `audience` is that of the server's keys.
pub(super) async fn open(db: Option<&Path>, audience: &str) -> Result<Stores> {
    let now = SystemTime::now().into();
    let Some(path) = db else {
        let single_use = Guard::new(Arc::new(MemorySingleUse::new(now)));
        return Ok(Stores { tasks: Tasks::new(MemoryTaskStore::default()), single_use, of_others: BTreeMap::new() });
    };
    check_place(path)?;
    let mut beside = path.as_os_str().to_owned();
    beside.push("-single-use");
    let beside = PathBuf::from(beside);
    // An earlier version kept a file for it, and only that file knows which states were used.
    let (tasks, single_use) = if beside.exists() {
        let tasks = SqliteTaskStore::open(path).map_err(|error| unusable(path, &error))?;
        let single_use = SqliteSingleUse::open(&beside, now).map_err(|error| unusable(&beside, &error))?;
        (tasks, single_use)
    } else {
        let database = SqliteDatabase::open(path).map_err(|error| unusable(path, &error))?;
        (database.tasks(), database.single_use())
    };
    let of_others = of_others(&tasks, audience).await?;
    Ok(Stores { tasks: Tasks::new(tasks), single_use: Guard::new(Arc::new(single_use)), of_others })
}

/// Counts the open tasks of other audiences.
async fn of_others(store: &SqliteTaskStore, audience: &str) -> Result<BTreeMap<String, usize>> {
    let now = store.now().await?;
    let mut counts = BTreeMap::new();
    records(store, |record| {
        let theirs = audience_of(record);
        if record.end(now).is_none() && theirs != audience {
            *counts.entry(theirs).or_default() += 1;
        }
    })
    .await?;
    Ok(counts)
}

/// Fails where no file can be, before one is made.
fn check_place(path: &Path) -> Result<(), Failure> {
    let is_postgres = |text: &str| text.starts_with("postgres://") || text.starts_with("postgresql://");
    // It may hold a password, and is not repeated.
    if path.to_str().is_some_and(is_postgres) {
        return Err(Failure::usage("`mrtr serve` keeps tasks in an SQLite file, and not in PostgreSQL")
            .next("give --db a file, such as --db tasks.sqlite"));
    }
    if path.is_dir() {
        return Err(Failure::usage(format!("{} is a folder", path.display()))
            .next(format!("give --db a file in it: --db {}", path.join("tasks.sqlite").display())));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if folder
        .is_some_and(|folder| matches!(fs::metadata(folder), Err(error) if error.kind() == io::ErrorKind::NotFound))
    {
        return Err(Failure::usage(format!("there is no folder for {}", path.display())).next("make it first"));
    }
    Ok(())
}

fn unusable(path: &Path, error: &SqliteOpenError) -> Failure {
    // SQLite says of a file that it may not read only that it cannot open it.
    let forbidden = match error.kind() {
        SqliteOpenErrorKind::File(error) => Some(io::Error::from(error.kind())),
        _ => File::open(path).err(),
    }
    .filter(|error| error.kind() == io::ErrorKind::PermissionDenied);
    let name = path.display();
    if let Some(forbidden) = forbidden {
        return Failure::new(format!("{name} cannot be used: {forbidden}"))
            .next("give this process the right to read and write the file and its folder");
    }
    let failure = Failure::new(format!("{name} cannot be used: {}", with_cause(error.kind())));
    match error.kind() {
        SqliteOpenErrorKind::NotOurs { .. } | SqliteOpenErrorKind::Sqlite(_) => {
            failure.next("give --db a file that mrtr made, or one that does not exist yet")
        }
        SqliteOpenErrorKind::Newer { .. } => failure.next("serve it with the newer mrtr that wrote it"),
        SqliteOpenErrorKind::NotShared => failure.next("give --db a file on a local disk"),
        // These say what to do, or name a failure of the system.
        _ => failure,
    }
}
