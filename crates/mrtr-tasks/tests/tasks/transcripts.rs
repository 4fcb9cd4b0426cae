//! The echo tool of the founding documents, played reply by reply in both older revisions.
//!
//! Each `transcripts/*.json` is a script. Ids and times are compared by their shape: `$task` is the task's id,
//! `$created` the time of its creation, which stays, and `$time` any time from then on. An exchange with `poll` is
//! repeated until the task stands as the document says. Where a reply is not the document's, `differs` says where and
//! why.

#[path = "../../../mrtr-server/tests/transcripts/compare.rs"]
mod compare;

use std::fs;
use std::path::Path;
use std::time::Duration;

use mrtr_schema::{CallToolResult, ContentBlock, Revision};
use mrtr_server::testing::everything;
use mrtr_server::{Context, Failure, Flow, TaskPolicy, Tool};
use mrtr_tasks::TaskOptions;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use self::compare::differences;
use crate::support::{PATIENCE, Site, memory, within};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Script {
    title: String,
    revision: String,
    exchanges: Vec<Exchange>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Exchange {
    from: String,
    #[serde(default)]
    poll: bool,
    request: Value,
    reply: Value,
    #[serde(default)]
    differs: Vec<Difference>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Difference {
    at: String,
    document: Option<Value>,
    because: String,
}

#[derive(Deserialize, JsonSchema)]
struct Echoed {
    input: String,
}

/// The tool, as an author would write it.
async fn echo(flow: Flow) -> Result<CallToolResult, Failure> {
    let Echoed { input } = flow.elicit("echo_input", "Please provide the input string to echo back").await?;
    let mut result = CallToolResult::new([ContentBlock::text(format!("Echo: {input}"))]);
    result.is_error = Some(false);
    Ok(result)
}

#[tokio::test(start_paused = true)]
async fn every_reply_is_the_documents() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tasks/transcripts");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert_eq!(files.len(), 5, "two flows and two errors, and the note's");
    for file in files {
        let script: Script = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        play(&script).await;
    }
}

async fn play(script: &Script) {
    let options = TaskOptions::default().poll_interval(Duration::from_millis(100));
    let tool = Tool::new("echo", echo).tasks(TaskPolicy::IfPossible);
    let site = Site::with(memory(), options, [tool]);
    let mut known = Known::default();
    for exchange in &script.exchanges {
        let request = known.complete(&exchange.request);
        let revision: Revision = script.revision.parse().unwrap();
        let asking = async {
            loop {
                let seen = site.store.cursor().await.unwrap();
                let context = Context::new().revision(revision).capabilities(everything());
                let reply = site.server.handle_value(request.clone(), context).await.unwrap();
                if !exchange.poll || reply["result"]["status"] == exchange.reply["result"]["status"] {
                    return reply;
                }
                site.store.changed(seen).await.unwrap();
            }
        };
        let reply = within(PATIENCE, asking).await;
        let reply = known.normal(&reply);
        let mut lines = differences(&exchange.reply, &reply);
        let stale = exchange.differs.iter().filter(|noted| reply.pointer(&noted.at) == noted.document.as_ref());
        lines.extend(stale.map(|noted| format!("{}: is the document's after all ({})", noted.at, noted.because)));
        assert!(lines.is_empty(), "{}, {}:\n{}", script.title, exchange.from, lines.join("\n"));
    }
}

/// The id and the time that the server has chosen.
#[derive(Default)]
struct Known {
    task: Option<String>,
    created: Option<String>,
}

impl Known {
    fn complete(&self, request: &Value) -> Value {
        let text = request.to_string().replace("$task", self.task.as_deref().unwrap_or("$task"));
        serde_json::from_str(&text).unwrap()
    }

    /// A reply with the names of ids and times in their place.
    fn normal(&mut self, reply: &Value) -> Value {
        match reply {
            Value::Object(members) => {
                let named = members.iter().map(|(name, value)| {
                    let value = match (name.as_str(), value) {
                        ("taskId", Value::String(id)) => {
                            let task = self.task.get_or_insert_with(|| id.clone());
                            if task == id && id.len() == 32 { "$task".into() } else { value.clone() }
                        }
                        ("createdAt", Value::String(time)) => {
                            let created = self.created.get_or_insert_with(|| time.clone());
                            if created == time && is_time(time) { "$created".into() } else { value.clone() }
                        }
                        ("lastUpdatedAt", Value::String(time)) => {
                            let is_later = is_time(time) && self.created.as_deref() <= Some(time);
                            if is_later { "$time".into() } else { value.clone() }
                        }
                        _ => self.normal(value),
                    };
                    (name.clone(), value)
                });
                Value::Object(named.collect())
            }
            Value::Array(elements) => elements.iter().map(|element| self.normal(element)).collect(),
            value => value.clone(),
        }
    }
}

fn is_time(text: &str) -> bool {
    let shape: String = text.chars().map(|letter| if letter.is_ascii_digit() { '0' } else { letter }).collect();
    shape == "0000-00-00T00:00:00.000Z"
}
