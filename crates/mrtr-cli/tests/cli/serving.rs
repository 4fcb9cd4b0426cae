//! `mrtr serve`: the addresses and files that it takes, what it warns of, its log and its end.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use crate::demo::Demo;
use crate::program::{command, run};
use crate::putting_down::made_keys;

#[test]
fn an_address_is_written_as_an_address_or_as_localhost() {
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::start_with(folder.path(), &["--port", "0", "--listen", "localhost"]);
    assert!(demo.url.starts_with("http://127.0.0.1:"), "{}", demo.url);
    let refused = |address: &str| run(folder.path(), &["serve", "--listen", address]);
    for (address, remedy) in [
        ("127.0.0.1:18311", "the port goes into --port: --listen 127.0.0.1 --port 18311"),
        ("localhost:8000", "the port goes into --port: --listen localhost --port 8000"),
        ("[::1]:8000", "the port goes into --port: --listen [::1] --port 8000"),
        ("mcp.example.com", "write an IP address: 127.0.0.1"),
    ] {
        refused(address).says(2, &[&format!("`{address}` is not an address to listen on"), remedy]);
    }
    // Of this machine or not: either is an address.
    for address in ["::1", "[::1]"] {
        run(folder.path(), &["serve", "--listen", address, "--state-keys", "nowhere"])
            .says(1, &["the keys cannot be used"]);
    }
}

#[test]
fn a_host_is_written_alone() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |host: &str| run(folder.path(), &["serve", "--port", "0", "--allow-host", host]);
    for host in ["http://bar.example.com/", "https://bar.example.com:8443/mcp?x", "bar.example.com:99"] {
        refused(host)
            .says(2, &[&format!("`{host}` is not a host"), "write the host alone: --allow-host bar.example.com\n"]);
    }
    for host in ["", "*.example.com", "http://", "a b"] {
        refused(host).says(2, &[&format!("`{host}` is not a host"), "such as --allow-host mcp.example.com"]);
    }
    let arguments = ["--port", "0", "--allow-host", "bar.example.com", "--allow-host", "::1"];
    let demo = Demo::start_with(folder.path(), &arguments);
    assert!(demo.introduction.contains("127.0.0.1, ::1, bar.example.com, ::1 ("), "{}", demo.introduction);
    assert!(demo.introduction.contains("everyone whom a proxy on it lets through"), "{}", demo.introduction);
}

#[test]
fn a_file_of_tasks_that_cannot_be_had_names_the_cause_and_its_remedy() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("made")).unwrap();
    let refused = |db: &str| run(folder.path(), &["serve", "--port", "0", "--db", db]);
    refused("nowhere/t.sqlite").says(2, &["there is no folder for nowhere/t.sqlite", "make it first"]);
    refused("made").says(2, &["made is a folder", "give --db a file in it: --db made/tasks.sqlite"]);
    let postgres = refused("postgres://ann:secret@db/mrtr");
    postgres.says(2, &["keeps tasks in an SQLite file, and not in PostgreSQL", "--db tasks.sqlite"]);
    assert!(!postgres.err.contains("secret"), "{}", postgres.err);
}

#[test]
fn beyond_loopback_it_warns_of_a_key_that_ends_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let everywhere = ["--port", "0", "--listen", "0.0.0.0"];
    let demo = Demo::start_with(folder.path(), &everywhere);
    assert!(demo.introduction.contains("warning: others may call this server"), "{}", demo.introduction);
    let keys = made_keys(folder.path());
    let demo = Demo::start_with(folder.path(), &[&everywhere[..], &["--state-keys", &keys]].concat());
    assert!(!demo.introduction.contains("warning"), "{}", demo.introduction);
}

#[test]
fn the_log_names_the_setting_without_being_asked() {
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::start(folder.path());
    let listed = run(folder.path(), &["tools", &demo.url, "--header", "Host: shop.example.com"]);
    assert_eq!(listed.code, Some(1), "{}", listed.out);
    let line = demo.said.recv().unwrap();
    assert!(line.contains("a request was refused") && line.contains("or --allow-host of `mrtr serve`"), "{line}");

    run(folder.path(), &["call", &demo.url, "weather", "city=Oslo", "--save", "call.json"]).says(4, &[]);
    let port = demo.port();
    demo.kill();
    let demo = Demo::start_with(folder.path(), &["--port", &port]);
    fs::write(folder.path().join("answers.json"), r#"{"login": {"user": "ada"}}"#).unwrap();
    let resumed = run(folder.path(), &["resume", "call.json", "--answers", "answers.json"]);
    assert_eq!(resumed.code, Some(1), "{}", resumed.out);
    let line = demo.said.recv().unwrap();
    assert!(line.contains("a request state was refused") && line.contains("--state-keys FILE"), "{line}");
    assert!(!demo.introduction.contains("INFO") && !demo.introduction.contains("WARN"), "{}", demo.introduction);
}

#[test]
fn it_says_which_tasks_of_its_file_it_does_not_serve() {
    let folder = tempfile::tempdir().unwrap();
    let keys = made_keys(folder.path());
    let without = ["--port", "0", "--db", "tasks.sqlite"];
    let with = [&without[..], &["--state-keys", &keys]].concat();
    let call = |demo: &Demo, file: &str| {
        run(folder.path(), &["call", &demo.url, "echo", "--save", file]).says(4, &[]);
    };
    let demo = Demo::start_with(folder.path(), &without);
    assert!(
        demo.introduction.contains("warning: without --state-keys, tasks in tasks.sqlite"),
        "{}",
        demo.introduction
    );
    call(&demo, "one.json");
    demo.kill();
    let demo = Demo::start_with(folder.path(), &with);
    let said = "warning: 1 open task in tasks.sqlite belongs to `this-process`, and this server does not continue";
    assert!(demo.introduction.contains(said), "{}", demo.introduction);
    call(&demo, "two.json");
    call(&demo, "three.json");
    demo.kill();
    let listed = run(folder.path(), &["tasks", "list", "--db", "tasks.sqlite"]).out;
    assert!(listed.contains("audience") && listed.contains("this-process") && listed.contains("mrtr-demo"), "{listed}");
    let demo = Demo::start_with(folder.path(), &without);
    let said = "warning: 2 open tasks in tasks.sqlite belong to `mrtr-demo`";
    assert!(demo.introduction.contains(said), "{}", demo.introduction);
    assert!(!demo.introduction.contains("`this-process`"), "{}", demo.introduction);

    let stdio = says_over_stdio(folder.path(), &["serve", "--stdio", "--db", "tasks.sqlite", "--state-keys", &keys]);
    assert!(stdio.contains("1 open task in tasks.sqlite belongs to `this-process`"), "{stdio}");
}

/// Runs a server whose client leaves at once.
fn says_over_stdio(folder: &Path, arguments: &[&str]) -> String {
    let ran = command(folder, arguments).stdin(Stdio::null()).output().unwrap();
    String::from_utf8(ran.stderr).unwrap()
}

#[test]
fn with_notice_it_fails_its_probe_before_it_refuses_connections() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["--port", "0", "--probes", "--shutdown-notice", "600", "--shutdown-timeout", "700"];
    let demo = Demo::start_with(folder.path(), &arguments);
    assert!(demo.get("/readyz", "localhost").unwrap().starts_with("HTTP/1.1 200"));
    demo.tell_to_end();
    assert!(demo.said.iter().any(|line| line.contains("requests are taken for 600 s more, and /readyz fails")));
    let probe = demo.get("/readyz", "localhost").expect("connections are still taken");
    assert!(probe.starts_with("HTTP/1.1 503"), "{probe}");
    assert_eq!(run(folder.path(), &["tools", &demo.url]).code, Some(0), "requests are served");
    drop(demo);

    run(folder.path(), &["serve", "--shutdown-notice", "5"]).says(
        2,
        &["a --shutdown-notice of 5 s leaves nothing of the --shutdown-timeout of 5 s", "--shutdown-timeout 10"],
    );
    let demo = Demo::start_with(folder.path(), &["--port", "0", "--shutdown-timeout", "77"]);
    demo.tell_to_end();
    assert!(demo.said.iter().any(|line| line.contains("open requests have 77 s")));
}

#[test]
fn a_path_that_it_does_not_serve_is_answered_with_a_text() {
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::start(folder.path());
    for path in ["/", "/mcp/", "/healthz"] {
        let reply = demo.get(path, "localhost").unwrap();
        assert!(reply.starts_with("HTTP/1.1 404") && reply.ends_with("There is nothing here.\n"), "{path}: {reply}");
    }
}

#[test]
fn tasks_in_memory_are_no_reason_to_warn() {
    let folder = tempfile::tempdir().unwrap();
    let serve = |more: &[&str]| {
        let arguments = [&["serve", "--stdio"], more].concat();
        let ran = command(folder.path(), &arguments).env("RUST_LOG", "info").stdin(Stdio::null()).output().unwrap();
        String::from_utf8(ran.stderr).unwrap()
    };
    assert!(serve(&["--db", "tasks.sqlite"]).contains("tasks are stored unsealed"));
    let said = serve(&[]);
    assert!(said.contains("INFO") && !said.contains("unsealed"), "{said}");
}
