//! The fleet: the example as it promises, and an instance whose database is down.

#![allow(clippy::unwrap_used, reason = "a panic is the report")]

#[path = "support/promise.rs"]
mod promise;

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use mrtr::prelude::*;
use mrtr_postgres::testing::Cluster;

#[test]
fn a_call_a_task_and_a_token_are_at_home_on_all_instances() {
    // It says that it was left out, and in CI fails.
    if Cluster::shared().is_some() {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fleet"));
        promise::assert_kept(command.stdin(Stdio::null()), include_str!("../fleet.rs"));
    }
}

#[tokio::test]
async fn without_its_database_an_instance_serves_what_needs_none_and_tasks_when_it_is_back() {
    let Some(cluster) = Cluster::start(&["fsync=off"]) else { return };
    let instance = Instance::start(&cluster.fresh_database().unwrap());
    assert_eq!(instance.survey().await.unwrap(), "one one one");
    cluster.stop().unwrap();

    assert_eq!(instance.survey().await.unwrap(), "one one one");
    let CallErrorKind::Server { error, .. } = instance.create_task().await.unwrap_err().kind else {
        panic!("it is told")
    };
    assert_eq!(error.message, "Internal error");

    cluster.resume().unwrap();
    let patience = Instant::now() + Duration::from_mins(1);
    while let Err(error) = instance.create_task().await {
        assert!(Instant::now() < patience, "tasks do not come back: {error}");
    }
}

/// An instance without the others.
struct Instance {
    process: Child,
    client: Client,
}

impl Instance {
    fn start(database: &str) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fleet"));
        command.arg("one").env("FLEET_DATABASE", database).env("MRTR_STATE_KEYS", KEYS);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let line = lines.next().unwrap().unwrap();
        // It goes on to say what it does.
        std::thread::spawn(move || lines.for_each(drop));
        let url = line.strip_prefix("listening on ").expect("it says where it listens");
        let answer = async |form: FormRequest| form.accept(&json!({ "yes": true }));
        let client = Client::builder(HttpTransport::new(url).unwrap()).on_elicit(answer).build();
        Self { process, client }
    }

    async fn survey(&self) -> Result<String, CallError> {
        Ok(self.client.call_tool("survey", json!({})).await?.text())
    }

    async fn create_task(&self) -> Result<(), CallError> {
        match self.client.call_tool_once("import", json!({})).await? {
            RoundOutcome::Task(..) => Ok(()),
            other => panic!("no task: {other:?}"),
        }
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

const KEYS: &str = "fleet=k1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
