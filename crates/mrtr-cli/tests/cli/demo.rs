//! `mrtr serve`, as a process that is gone when the test is.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;

use crate::program::{command, run};

pub(crate) struct Demo {
    process: Child,
    pub(crate) url: String,
    /// The text that it printed when it began.
    pub(crate) introduction: String,
    /// The lines that it printed since.
    pub(crate) said: Receiver<String>,
}

impl Demo {
    /// Starts it on any free port.
    pub(crate) fn start(folder: &Path) -> Self {
        Self::start_with(folder, &["--port", "0"])
    }

    pub(crate) fn start_with(folder: &Path, arguments: &[&str]) -> Self {
        let mut command = command(folder, &[&["serve"], arguments].concat());
        let mut process = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines().map(Result::unwrap);
        let mut introduction = String::new();
        for line in lines.by_ref() {
            introduction.extend([&line, "\n"]);
            if line.starts_with("Ctrl-C") {
                break;
            }
        }
        let (say, said) = mpsc::channel();
        thread::spawn(move || lines.for_each(|line| drop(say.send(line))));
        let url = introduction.lines().next().and_then(|line| line.split("serves at ").nth(1));
        let url = url.unwrap_or_else(|| panic!("it does not serve: {introduction}")).to_owned();
        Self { process, url, introduction, said }
    }

    pub(crate) fn port(&self) -> String {
        self.url.trim_end_matches("/mcp").rsplit(':').next().unwrap().to_owned()
    }

    /// Tells it to end, as a service manager does.
    pub(crate) fn tell_to_end(&self) {
        let told = Command::new("kill").args(["-TERM", &self.process.id().to_string()]).status().unwrap();
        assert!(told.success());
    }

    /// Sends GET by hand, and returns the whole reply. `None` if no connection can be made.
    pub(crate) fn get(&self, path: &str, host: &str) -> Option<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port().parse::<u16>().unwrap())).ok()?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
        Some(std::io::read_to_string(stream).unwrap())
    }

    /// Ends it at once, as a crash does.
    pub(crate) fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// A subscription would be cut off when the grace for open requests is over: it gets its last message at once.
#[test]
fn told_to_end_it_answers_what_waits_before_http_ends() {
    let folder = tempfile::tempdir().unwrap();
    let mut demo = Demo::start_with(folder.path(), &["--port", "0", "--probes"]);
    let mut stream = TcpStream::connect(("127.0.0.1", demo.port().parse::<u16>().unwrap())).unwrap();
    let body = r#"{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    let head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
                Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
                Mcp-Method: subscriptions/listen\r\n";
    write!(stream, "{head}Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("notifications/subscriptions/acknowledged")));
    for (path, text) in [("/healthz", "alive"), ("/readyz", "ready")] {
        let answer = demo.get(path, "10.1.2.3").unwrap();
        assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with(&format!("{text}\n")), "{answer}");
    }
    demo.tell_to_end();
    let rest: Vec<_> = lines.collect();
    assert!(rest.iter().any(|line| line.contains(r#""id":7"#) && line.contains(r#""result""#)), "{rest:?}");
    assert!(demo.process.wait().unwrap().success());
}

#[test]
fn it_says_its_address_its_tools_its_keys_and_what_to_try() {
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::start(folder.path());
    let listed = run(folder.path(), &["tools", &demo.url, "--json"]);
    let listed: serde_json::Value = serde_json::from_str(&listed.out).unwrap();
    let names: Vec<_> = listed.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    for said in [
        format!("serves at {}\n", demo.url),
        format!("tools: {}\n", names.join(", ")),
        "callers: anonymous, every program on this machine\n".to_owned(),
        "hosts: localhost, 127.0.0.1, ::1 (--allow-host NAME adds one".to_owned(),
        "keys:  made for this process only".to_owned(),
        "tasks: in memory".to_owned(),
        format!("  mrtr call {} weather city=Oslo\n", demo.url),
    ] {
        assert!(demo.introduction.contains(&said), "it does not say {said}: {}", demo.introduction);
    }
    for name in names {
        let tried = format!("  mrtr call {} {name}", demo.url);
        assert!(demo.introduction.contains(&tried), "{name} is not tried: {}", demo.introduction);
    }
    assert!(!demo.introduction.contains("warning"), "{}", demo.introduction);
}

/// Linux alone gives all of 127.0.0.0/8 to this machine.
#[cfg(target_os = "linux")]
#[test]
fn it_listens_where_it_is_told_and_serves_the_hosts_that_it_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["--port", "0", "--listen", "0.0.0.0", "--allow-host", "shop"];
    let demo = Demo::start_with(folder.path(), &arguments);
    assert!(demo.url.starts_with("http://127.0.0.1:"), "a URL that can be called: {}", demo.url);
    assert!(demo.introduction.contains("callers: anonymous, everyone who reaches this machine\n"));
    assert!(demo.introduction.contains("hosts: localhost, 127.0.0.1, ::1, shop ("), "{}", demo.introduction);
    let elsewhere = format!("http://127.0.0.2:{}/mcp", demo.port());
    assert_eq!(run(folder.path(), &["tools", &elsewhere]).code, Some(0));
    for (host, code) in [("shop", Some(0)), ("market", Some(1))] {
        let listed = run(folder.path(), &["tools", &elsewhere, "--header", &format!("Host: {host}")]);
        assert_eq!(listed.code, code, "{host}: {}", listed.err);
    }
    let here = Demo::start(folder.path());
    let listed = run(folder.path(), &["tools", &format!("http://127.0.0.2:{}/mcp", here.port())]);
    assert_eq!(listed.code, Some(1), "this machine alone: {}", listed.out);
}

#[test]
fn its_tools_are_listed_for_people_and_for_programs() {
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::start(folder.path());
    let table = run(folder.path(), &["tools", &demo.url]);
    assert_eq!(table.code, Some(0), "{}", table.err);
    let row = table.out.lines().find(|line| line.contains("update_work_item")).unwrap();
    assert!(row.contains("workItemId= [fields=]") && row.contains("Azure DevOps"), "{row}");
    let stdio = run(folder.path(), &["tools", "--stdio", &format!("{} serve --stdio", crate::program::MRTR)]);
    assert_eq!(stdio.out, table.out, "{}", stdio.err);
}

#[test]
fn told_to_end_it_ends_well() {
    let folder = tempfile::tempdir().unwrap();
    let mut demo = Demo::start(folder.path());
    demo.tell_to_end();
    assert_eq!(demo.process.wait().unwrap().code(), Some(0));
}
