//! `mrtr tasks`: what an operator sees and does.

use std::time::SystemTime;

use mrtr::SqliteSingleUse;
use serde_json::Value;

use crate::demo::Demo;
use crate::program::run;

#[test]
fn tasks_are_listed_shown_retried_and_cancelled() {
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::start_with(folder.path(), &["--port", "0", "--db", "tasks.sqlite"]);
    let tasks = |arguments: &[&str]| run(folder.path(), &[&["tasks"], arguments, &["--db", "tasks.sqlite"]].concat());
    tasks(&["list"]).gives("There are no open tasks (--all lists those that have ended).\n");
    run(folder.path(), &["call", &demo.url, "echo", "--save", "echo.json"]).says(4, &[]);

    let listed: Value = serde_json::from_str(&tasks(&["list", "--json"]).out).unwrap();
    let id = listed[0]["id"].as_str().unwrap();
    assert_eq!(
        (&listed[0]["status"], &listed[0]["waitsFor"]),
        (&"input_required".into(), &"answers to echo_input".into())
    );
    tasks(&["list", "--set-aside"]).gives("No task is set aside.\n");
    let table = tasks(&["list"]).out;
    assert!(table.contains(id) && table.contains("answers to echo_input"), "{table}");
    let shown = tasks(&["show", id]).out;
    assert!(shown.contains("tool       echo\n") && shown.contains("lostRuns   0\n"), "{shown}");
    tasks(&["retry", id]).says(0, &["runs as soon as a server with its tool polls the file"]);
    tasks(&["cancel", id]).says(0, &["is cancelled"]);
    tasks(&["cancel", id]).says(1, &["has ended already", "says how"]);
    assert!(tasks(&["show", id]).out.contains("status     cancelled\n"));
    assert!(tasks(&["list", "--all"]).out.contains("cancelled"));
    tasks(&["list"]).gives("There are no open tasks (--all lists those that have ended).\n");
    let over = run(folder.path(), &["resume", "echo.json"]);
    over.says(1, &["the task was cancelled", "the file of the call stays; to remove it: rm echo.json"]);
    assert!(!over.err.contains("the call is saved"), "{}", over.err);
}

#[test]
fn a_task_is_cancelled_by_who_has_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::start_with(folder.path(), &["--port", "0", "--db", "tasks.sqlite"]);
    run(folder.path(), &["call", &demo.url, "echo", "--save", "echo.json"]).says(4, &[]);
    run(folder.path(), &["resume", "echo.json", "--cancel"]).says(0, &["is cancelled"]);
    let listed = run(folder.path(), &["tasks", "list", "--all", "--db", "tasks.sqlite"]);
    assert!(listed.out.contains("cancelled"), "{}", listed.out);
    run(folder.path(), &["call", &demo.url, "weather", "city=Oslo", "--save", "call.json"]).says(4, &[]);
    run(folder.path(), &["resume", "call.json", "--cancel"]).says(2, &["the call is not a task", "remove the file"]);
}

#[test]
fn what_is_no_file_of_tasks_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let list = |db: &str| run(folder.path(), &["tasks", "list", "--db", db]);
    list("nothing.sqlite").says(1, &["there is no file nothing.sqlite", "that the server was given"]);
    assert!(!folder.path().join("nothing.sqlite").exists(), "a look makes none");
    let text = "this is no database, and long enough to be looked at";
    std::fs::write(folder.path().join("notes.txt"), text).unwrap();
    list("notes.txt").says(1, &["notes.txt is not a file of tasks", "that the server was given"]);
    assert_eq!(std::fs::read_to_string(folder.path().join("notes.txt")).unwrap(), text);
    run(folder.path(), &["tasks", "list"]).says(2, &["no file of tasks is named", "--db FILE"]);
    Demo::start_with(folder.path(), &["--port", "0", "--db", "tasks.sqlite"]).kill();
    let show = |id: &str| run(folder.path(), &["tasks", "show", id, "--db", "tasks.sqlite"]);
    show("echo").says(2, &["`echo` is not the id of a task", "`mrtr tasks list` has them"]);
    show(&"0".repeat(32)).says(1, &["there is no task 0000", "`mrtr tasks list --all`"]);
    assert!(!folder.path().join("tasks.sqlite-single-use").exists(), "one file has all that is kept");
    // A database of another kind, from an earlier version: used states. The server continues with it.
    drop(SqliteSingleUse::open(folder.path().join("tasks.sqlite-single-use"), SystemTime::now().into()).unwrap());
    Demo::start_with(folder.path(), &["--port", "0", "--db", "tasks.sqlite"]).kill();
    assert!(folder.path().join("tasks.sqlite-single-use-wal").exists(), "it was opened");
    list("tasks.sqlite-single-use").says(1, &["is not a file of tasks: the file is a database, but not one of tasks"]);
}
