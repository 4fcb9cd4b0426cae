//! The demo tools: short flows, one for each way in which a server may ask.

mod book_table;
mod connect;

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use mrtr::prelude::*;
use mrtr::schema::sampling::{CreateMessageParams, SamplingContent, SamplingMessage};
use mrtr::serde_json::Map;
use mrtr::server::{Guard, TaskPolicy};
use mrtr::state::Sealer;
use mrtr::tasks::Tasks;
use mrtr::{Failure, Server, Tool};

pub(crate) use connect::Visits;

/// The parts that make up the demo server.
pub(crate) struct Parts {
    pub(crate) sealer: Sealer,
    pub(crate) tasks: Tasks,
    /// Keeps which states of `charge` were used.
    pub(crate) single_use: Guard,
    pub(crate) visits: Visits,
}

/// The names of the demo server's tools.
pub(crate) const TOOLS: [&str; 7] =
    ["weather", "update_work_item", "book_table", "connect", "summarise", "echo", "charge"];

/// Builds the demo server.
pub(crate) fn server(parts: Parts) -> Result<Server, Failure> {
    let Parts { sealer, tasks, single_use, visits } = parts;
    let server = Server::builder("mrtr-demo", env!("CARGO_PKG_VERSION"))
        .sealer(sealer)
        .state(visits)
        .state(Books::default())
        .tool(Tool::new("weather", weather).description("The weather of a city, for users: asks who you are"))
        .tool(
            Tool::new("update_work_item", update_work_item)
                .description("Resolves a work item as Azure DevOps does: asks how, and of which one it is a duplicate"),
        )
        .tool(
            Tool::new("book_table", book_table::book_table)
                .description("Books a table: asks with every kind of field that a form may have"),
        )
        .tool(Tool::new("connect", connect::connect).description("Connects an account: asks you to visit a page"))
        .tool(Tool::new("summarise", summarise).description("Sums a text up: asks your model"))
        .tool(
            Tool::new("echo", echo)
                .description("Echoes what you say, as a task that outlives this call and the server")
                .tasks(TaskPolicy::IfPossible),
        )
        .tool(
            Tool::new("charge", charge)
                .description("Charges an amount, once, however often it is confirmed")
                .single_use(single_use),
        )
        .extension(tasks);
    Ok(server.build()?)
}

// `weather`: a form in the middle of a call.

#[data]
struct Place {
    /// Where
    city: String,
}

#[data]
struct Login {
    /// As you are known here
    #[schemars(title = "User name", length(min = 2, max = 40))]
    user: String,
}

async fn weather(flow: Flow, Place { city }: Place) -> Result<String> {
    let Login { user } = flow.elicit("login", "The weather is for users. Who are you?").await?;
    Ok(format!("{city}: 12 °C and light rain. Take an umbrella, {user}."))
}

// `update_work_item`: three rounds, of which the last has an effect.

#[data]
#[serde(rename_all = "camelCase")]
struct Update {
    /// The number of the work item
    work_item_id: u64,
    /// What else to set
    #[serde(default)]
    fields: Map<String, Value>,
}

#[data]
#[derive(PartialEq)]
enum Resolution {
    Fixed,
    #[serde(rename = "Won't Fix")]
    WontFix,
    Duplicate,
    #[serde(rename = "By Design")]
    ByDesign,
}

#[data]
struct Resolved {
    #[schemars(title = "Resolution")]
    resolution: Resolution,
}

#[data]
#[serde(rename_all = "camelCase")]
struct Original {
    #[schemars(title = "Original work item", range(min = 1))]
    duplicate_of_id: u64,
}

async fn update_work_item(flow: Flow, update: Update) -> Result<String> {
    let id = update.work_item_id;
    let Resolved { resolution } = flow.elicit("resolution", "How was this bug resolved?").await?;
    if resolution != Resolution::Duplicate {
        return Ok(format!("Bug #{id} resolved, {} fields set", update.fields.len()));
    }
    let Original { duplicate_of_id } = flow.elicit("duplicate_of", "Which work item is the original?").await?;
    flow.step("link", async { Ok::<_, Failure>(()) }).await?;
    Ok(format!("Bug #{id} resolved as duplicate of #{duplicate_of_id}"))
}

// `summarise`: the client's model is asked.

#[data]
struct Source {
    /// What to sum up
    text: String,
}

async fn summarise(flow: Flow, Source { text }: Source) -> Result<String> {
    let question = SamplingMessage::user(format!("Sum this up in one sentence:\n{text}"));
    let answer = flow.sample("summary", CreateMessageParams::new([question], 200_u64)).await?;
    let said = answer.content.iter().filter_map(|content| match content {
        SamplingContent::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    Ok(format!("{} (says {})", said.collect::<Vec<_>>().join(" "), answer.model))
}

// `echo`: a task. It waits for its answer without its client, and without the server if need be.

#[data]
struct Echo {
    /// How many seconds to think about the answer
    #[serde(default)]
    #[schemars(range(max = 600))]
    seconds: u64,
}

#[data]
struct Words {
    #[schemars(title = "Words")]
    input: String,
}

async fn echo(flow: Flow, Echo { seconds }: Echo) -> Result<String> {
    let Words { input } = flow.elicit("echo_input", "What shall be echoed?").await?;
    let total = i64::try_from(seconds).ok();
    for second in 0..seconds {
        flow.progress(i64::try_from(second).unwrap_or(i64::MAX), total, "thinking").await;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    Ok(format!("Echo: {input}"))
}

// `charge`: an effect that happens once. Each state of the call counts once, and the step has a key of its own.

#[data]
struct Amount {
    /// In cents
    #[schemars(range(min = 1))]
    cents: u64,
}

#[data]
struct Consent {
    #[schemars(title = "Go ahead")]
    agreed: bool,
}

/// The demo's bank: it keeps one receipt for each key.
#[derive(Default)]
struct Books(Mutex<HashMap<String, usize>>);

async fn charge(flow: Flow, Amount { cents }: Amount) -> Result<String> {
    let amount = format!("{}.{:02} €", cents / 100, cents % 100);
    let Consent { agreed } = flow.elicit("consent", format!("Shall {amount} be charged?")).pinned().await?;
    if !agreed {
        return Ok("Nothing was charged.".to_owned());
    }
    let key = flow.idempotency_key("charge").await;
    let books = flow.state::<Books>();
    let receipt = flow.step("charge", async { Ok::<_, Failure>(books.receipt(key)) }).await?;
    Ok(format!("Charged {amount}: receipt {receipt}."))
}

impl Books {
    fn receipt(&self, key: String) -> usize {
        let mut receipts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let next = receipts.len() + 1;
        *receipts.entry(key).or_insert(next)
    }
}
