//! Page Deployment, section "Backup and restore": its commands, run as they stand there; and its table of counters.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use mrtr::prelude::*;
use mrtr::server::{TaskPolicy, testing};
use mrtr_postgres::PostgresStore;
use mrtr_postgres::testing::Cluster;

use crate::page;

#[data]
struct Name {
    name: String,
}

async fn greet(flow: Flow) -> Result<String> {
    let Name { name } = flow.elicit("name", "Who are you?").await?;
    Ok(format!("Hello, {name}"))
}

/// A server whose calls become tasks.
fn server(tasks: &Tasks) -> Result<Server> {
    let greet = Tool::new("greet", greet).tasks(TaskPolicy::IfPossible);
    let server = Server::builder("greeter", "1.0.0").sealer(Sealer::this_process_only()).tool(greet);
    Ok(server.extension(tasks.clone()).build()?)
}

/// Makes a task that waits for an answer.
async fn make_task(server: &Server) {
    let client = testing::Client::new(server).declaring_extension("io.modelcontextprotocol/tasks");
    let call = client.call_tool("greet", json!({})).await;
    assert_eq!(call.response()["result"]["resultType"], "task");
}

async fn count(tasks: &Tasks) -> Result<usize> {
    Ok(tasks.view(None, 10).await?.len())
}

/// Runs lines of the page, with other folders than an operator's.
fn run(lines: &str, folder: &Path, database: &str) -> Result<()> {
    let script = lines.replace("/var/lib/shop", "live").replace("/var/backups/shop", "backup");
    let mut shell = Command::new("sh");
    let output = shell.args(["-e", "-c", &script]).current_dir(folder).env("DATABASE", database).output()?;
    assert!(output.status.success(), "{output:?}");
    Ok(())
}

/// The block of the page with this in it.
fn block(has: &str) -> Result<&'static str> {
    Ok(page::blocks("sh").find(|block| block.contains(has)).ok_or("the page has such a block")?.text)
}

#[cfg(unix)]
#[tokio::test]
async fn a_copy_of_the_file_by_sqlite_has_all_tasks_and_can_be_restored() -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    if Command::new("sqlite3").arg("--version").output().is_err() {
        assert!(std::env::var_os("CI").is_none(), "sqlite3 is not installed, and CI leaves nothing out");
        // Not by a macro, whose output the test harness would keep to itself.
        std::io::stderr().write_all(b"left out: sqlite3 is not installed\n")?;
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let [live, backup] = ["live", "backup"].map(|name| folder.path().join(name));
    std::fs::create_dir(&live)?;
    std::fs::create_dir(&backup)?;
    let (file, copied) = (live.join("shop.sqlite"), backup.join("alone.sqlite"));

    let database = SqliteDatabase::open(&file)?;
    let tasks = Tasks::new(database.tasks());
    let server = server(&tasks)?;
    make_task(&server).await;
    std::fs::copy(&file, &copied)?;
    let copy = SqliteDatabase::open(&copied)?;
    assert_eq!(count(&Tasks::new(copy.tasks())).await?, 0, "a copy of the file alone lacks it");
    run(block("VACUUM INTO")?, folder.path(), "")?;
    let mode = std::fs::metadata(backup.join("shop.sqlite"))?.permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    make_task(&server).await;
    assert_eq!(count(&tasks).await?, 2);
    tasks.shut_down().await;
    drop((server, tasks, database));
    run(block("rm -f")?, folder.path(), "")?;
    let database = SqliteDatabase::open(&file)?;
    assert_eq!(count(&Tasks::new(database.tasks())).await?, 1, "as it was");
    Ok(())
}

#[tokio::test]
async fn a_dump_of_postgresql_is_restored_as_it_was() -> Result<()> {
    // It says that it was left out, and in CI fails.
    let Some(cluster) = Cluster::shared() else { return Ok(()) };
    let (folder, address) = (tempfile::tempdir()?, cluster.fresh_database()?);
    let tasks = Tasks::new(PostgresStore::connect(&address).await?);
    let server = server(&tasks)?;
    make_task(&server).await;
    let (dump, restore) = block("pg_dump")?.split_once('\n').ok_or("a dump, and its restore")?;
    run(dump, folder.path(), &address)?;
    make_task(&server).await;
    tasks.shut_down().await;
    drop((server, tasks));
    run(restore, folder.path(), &address)?;
    let tasks = Tasks::new(PostgresStore::connect(&address).await?);
    assert_eq!(count(&tasks).await?, 1);
    Ok(())
}

/// The table has each counter of the crates, and no other.
#[test]
fn each_counter_is_in_the_table() {
    let text = include_str!("../../../docs/guide/DEPLOYMENT.md");
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `mrtr_")?.split('`').next());
    let listed: BTreeSet<_> = rows.map(str::to_owned).collect();
    let mut counted = BTreeSet::new();
    for file in ["mrtr-flow/src/engine/state/steps.rs", "mrtr-server/src/support/metrics.rs", "mrtr-tasks/src/count.rs"]
    {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates").join(file);
        let source = std::fs::read_to_string(source).expect("it can be read");
        let names = source.split("!(\"mrtr_").skip(1).filter_map(|rest| rest.split('"').next());
        counted.extend(names.map(str::to_owned));
    }
    assert_eq!(listed, counted);
}
