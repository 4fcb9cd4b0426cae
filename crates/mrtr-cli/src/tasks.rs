//! `mrtr tasks`: the tasks in a server's file, as its operator sees them.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use anyhow::{Result, bail};
use comfy_table::{ContentArrangement, Table, presets};
use mrtr::SqliteTaskStore;
use mrtr::schema::Printable;
use mrtr::sqlite::{SqliteOpenError, SqliteOpenErrorKind};
use mrtr::tasks::record::TransitionError;
use mrtr::tasks::store::{Place, StoreError};
use mrtr::tasks::{TaskId, TaskRecord, TaskStore};
use mrtr_state::Timestamp;
use serde_json::{Value, json};

use crate::failure::{Failure, with_cause};
use crate::shown::{pretty, print};

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    #[command(subcommand)]
    command: Command,
    /// Use this SQLite file, in which a server keeps its tasks (required)
    #[arg(long, global = true, value_name = "FILE")]
    db: Option<PathBuf>,
    /// Write JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(clap::Subcommand)]
enum Command {
    /// List tasks in the order of their creation
    List {
        /// List also the tasks that have ended
        #[arg(long)]
        all: bool,
        /// List only the tasks that are set aside: their runs were lost, and they wait for `mrtr tasks retry`
        #[arg(long, conflicts_with = "all")]
        set_aside: bool,
    },
    /// Show a task's status and times, without its contents
    Show {
        /// The task's id
        id: String,
    },
    /// End a task
    Cancel {
        /// The task's id
        id: String,
    },
    /// Run a task again, even one that is set aside
    Retry {
        /// The task's id
        id: String,
    },
}

pub(crate) async fn run(options: Options) -> Result<ExitCode> {
    let Some(path) = &options.db else {
        bail!(Failure::usage("no file of tasks is named").next("--db FILE, as `mrtr serve --db FILE` has it"));
    };
    let store = match options.command {
        Command::List { .. } | Command::Show { .. } => open_to_read(path)?,
        Command::Cancel { .. } | Command::Retry { .. } => open(path)?,
    };
    match &options.command {
        Command::List { set_aside: true, .. } => list(&store, Listing::SetAside, options.json).await?,
        Command::List { all, .. } => {
            list(&store, if *all { Listing::All } else { Listing::Open }, options.json).await?;
        }
        Command::Show { id } => {
            let task = store.get(id_of(id)?, None).await.map_err(|error| refused(error, id))?;
            let members = described(&task.record, task.now);
            print(&if options.json { format!("{}\n", pretty(&members)) } else { lines(&members) })?;
        }
        Command::Cancel { id } => {
            store.cancel(id_of(id)?, None).await.map_err(|error| refused(error, id))?;
            anstream::eprintln!("the task {id} is cancelled");
        }
        Command::Retry { id } => {
            let known = id_of(id)?;
            store.retry(known).await.map_err(|error| refused(error, id))?;
            let open = store.get(known, None).await.map_err(|error| refused(error, id))?.record.open;
            if open.is_empty() {
                anstream::eprintln!("the task {id} runs as soon as a server with its tool looks into the file");
            } else {
                let open = open.join(", ");
                let open = Printable::line(&open);
                anstream::eprintln!("the task {id} runs once more, and then waits again for answers to {open}");
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Opens an existing file: a look does not make one.
fn open(path: &Path) -> Result<SqliteTaskStore> {
    check_is_file(path)?;
    SqliteTaskStore::open(path).map_err(|error| unusable(path, &error).into())
}

/// Opens an existing file, even one that this process may only read.
fn open_to_read(path: &Path) -> Result<SqliteTaskStore> {
    check_is_file(path)?;
    let opened = match SqliteTaskStore::open(path) {
        Err(error) if matches!(error.kind(), SqliteOpenErrorKind::ReadOnly) => SqliteTaskStore::open_to_read(path),
        opened => opened,
    };
    opened.map_err(|error| unusable(path, &error).into())
}

fn check_is_file(path: &Path) -> Result<(), Failure> {
    match fs::metadata(path) {
        Ok(found) if found.is_file() => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Err(forbidden(path, &error)),
        _ => Err(Failure::new(format!("there is no file {}", path.display()))
            .next("give --db the file that the server was given")),
    }
}

fn unusable(path: &Path, error: &SqliteOpenError) -> Failure {
    let name = path.display();
    match (error.kind(), File::open(path)) {
        // SQLite says of a file that it may not read only that it cannot open it.
        (_, Err(error)) => forbidden(path, &error),
        (SqliteOpenErrorKind::NotOurs { .. } | SqliteOpenErrorKind::Sqlite(_), Ok(_)) => {
            Failure::new(format!("{name} is not a file of tasks: {}", with_cause(error.kind())))
                .next("give --db the file that the server was given")
        }
        (_, Ok(_)) => Failure::new(format!("{name} cannot be used: {}", with_cause(error.kind()))),
    }
}

fn forbidden(path: &Path, error: &io::Error) -> Failure {
    Failure::new(format!("{} cannot be read: {error}", path.display())).next("run this as the user who runs the server")
}

fn id_of(text: &str) -> Result<TaskId> {
    text.parse().map_err(|_| {
        Failure::usage(format!("`{}` is not the id of a task: an id has 32 hexadecimal digits", Printable::line(text)))
            .next("`mrtr tasks list` has them")
            .into()
    })
}

fn refused(error: StoreError, id: &str) -> anyhow::Error {
    match error {
        StoreError::NotFound => {
            Failure::new(format!("there is no task {id}")).next("`mrtr tasks list --all` has all that are kept").into()
        }
        StoreError::Refused(TransitionError::Ended) => Failure::new(format!("the task {id} has ended already"))
            .next(format!("its end: mrtr tasks show {id}"))
            .into(),
        other => other.into(),
    }
}

/// A choice of tasks to list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Listing {
    Open,
    All,
    SetAside,
}

impl Listing {
    fn has(self, record: &TaskRecord, now: Timestamp) -> bool {
        match self {
            Self::All => true,
            Self::Open => record.end(now).is_none(),
            Self::SetAside => record.end(now).is_none() && record.set_aside.is_some(),
        }
    }

    /// The message when there are none.
    const fn none(self) -> &'static str {
        match self {
            Self::All => "There are no tasks.",
            Self::Open => "There are no open tasks (--all lists those that have ended).",
            Self::SetAside => "No task is set aside.",
        }
    }
}

async fn list(store: &SqliteTaskStore, listing: Listing, as_json: bool) -> Result<()> {
    let now = store.now().await?;
    let mut tasks = Vec::new();
    records(store, |record| tasks.extend(listing.has(record, now).then(|| described(record, now)))).await?;
    let text = match (as_json, tasks.is_empty()) {
        (true, _) => pretty(&Value::Array(tasks)),
        (false, true) => listing.none().to_owned(),
        (false, false) => table(&tasks),
    };
    print(&format!("{text}\n"))
}

/// Reads the records of all tasks, in the order of their creation.
pub(crate) async fn records(store: &SqliteTaskStore, mut read: impl FnMut(&TaskRecord)) -> Result<()> {
    let mut after = None::<Place>;
    loop {
        let page = store.list(None, after, PAGE).await?;
        let Some(last) = page.last() else { return Ok(()) };
        after = Some(last.place);
        for listed in page {
            read(&listed.record);
        }
    }
}

/// Returns the audience of the keys with which a task was created; empty if its owner is not as this version writes it.
pub(crate) fn audience_of(record: &TaskRecord) -> String {
    let owner: Value = serde_json::from_str(record.owner.as_str()).unwrap_or_default();
    owner[0].as_str().unwrap_or_default().to_owned()
}

/// Describes a task, for a person or a program.
fn described(record: &TaskRecord, now: Timestamp) -> Value {
    let status = record.end(now).map_or_else(|| status_of(record, now), |end| end.as_str().to_owned());
    let waits_for = match (record.end(now), record.leased_until, record.due) {
        (Some(_), ..) => "nothing".to_owned(),
        _ if record.set_aside.is_some() => "an operator: mrtr tasks retry".to_owned(),
        (None, Some(_), _) => "its run".to_owned(),
        (None, None, Some(due)) => format!("a run in {}", rounded(due.since(now))),
        (None, None, None) => format!("answers to {}", record.open.join(", ")),
    };
    json!({
        "id": record.id.to_string(),
        "tool": record.tool,
        "status": status,
        "waitsFor": waits_for,
        "age": rounded(now.since(record.created)),
        "created": written(record.created),
        "updated": written(record.updated),
        "expires": record.expires().map(written),
        "audience": audience_of(record),
        "owner": record.owner.as_str(),
        "revision": record.revision.to_string(),
        "runs": record.fence,
        "lostRuns": record.lost_runs,
        "setAside": record.set_aside.map(written),
    })
}

fn status_of(record: &TaskRecord, now: Timestamp) -> String {
    let status = serde_json::to_value(record.status(now)).unwrap_or_default();
    status.as_str().unwrap_or_default().to_owned()
}

fn table(tasks: &[Value]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    let mut columns = vec![("id", "id"), ("tool", "tool"), ("status", "status"), ("waitsFor", "waits for")];
    columns.extend([("age", "age"), ("runs", "runs")]);
    // A server continues only the tasks of its own audience.
    if tasks.iter().any(|task| task["audience"] != tasks[0]["audience"]) {
        columns.push(("audience", "audience"));
    }
    table.set_header(columns.iter().map(|(_, title)| *title));
    for task in tasks {
        table.add_row(columns.iter().map(|(member, _)| cell(&task[*member])));
    }
    // The table fills each line with blanks up to its width.
    let lines: Vec<_> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    lines.join("\n")
}

fn lines(task: &Value) -> String {
    let members = task.as_object().into_iter().flatten();
    let lines: Vec<_> = members.map(|(name, value)| format!("{name:10} {}", cell(value))).collect();
    format!("{}\n", lines.join("\n"))
}

fn cell(value: &Value) -> String {
    match value {
        Value::String(text) => Printable::line(text).to_string(),
        Value::Null => "never".to_owned(),
        other => other.to_string(),
    }
}

fn rounded(time: Duration) -> String {
    humantime::format_duration(Duration::from_secs(time.as_secs())).to_string()
}

fn written(moment: Timestamp) -> String {
    humantime::format_rfc3339_seconds(
        SystemTime::UNIX_EPOCH + Duration::from_millis(moment.as_millis().min(LAST_WRITTEN)),
    )
    .to_string()
}

const PAGE: usize = 500;

const EXAMPLES: &str = "\
Examples:
  mrtr tasks list --db tasks.sqlite
  mrtr tasks list --set-aside --db tasks.sqlite
  mrtr tasks show 4f1c… --db tasks.sqlite
  mrtr tasks retry 4f1c… --db tasks.sqlite
  mrtr tasks cancel 4f1c… --db tasks.sqlite";

/// The last second of the year 9999, in milliseconds since 1970: no later time can be written.
const LAST_WRITTEN: u64 = 253_402_300_799_000;
