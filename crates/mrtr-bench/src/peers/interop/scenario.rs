//! The scenarios of the matrix: what a client asks of a server in each.

use clap::ValueEnum;
use serde_json::{Map, Value, json};

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Scenario {
    OneRound,
    ThreeRounds,
    Mixed,
    Decline,
    Cancel,
    Prompt,
    Resource,
    StateOnly,
    Url,
    Header,
    Task,
}

/// The first request of a conversation, which the client then carries to its end.
pub(super) enum Request {
    Tool { name: &'static str, arguments: Map<String, Value> },
    Prompt(&'static str),
    Resource(&'static str),
}

impl Scenario {
    pub(super) fn request(self) -> Request {
        match self {
            Self::OneRound | Self::Decline | Self::Cancel => tool("greet", json!({})),
            Self::ThreeRounds => tool("update_work_item", json!({ "workItemId": 4522, "fields": {} })),
            Self::Mixed => tool("mixed", json!({})),
            Self::Prompt => Request::Prompt("review"),
            Self::Resource => Request::Resource("notes://secret"),
            Self::StateOnly => tool("shed", json!({})),
            Self::Url => tool("connect", json!({})),
            Self::Header => tool("deploy", json!({ "region": "us-west1" })),
            Self::Task => tool("echo_task", json!({})),
        }
    }
}

fn tool(name: &'static str, arguments: Value) -> Request {
    let Value::Object(arguments) = arguments else { unreachable!("arguments are an object") };
    Request::Tool { name, arguments }
}
