//! The flows that run under fire: several steps and questions, at once and one after another.

use std::collections::BTreeMap;
use std::time::Duration;

use mrtr_server::{Builder, Failure, Flow, FlowError, TaskPolicy, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::trace::{Trace, TracedRun};

/// Offers these tools: `order` and others that do the same, `quick` and `crash`.
pub(crate) fn offer(builder: Builder, names: &[String]) -> Builder {
    names.iter().fold(builder, |builder, name| {
        let tool = match name.as_str() {
            CRASH => Tool::new(CRASH, crash),
            "quick" => Tool::new("quick", quick),
            name => Tool::new(name, order),
        };
        builder.tool(tool.tasks(TaskPolicy::Required))
    })
}

#[derive(Deserialize, JsonSchema)]
struct Order {
    /// The number that the client gave it.
    #[serde(rename = "order")]
    number: u64,
    /// How long each step takes, at most.
    step_ms: u64,
    /// For how long the last step blocks its thread.
    #[serde(default)]
    block_ms: u64,
}

#[derive(Deserialize, JsonSchema)]
struct Text {
    value: String,
}

/// The receipts of an order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Receipts {
    pub(crate) order: u64,
    pub(crate) flow: String,
    /// The result of each step.
    pub(crate) steps: BTreeMap<String, String>,
    /// The answer to each question.
    pub(crate) answers: BTreeMap<String, String>,
}

/// The outcome of a step that was interrupted and may not be repeated.
pub(crate) const INTERRUPTED: &str = "interrupted";
/// The tool whose calls end their process.
pub(crate) const CRASH: &str = "crash";
/// The step that may not be repeated.
pub(crate) const ONCE: &str = "charge";

async fn order(flow: Flow, order: Order) -> Result<String, Failure> {
    let run = flow.state::<Trace>().begin(order.number, flow.interaction_id("order"))?;
    let mut receipts =
        Receipts { order: order.number, flow: run.flow().to_owned(), steps: BTreeMap::new(), answers: BTreeMap::new() };
    let short = Duration::from_millis(order.step_ms / 2);
    let long = Duration::from_millis(order.step_ms);

    let key = flow.idempotency_key("reserve").await;
    let reserved = flow.step("reserve", take(&run, "reserve", &key, short)).idempotent().await?;
    receipts.step(&run, "reserve", reserved)?;

    let amount: Text = flow.elicit("amount", format!("How many for order {}?", order.number)).await?;
    receipts.answer(&run, "amount", amount)?;

    // The client sees the question while the step runs.
    let key = flow.idempotency_key("pack").await;
    let packing = flow.step("pack", take(&run, "pack", &key, long)).idempotent();
    let (packed, address) = flow.join((packing, flow.elicit::<Text>("address", "Where to?"))).await?;
    receipts.step(&run, "pack", packed)?;
    receipts.answer(&run, "address", address)?;

    let key = flow.idempotency_key(ONCE).await;
    let charged = match flow.step(ONCE, take(&run, ONCE, &key, short)).await {
        Err(FlowError::Interrupted { .. }) => INTERRUPTED.to_owned(),
        charged => charged?,
    };
    receipts.step(&run, ONCE, charged)?;

    let (card, ribbon) = (flow.elicit::<Text>("card", "Which card?"), flow.elicit::<Text>("ribbon", "Which ribbon?"));
    let (card, ribbon) = flow.join((card, ribbon)).await?;
    receipts.answer(&run, "card", card)?;
    receipts.answer(&run, "ribbon", ribbon)?;

    let key = flow.idempotency_key("send").await;
    let sending = async {
        let receipt = take(&run, "send", &key, short).await?;
        // Blocks as a library does that does not know the runtime.
        std::thread::sleep(Duration::from_millis(order.block_ms));
        Ok::<_, Failure>(receipt)
    };
    let sent = flow.step("send", sending).idempotent().await?;
    receipts.step(&run, "send", sent)?;
    Ok(serde_json::to_string(&receipts)?)
}

/// Takes a while, has its effect in the middle of it, and returns the receipt.
async fn take(run: &TracedRun, step: &str, key: &str, time: Duration) -> Result<String, Failure> {
    tokio::time::sleep(time / 2).await;
    let receipt = run.effect(step, key)?;
    tokio::time::sleep(time / 2).await;
    Ok(receipt)
}

impl Receipts {
    fn step(&mut self, run: &TracedRun, step: &str, receipt: String) -> Result<(), Failure> {
        run.recorded(step, &receipt)?;
        self.steps.insert(step.to_owned(), receipt);
        Ok(())
    }

    fn answer(&mut self, run: &TracedRun, question: &str, text: Text) -> Result<(), Failure> {
        run.answered(question, &text.value)?;
        self.answers.insert(question.to_owned(), text.value);
        Ok(())
    }
}

/// Takes one step, and asks nothing.
async fn quick(flow: Flow, order: Order) -> Result<String, Failure> {
    let run = flow.state::<Trace>().begin(order.number, flow.interaction_id("order"))?;
    let key = flow.idempotency_key("pack").await;
    let step = take(&run, "pack", &key, Duration::from_millis(order.step_ms));
    Ok(flow.step("pack", step).idempotent().await?)
}

/// Ends its own process.
async fn crash(flow: Flow) -> Result<String, Failure> {
    let _run = flow.state::<Trace>().begin(CRASH_ORDER, flow.interaction_id("order"))?;
    std::process::abort()
}

/// The number under which a crash is in the trace.
const CRASH_ORDER: u64 = 0;
