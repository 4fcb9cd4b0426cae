//! Everything that a person can get wrong: each says what happened, and what to do.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;

use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::{ServerConfig, ServerConnection};

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
    call("403 Forbidden").says(1, &["refuses this client", "send another token, or ask its operator"]);
    let host = Stub::start(|_, _| {
        Some(("403 Forbidden", "Requests for this host, or from this origin, are not taken.\n".to_owned()))
    });
    run(folder.path(), &["tools", &host.url]).says(1, &["does not know the host in this URL", "--allow-host HOST"]);
    call("404 Not Found").says(1, &["there is no MCP server at http://127.0.0.1:", "most servers are at /mcp"]);
    call("500 Internal Server Error").says(1, &["status 500", "look into the server's log"]);
}

/// A server that answers each connection with these bytes, whatever the client says first.
fn says_to_all(bytes: &'static [u8]) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            drop(connection.read(&mut [0; 4096]));
            drop(connection.write_all(bytes));
        }
    });
    port
}

#[test]
fn a_url_with_the_wrong_scheme() {
    let folder = tempfile::tempdir().unwrap();
    let plain = says_to_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n");
    run(folder.path(), &["tools", &format!("https://127.0.0.1:{plain}/mcp")])
        .says(1, &["the server does not speak TLS: write `http://`"]);
    let page = b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/html\r\ncontent-length: 77\r\n\r\n\
        <title>400 The plain HTTP request was sent to HTTPS port</title>\r\n<h1>No</h1>\r\n";
    let tls = says_to_all(page);
    let refused = run(folder.path(), &["tools", &format!("http://127.0.0.1:{tls}/mcp")]);
    refused.says(1, &["the server seems to speak TLS on this port: write https:// in its URL"]);
    assert!(!refused.err.contains("<h1>"), "of a page, the title is shown: {}", refused.err);
}

/// A server with a certificate of its own for `localhost`, and nothing behind it. Returns its port and the certificate.
fn speaks_tls() -> (u16, String) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key.into())
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            let mut tls = ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream = rustls::Stream::new(&mut tls, &mut connection);
            drop(stream.read(&mut [0; 4096]));
            drop(stream.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"));
        }
    });
    (port, made.cert.pem())
}

#[test]
fn a_certificate_that_is_not_trusted_or_is_of_another_name() {
    let folder = tempfile::tempdir().unwrap();
    let (port, certificate) = speaks_tls();
    let tools = |host: &str| crate::program::command(folder.path(), &["tools", &format!("https://{host}:{port}/mcp")]);
    let said = |command: &mut std::process::Command| String::from_utf8(command.output().unwrap().stderr).unwrap();
    let untrusted = said(&mut tools("localhost"));
    let hint = "this machine does not trust the authority of the server's certificate";
    assert!(untrusted.contains(hint) && untrusted.contains("SSL_CERT_FILE=ca.pem"), "{untrusted}");
    // Elsewhere the system alone knows whom to trust.
    if cfg!(target_os = "linux") {
        std::fs::write(folder.path().join("ca.pem"), certificate).unwrap();
        let trusted = said(tools("localhost").env("SSL_CERT_FILE", "ca.pem"));
        assert!(trusted.contains("there is no MCP server at"), "the remedy works: {trusted}");
        let other = said(tools("127.0.0.1").env("SSL_CERT_FILE", "ca.pem"));
        assert!(other.contains("the server's certificate is not valid for this address"), "{other}");
    }
}

#[test]
fn words_that_the_command_does_not_take_are_told_like_all_errors() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), &["tools"]).says(2, &["error: no server is named\n  → give its URL"]);
    run(folder.path(), &["call"]).says(2, &["error: no server is named\n  → give its URL"]);
    // One word alone is as likely a tool.
    run(folder.path(), &["call", "weather"]).says(2, &["error: no server is named\n  → give its URL"]);
    run(folder.path(), &["call", "--stdio", "mrtr serve --stdio"])
        .says(2, &["no tool is named", "`mrtr tools --stdio 'mrtr serve --stdio'` lists them"]);
    let both = ["call", "http://127.0.0.1:1/mcp", "x", "--sample-with", "a", "--sample-command", "b"];
    let refused = run(folder.path(), &both);
    refused.says(
        2,
        &["error: the argument '--sample-with <TEXT>' cannot be used with '--sample-command <COMMAND>'\n  → "],
    );
    assert!(!refused.err.contains("\n\n"), "{}", refused.err);
    run(folder.path(), &["call", "--sav"]).says(
        2,
        &["error: unexpected argument '--sav' found\n", "  → a similar argument exists: '--save'\n", "  → usage: "],
    );
    let help = run(folder.path(), &[]);
    assert!(help.code == Some(2) && help.err.contains("To begin with:"), "{}", help.err);
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
        .says(2, &["`x`, for the argument `fields`, is not JSON: ", "an object, as JSON", "such as fields="]);
    call(&["update_work_item", "workItemId=1", "fields=[]"]).says(2, &["`[]` does not fit the argument `fields`"]);
    // It would be sent as 1e23.
    call(&["update_work_item", "workItemId=99999999999999999999999"])
        .says(2, &["`99999999999999999999999` does not fit the argument `workItemId`"]);
    call(&["weather", "--json", r#"{"city": "Oslo", "twon": 3}"#])
        .says(2, &["the tool `weather` takes no argument `twon`", "it takes `city`"]);
    for undeclared in [&["book_table", "x=3"][..], &["book_table", "--json", r#"{"x": 3}"#]] {
        call(undeclared).says(4, &["`book_table` declares no arguments, and is sent `x`\n"]);
    }
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
    let ended = call("sh -c 'echo no keys >&2; read line; exit 3'");
    ended.says(
        1,
        &["exit status: 3", "start the command by itself", "sh -c 'echo no keys >&2; read line; exit 3' failed"],
    );
    assert!(!ended.err.contains("(command line"), "{}", ended.err);
    assert_eq!(ended.err.matches("server: no keys").count(), 1, "{}", ended.err);
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
