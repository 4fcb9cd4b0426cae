//! A server that asks for everything, and a client that has it asked on the terminal: one program, over real HTTP.
//!
//! Its argument is the tool to call. It ends with a line that says what came of the call.

use mrtr_client::Client;
use mrtr_http::{Endpoint, HttpTransport, Serve};
use mrtr_server::flow::Answered;
use mrtr_server::{Failure, Flow, Server, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// A field of each kind.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Everything {
    /// As in your passport
    #[schemars(title = "Full name", length(min = 2, max = 20))]
    name: String,
    #[schemars(title = "E-mail", email)]
    mail: String,
    #[schemars(title = "Height", range(min = 0.5, max = 2.5))]
    height: f64,
    #[schemars(title = "Copies", range(min = 1, max = 9))]
    #[serde(default = "three")]
    copies: u8,
    #[schemars(title = "News")]
    news: bool,
    #[schemars(title = "Color")]
    color: Color,
    #[schemars(title = "Size")]
    size: Option<Size>,
    #[schemars(title = "Country", extend("enum" = ["se", "fi"], "enumNames" = ["Sweden", "Finland"]))]
    country: String,
    #[schemars(title = "Toppings", length(min = 1))]
    toppings: Vec<Color>,
    #[schemars(title = "Extras")]
    extras: Option<Vec<Size>>,
    #[schemars(title = "Note")]
    note: Option<String>,
}

fn three() -> u8 {
    3
}

#[derive(Serialize, Deserialize, JsonSchema)]
enum Color {
    Red,
    Green,
    Blue,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Size {
    /// Fits a child
    Small,
    /// Fits a giant
    Large,
}

#[derive(Deserialize, JsonSchema)]
struct Login {
    #[schemars(title = "User name")]
    user: String,
}

async fn everything(flow: Flow) -> Result<String, Failure> {
    let all: Everything = flow.elicit("everything", "Please tell us\n\u{1b}[2Jall about you").await?;
    Ok(serde_json::to_string(&all)?)
}

async fn login(flow: Flow) -> Result<String, Failure> {
    Ok(match flow.elicit::<Login>("login", "Who are you?").answer().await {
        Answered::Accepted(login) => format!("hello {}", login.user),
        Answered::Declined => "declined".to_owned(),
        Answered::Cancelled => "cancelled".to_owned(),
    })
}

async fn two_at_once(flow: Flow) -> Result<String, Failure> {
    let (first, second) =
        flow.join((flow.elicit::<Login>("first", "The first?"), flow.elicit::<Login>("second", "The second?"))).await?;
    Ok(format!("{} and {}", first.user, second.user))
}

async fn connect(flow: Flow) -> Result<String, Failure> {
    let url = format!("https://bank.example@example.com/connect?account=1&why={}", "because-".repeat(20));
    flow.elicit_url("connect", "Please connect your account", url).await?;
    Ok("connected".to_owned())
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let server = Server::builder("asker", "1.0.0")
        .tool(Tool::new("everything", everything))
        .tool(Tool::new("login", login))
        .tool(Tool::new("two_at_once", two_at_once))
        .tool(Tool::new("connect", connect))
        .build()?;
    let bound = Serve::new(Endpoint::anonymous(server)).bind("127.0.0.1:0")?;
    let url = format!("http://{}/mcp?key=secret", bound.address()?);
    tokio::spawn(bound.run(std::future::pending()));

    let client = Client::builder(HttpTransport::new(&url)?).terminal().build();
    let tool = std::env::args().nth(1).unwrap_or("everything".to_owned());
    match client.call_tool(&tool, json!({})).await {
        Ok(result) => println!("result: {}", result.text()),
        Err(error) => {
            let open = error.pending().map(|pending| pending.unanswered().collect::<Vec<_>>().join(", "));
            println!("error: {error} (open: {})", open.unwrap_or_default());
        }
    }
    Ok(())
}
