//! Our server of the interop matrix: every scenario of `xtask/interop/README.md`, for clients of both eras.
//!
//! Called with `http PORT`, or with `stdio`. What it did in a scenario is a line on standard error, `effect: …`.

use mrtr::prelude::*;
use mrtr::schema::sampling::{CreateMessageParams, SamplingMessage};
use mrtr::server::TaskPolicy;
use mrtr::server::extend::{Load, Shedder};
use mrtr::server::flow::Answered;
use mrtr::tasks::store::MemoryTaskStore;
use mrtr_fixtures::work_item::{Update, resolve};

#[rustfmt::skip] #[data] struct Name { name: String }
#[rustfmt::skip] #[data] struct Language { language: String }
#[rustfmt::skip] #[data] struct Notebook { notebook: String }
#[rustfmt::skip] #[data] struct Echo { text: String }
#[rustfmt::skip] #[data] struct Deployment { #[schemars(extend("x-mcp-header" = "Region"))] region: String }

async fn greet(flow: Flow) -> Result<String> {
    Ok(match flow.elicit::<Name>("name", "Who are you?").answer().await {
        Answered::Accepted(Name { name }) => format!("Hello, {name}"),
        Answered::Declined => told("declined"),
        Answered::Cancelled => told("cancelled"),
    })
}

async fn update_work_item(flow: Flow, update: Update) -> Result<String> {
    resolve(&flow, &update, async |_, _| Ok::<_, Failure>(told("link"))).await
}

async fn mixed(flow: Flow) -> Result<String> {
    let capital = CreateMessageParams::new([SamplingMessage::user("What is the capital of France?")], 100_u64);
    let login = flow.elicit::<Name>("login", "Please provide your GitHub username");
    let asked = (login, flow.sample("capital", capital), flow.roots("roots"));
    let (login, capital, roots) = flow.join(asked).await?;
    let uris: Vec<_> = roots.iter().map(|root| root.uri.as_str()).collect();
    Ok(format!("{}, {}, {}", login.name, capital.text().unwrap_or_default(), uris.join(" ")))
}

async fn review(flow: Flow) -> Result<String> {
    let Language { language } = flow.elicit("language", "Which language?").await?;
    Ok(format!("Review this {language}"))
}

async fn notes(flow: Flow) -> Result<String> {
    let Notebook { notebook } = flow.elicit("pin", "Which notebook?").await?;
    Ok(format!("The notes of {notebook}"))
}

async fn shed(flow: Flow) -> Result<String> {
    if flow.resumed_from::<u32>().is_none() {
        flow.yield_point(&50).await;
    }
    Ok(format!("Carried on from {} percent", flow.resumed_from().unwrap_or(0)))
}

async fn connect(flow: Flow) -> Result<&'static str> {
    flow.elicit_url("connect", "Connect your account", "http://127.0.0.1:9/connect").await?;
    Ok("Connected")
}

async fn deploy(_: Flow, Deployment { region }: Deployment) -> Result<String> {
    Ok(format!("Deployed to {region}"))
}

async fn echo_task(flow: Flow) -> Result<String> {
    let Echo { text } = flow.elicit("echo_input", "What shall I echo?").await?;
    Ok(format!("Echo: {text}"))
}

/// Writes the handler's effect to standard error, for the harness.
fn told(effect: &str) -> String {
    eprintln!("effect: {effect}");
    effect.to_owned()
}

/// Stops every flow at its first yield point; a flow that was stopped once does not come to another one.
#[derive(Debug)]
struct Always;

impl Shedder for Always {
    fn sheds(&self, _: &Load) -> bool {
        true
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let server = Server::builder("mrtr", env!("CARGO_PKG_VERSION"))
        .sealer(Sealer::this_process_only())
        .shedder(Always)
        .tool(Tool::new("greet", greet).description("Greets"))
        .tool(Tool::new("update_work_item", update_work_item).description("Updates a work item"))
        .tool(Tool::new("mixed", mixed).description("Asks for three kinds of input at once"))
        .tool(Tool::new("shed", shed).description("Is put down halfway"))
        .tool(Tool::new("connect", connect).description("Connects an account"))
        .tool(Tool::new("deploy", deploy).description("Deploys to a region"))
        .tool(Tool::new("echo_task", echo_task).description("Echoes, as a task").tasks(TaskPolicy::Required))
        .prompt(Prompt::new("review", review).description("Has code reviewed"))
        .resource(Resource::new("notes://secret", "notes", notes).mime_type("text/plain"))
        .extension(Tasks::new(MemoryTaskStore::default()))
        .build()?;
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["stdio"] => Ok(mrtr::stdio::serve(server).await?),
        ["http", port] => Ok(mrtr::serve(("127.0.0.1", port.parse()?), server).await?),
        _ => Err("say `http PORT` or `stdio`".into()),
    }
}
