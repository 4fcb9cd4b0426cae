//! Everything that a person can get wrong: each says what happened, and what to do.

use crate::demo::Demo;
use crate::program::{MRTR, run};
use crate::stub::Stub;

#[test]
fn a_server_that_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let call = |url: &str| run(folder.path(), &["call", url, "weather"]);
    call("localhost:8000").says(2, &["`localhost:8000` is not the URL of a server", "http://localhost:8000/mcp"]);
    call("ftp://example.com/mcp").says(2, &["`ftp://example.com/mcp` is not the URL of a server"]);
    for url in ["ftp://ann:secret@example.com/mcp", "ann:secret@example.com/mcp"] {
        let refused = call(url);
        refused.says(2, &["is not the URL of a server"]);
        assert!(!refused.err.contains("secret"), "{}", refused.err);
    }
    let nothing = "http://127.0.0.1:1/mcp";
    call(nothing).says(1, &["no connection to http://127.0.0.1:1/mcp", "that the server runs", "mrtr serve"]);
    run(folder.path(), &["tools", nothing]).says(1, &["no connection to http://127.0.0.1:1/mcp", "mrtr serve"]);
}

#[test]
fn a_server_that_does_not_let_one_in() {
    let folder = tempfile::tempdir().unwrap();
    let call = |status| run(folder.path(), &["call", &Stub::always(status).url, "weather", "--token", "old"]);
    call("401 Unauthorized").says(1, &["refuses the credentials", "--token TOKEN, or MRTR_TOKEN"]);
    call("403 Forbidden").says(1, &["refuses this client", "ask its operator"]);
    call("404 Not Found").says(1, &["there is no MCP server at http://127.0.0.1:", "most servers are at /mcp"]);
    call("500 Internal Server Error").says(1, &["status 500", "look into the server's log"]);
}

#[test]
fn a_tool_that_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::start(folder.path());
    let call = |tool: &str| run(folder.path(), &["call", &demo.url, tool]);
    call("wether").says(
        2,
        &[
            &format!("there is no tool `wether` at {}", demo.url),
            "did you mean `weather`?",
            "it has weather, update_work_item",
        ],
    );
    call("xyzzy").says(2, &["there is no tool `xyzzy`", "it has weather, update_work_item"]);
    run(folder.path(), &["call", &demo.url])
        .says(2, &["no tool is named", &format!("`mrtr tools {}` lists them", demo.url)]);
}

#[test]
fn an_argument_that_does_not_fit() {
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::start(folder.path());
    let call = |arguments: &[&str]| run(folder.path(), &[&["call", &demo.url], arguments].concat());
    call(&["update_work_item", "workItemId=abc"]).says(
        2,
        &[
            "`abc` does not fit the argument `workItemId`",
            "wanted is a whole number, at least 0 (The number of the work item), such as workItemId=42",
        ],
    );
    call(&["update_work_item"]).says(2, &["the argument `workItemId` is missing", "such as workItemId=42"]);
    call(&["update_work_item", "workitemid=1"])
        .says(2, &["takes no argument `workitemid`", "did you mean workItemId=42?"]);
    call(&["update_work_item", "workItemId=1", "fields=x"])
        .says(2, &["`x` does not fit the argument `fields`", "an object, as JSON", "such as fields="]);
    call(&["weather", "city=Oslo", "city=Rome"]).says(2, &["the argument `city` is given twice"]);
    call(&["weather", "Oslo"]).says(2, &["`Oslo` is not an argument", "such as city=text"]);
    call(&["weather", "--json", "{"]).says(2, &["the value of --json is not JSON", "quote it for your shell"]);
    call(&["weather", "--json", "[]"]).says(2, &["--json takes an object"]);
    call(&["weather", "--json", "{}"])
        .says(2, &["the argument `city` is missing", "wanted is text (Where), such as city=text"]);
    call(&["weather", "city=Oslo", "--json", "{}"]).says(2, &["there are arguments both in --json and as `city=Oslo`"]);
    call(&["charge", "cents=0"])
        .says(2, &["the argument `cents` does not fit: 0 is less than the minimum of 1", "at least 1"]);
}

#[test]
fn a_process_that_is_no_server() {
    let folder = tempfile::tempdir().unwrap();
    let call = |command: &str| run(folder.path(), &["call", "--stdio", command, "weather"]);
    call("/no/such/program").says(1, &["`/no/such/program` could not be started: No such file", "be on the PATH"]);
    call("sh -c 'read line; exit 3'").says(1, &["exit status: 3", "start the command by itself"]);
    call("'").says(2, &["`'` is not a command", "--stdio 'mrtr serve --stdio'"]);
}

#[test]
fn a_server_that_dies_half_way() {
    let folder = tempfile::tempdir().unwrap();
    let dies = Stub::start(|message, _| match message["method"].as_str() {
        Some("tools/list") => Some(("200 OK", crate::stub::list(message))),
        // Half of an answer.
        _ => Some(("200 OK", r#"{"jsonrpc": "2.0", "id""#.to_owned())),
    });
    run(folder.path(), &["call", &dies.url, "wait"]).says(1, &["the reply cannot be read"]);
}

#[test]
fn a_demo_server_that_cannot_be_had() {
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::start(folder.path());
    let port = demo.port();
    run(folder.path(), &["serve", "--port", &port])
        .says(1, &[&format!("port {port} is in use by another program"), "--port 0"]);
    run(folder.path(), &["serve", "--listen", "192.0.2.1"])
        .says(1, &["this machine does not have the address 192.0.2.1", "0.0.0.0 all of its addresses"]);
    std::fs::write(folder.path().join("no-keys"), "hello").unwrap();
    run(folder.path(), &["serve", "--port", "0", "--state-keys", "no-keys"])
        .says(1, &["the keys cannot be used: the key file no-keys", "mrtr keys new FILE"]);
    run(folder.path(), &["serve", "--port", "0", "--state-keys", "nowhere"]).says(
        1,
        &["the keys cannot be used: the key file nowhere cannot be read: No such file", "mrtr keys new nowhere"],
    );
    std::fs::write(folder.path().join("no-db"), "this is no database, and long enough to be looked at").unwrap();
    run(folder.path(), &["serve", "--port", "0", "--db", "no-db"])
        .says(1, &["no-db cannot be used: SQLite cannot open the file", "one that does not exist yet"]);
    let stdio = format!("{MRTR} serve --stdio --state-keys nowhere");
    run(folder.path(), &["call", "--stdio", &stdio, "weather"]).says(1, &["server: error: the keys cannot be used"]);
}
