//! `mrtr tasks`: the tasks in a server's file, as its operator sees them.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use anyhow::{Result, bail};
use comfy_table::{ContentArrangement, Table, presets};
use mrtr::SqliteTaskStore;
use mrtr::schema::Printable;
use mrtr::tasks::record::TransitionError;
use mrtr::tasks::store::{Place, StoreError};
use mrtr::tasks::{TaskId, TaskRecord, TaskStore};
use mrtr_state::Timestamp;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::shown::{pretty, print};

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    #[command(subcommand)]
    command: Command,
    /// The SQLite file in which a server keeps its tasks
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
        /// List only the tasks that are set aside: their runs were lost, and they wait for `retry`
        #[arg(long, conflicts_with = "all")]
        set_aside: bool,
    },
    /// Show a task: what is known of it, and nothing of what it holds
    Show {
        /// The task's id
        id: String,
    },
    /// End a task
    Cancel {
        /// The task's id
        id: String,
    },
    /// Run a task again, however many of its runs were lost, also if it is set aside
    Retry {
        /// The task's id
        id: String,
    },
}

pub(crate) async fn run(options: Options) -> Result<ExitCode> {
    let Some(path) = &options.db else {
        bail!(Failure::usage("no file of tasks is named").next("--db FILE, as `mrtr serve --db FILE` has it"));
    };
    let store = open(path)?;
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
            store.retry(id_of(id)?).await.map_err(|error| refused(error, id))?;
            anstream::eprintln!("the task {id} runs as soon as a server with its tool polls the file");
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Opens an existing file: a look does not make one.
fn open(path: &Path) -> Result<SqliteTaskStore> {
    if !path.is_file() {
        bail!(
            Failure::new(format!("there is no file {}", path.display()))
                .next("give --db the file that the server was given")
        );
    }
    SqliteTaskStore::open(path).map_err(|error| {
        let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
        Failure::new(format!("{} is not a file of tasks: {error}{cause}", path.display()))
            .next("give --db the file that the server was given")
            .into()
    })
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
            .next(format!("`mrtr tasks show {id}` says how"))
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
    let (mut tasks, mut after) = (Vec::new(), None::<Place>);
    loop {
        let page = store.list(None, after, PAGE).await?;
        let Some(last) = page.last() else { break };
        after = Some(last.place);
        let listed = page.into_iter().map(|listed| listed.record).filter(|record| listing.has(record, now));
        tasks.extend(listed.map(|record| described(&record, now)));
    }
    let text = match (as_json, tasks.is_empty()) {
        (true, _) => pretty(&Value::Array(tasks)),
        (false, true) => listing.none().to_owned(),
        (false, false) => table(&tasks),
    };
    print(&format!("{text}\n"))
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
    table.set_header(["id", "tool", "status", "waits for", "age", "runs"]);
    for task in tasks {
        table.add_row(["id", "tool", "status", "waitsFor", "age", "runs"].map(|member| cell(&task[member])));
    }
    table.to_string()
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
