//! A handler that asks twice and does one thing, in straight-line code, and what goes over the wire for it.
//!
//! ```sh
//! cargo run -p mrtr-examples --bin two_rounds
//! ```
//!
//! Server and client are one program, and talk over HTTP. One sees each message: the method, the keys that are answered
//! or asked, and how much the client carries for the server, which keeps nothing. The handler runs in every round, and
//! its step once.
//!
//! ```text
//! --> tools/call, answers [], carries 0 bytes
//! <-- asks ["resolution"], carries … bytes
//! --> tools/call, answers ["resolution"], carries … bytes
//! <-- asks ["original"], carries … bytes
//! --> tools/call, answers ["original"], carries … bytes
//! tracker: #4522 is linked to #4301
//! <-- Bug #4522 is a duplicate of #4301
//! ```

use mrtr::client::{ServerNotification, Transport, TransportError, TransportRequest, TransportResponse};
use mrtr::prelude::*;

#[rustfmt::skip] #[data] struct Bug { id: u64 }
#[rustfmt::skip] #[data] #[derive(PartialEq)] enum Resolution { Fixed, Duplicate }
#[rustfmt::skip] #[data] struct Resolved { resolution: Resolution }
#[rustfmt::skip] #[data] struct Original { duplicate_of: u64 }

async fn resolve(flow: Flow, bug: Bug) -> Result<String> {
    let Resolved { resolution } = flow.elicit("resolution", "How was this bug resolved?").await?;
    if resolution == Resolution::Fixed {
        return Ok(format!("Bug #{} is fixed", bug.id));
    }
    let Original { duplicate_of } = flow.elicit("original", "Which one is the original?").await?;
    flow.step("link", link(bug.id, duplicate_of)).await?;
    Ok(format!("Bug #{} is a duplicate of #{duplicate_of}", bug.id))
}

async fn link(duplicate: u64, original: u64) -> Result<()> {
    println!("tracker: #{duplicate} is linked to #{original}");
    Ok(())
}

async fn answer(form: FormRequest) -> Result<mrtr::schema::elicitation::ElicitResult, mrtr::client::AnswerError> {
    match form.context().key.as_str() {
        "resolution" => form.accept(&json!({ "resolution": "Duplicate" })),
        _ => form.accept(&json!({ "duplicate_of": 4301 })),
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    mrtr::init_logging();
    let server = Server::builder("tracker", "1.0.0").tool(Tool::new("resolve", resolve)).build()?;
    let bound = Serve::new(Endpoint::anonymous(server)).bind("127.0.0.1:0")?;
    let transport = Watched(HttpTransport::new(&format!("http://{}/mcp", bound.address()?))?);
    tokio::spawn(bound.run(std::future::pending()));

    let client = Client::builder(transport).on_elicit(answer).build();
    client.call_tool("resolve", json!({ "id": 4522 })).await?;
    Ok(())
}

/// Shows each message that goes out or comes in.
#[derive(Debug)]
struct Watched(HttpTransport);

#[async_trait::async_trait]
impl Transport for Watched {
    fn server(&self) -> &str {
        self.0.server()
    }

    async fn exchange(
        &self,
        request: TransportRequest<'_>,
        on_notification: &mut (dyn FnMut(ServerNotification) + Send),
    ) -> Result<TransportResponse, TransportError> {
        let sent: Value = serde_json::from_str(request.message).map_err(TransportError::new)?;
        let (answers, state) = (keys(&sent["params"]["inputResponses"]), &sent["params"]["requestState"]);
        println!("--> {}, answers {answers:?}, carries {} bytes", request.method, length(state));

        let response = self.0.exchange(request, on_notification).await?;
        let got: Value = serde_json::from_str(response.text()).map_err(TransportError::new)?;
        match got["result"]["content"][0]["text"].as_str() {
            Some(text) => println!("<-- {text}"),
            None => {
                let (asked, state) = (keys(&got["result"]["inputRequests"]), &got["result"]["requestState"]);
                println!("<-- asks {asked:?}, carries {} bytes", length(state));
            }
        }
        Ok(response)
    }
}

fn keys(map: &Value) -> Vec<&String> {
    map.as_object().into_iter().flat_map(|map| map.keys()).collect()
}

fn length(state: &Value) -> usize {
    state.as_str().map_or(0, str::len)
}
