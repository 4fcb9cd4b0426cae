//! `mrtr tasks`: what an operator sees and does.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::time::SystemTime;

use mrtr::SqliteSingleUse;
use serde_json::Value;

use crate::demo::Demo;
use crate::program::{command, run};

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
    assert!(table.contains(id) && table.contains("answers to echo_input") && !table.contains("audience"), "{table}");
    assert!(table.lines().all(|line| line.trim_end() == line), "{table}");
    let shown = tasks(&["show", id]).out;
    assert!(shown.contains("tool       echo\n") && shown.contains("lostRuns   0\n"), "{shown}");
    tasks(&["retry", id]).says(0, &["runs once more, and then waits again for answers to echo_input"]);
    tasks(&["cancel", id]).says(0, &["is cancelled"]);
    tasks(&["cancel", id]).says(1, &["has ended already", "its end: mrtr tasks show"]);
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

/// Other users may look at a file that they may not write, while its server runs and after.
#[test]
fn tasks_are_listed_from_a_file_that_can_only_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::start_with(folder.path(), &["--port", "0", "--db", "tasks.sqlite"]);
    run(folder.path(), &["call", &demo.url, "echo", "--save", "echo.json"]).says(4, &[]);
    let set = |mode: u32, folder_mode: u32| {
        for entry in fs::read_dir(folder.path()).unwrap() {
            fs::set_permissions(entry.unwrap().path(), Permissions::from_mode(mode)).unwrap();
        }
        fs::set_permissions(folder.path(), Permissions::from_mode(folder_mode)).unwrap();
    };
    let reads = || {
        let mut tasks = command(folder.path(), &["tasks", "list", "--db", "tasks.sqlite"]);
        // The administrator may write everything.
        if fs::metadata(folder.path()).unwrap().uid() == 0 {
            tasks.uid(65534).gid(65534);
        }
        let listed = tasks.output().unwrap();
        (String::from_utf8(listed.stdout).unwrap(), String::from_utf8(listed.stderr).unwrap())
    };
    set(0o444, 0o555);
    let (listed, refused) = reads();
    assert!(listed.contains("answers to echo_input"), "{refused}");
    // It writes to the file itself at its end.
    set(0o644, 0o755);
    demo.tell_to_end();
    demo.said.iter().for_each(drop);
    set(0o444, 0o555);
    let (listed, refused) = reads();
    assert!(listed.contains("answers to echo_input"), "{refused}");
    set(0o000, 0o555);
    let (_, refused) = reads();
    assert!(refused.contains("tasks.sqlite cannot be read: Permission denied"), "{refused}");
    set(0o644, 0o755);
}

#[test]
fn what_is_no_file_of_tasks_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let list = |db: &str| run(folder.path(), &["tasks", "list", "--db", db]);
    list("nothing.sqlite").says(1, &["there is no file nothing.sqlite", "that the server was given"]);
    assert!(!folder.path().join("nothing.sqlite").exists(), "a look makes none");
    let text = "this is no database, and long enough to be looked at";
    fs::write(folder.path().join("notes.txt"), text).unwrap();
    list("notes.txt").says(1, &["notes.txt is not a file of tasks", "that the server was given"]);
    assert_eq!(fs::read_to_string(folder.path().join("notes.txt")).unwrap(), text);
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
