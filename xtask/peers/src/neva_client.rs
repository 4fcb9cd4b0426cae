//! neva's client of the matrix: it carries every request through its rounds by itself.

#![expect(deprecated, reason = "neva discourages sampling and roots, which servers still ask for")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use neva::Client;
use neva::error::{Error, ErrorCode};
use neva::types::elicitation::{ElicitRequestParams, ElicitResult};
use neva::types::sampling::{CreateMessageRequestParams, CreateMessageResult};
use neva::types::{CallToolResponse, Content};
use serde_json::Value;

use crate::conversation::{Answer, COMPLETION, MODEL, Person, ROOT};
use crate::conversation::{Ended, Outcome, Reply};
use crate::conversation::{Request, Scenario};
use crate::{Era, Server};

pub(crate) async fn call(scenario: Scenario, era: Era, server: &Server) -> Result<Outcome> {
    if era == Era::Legacy {
        return Ok(Outcome::Unsupported { unsupported: NO_LEGACY });
    }
    let person = Arc::new(Person::new(scenario));
    let modern = Arc::new(AtomicBool::default());
    let mut client = connecting_to(server, &modern)?;
    client.add_root(ROOT, "project");
    client.map_elicitation({
        let person = Arc::clone(&person);
        move |request: ElicitRequestParams| elicit(&person, &request)
    });
    client.map_sampling({
        let person = Arc::clone(&person);
        move |request: CreateMessageRequestParams| sample(&person, &request)
    });
    client.connect().await?;
    modern.store(false, Ordering::Relaxed);
    let reply = request(&client, scenario).await.or_else(of_error)?;
    client.disconnect().await?;
    let version = modern.load(Ordering::Relaxed).then(|| "2026-07-28".to_owned());
    Ok(Outcome::Ended(Ended { version, asked: person.asked(), reply }))
}

/// neva does not tell which version it has negotiated. But it looks for the context of a trace whenever it sends a
/// request of the modern era, and then only: so `modern` becomes true.
fn connecting_to(server: &Server, modern: &Arc<AtomicBool>) -> Result<Client> {
    let modern = Arc::clone(modern);
    let client = Client::new().with_options(|options| {
        let options = options.with_name("interop").with_version("1.0.0").with_tasks();
        // The client is configured with both modes, and declares neither in its requests.
        options.with_elicitation(|modes| modes.with_form().with_url()).with_trace_context_provider(move || {
            modern.store(true, Ordering::Relaxed);
            None
        })
    });
    Ok(match server {
        Server::Http { url } => {
            let address = url.strip_prefix("http://").context("neva is given an address without TLS")?;
            let (address, endpoint) = address.split_once('/').context("the URL has no path")?;
            let endpoint = format!("/{endpoint}");
            client.with_options(|options| options.with_http(|http| http.bind(address).with_endpoint(endpoint)))
        }
        Server::Stdio { command, arguments } => {
            let arguments: Vec<_> = arguments.iter().map(|argument| for_ever(argument)).collect();
            client.with_options(|options| options.with_stdio(for_ever(command), arguments))
        }
    })
}

/// neva takes a command that lives as long as the program.
fn for_ever(text: &str) -> &'static str {
    text.to_owned().leak()
}

async fn request(client: &Client, scenario: Scenario) -> Result<Reply, Error> {
    match scenario.request() {
        Request::Tool { name, arguments } => {
            client.tools().list_all().await?;
            let arguments = Value::Object(arguments);
            if scenario == Scenario::Task {
                return Ok(of_tool(&client.tools().as_task().call(name, arguments).await?));
            }
            Ok(of_tool(&client.tools().call(name, arguments).await?))
        }
        Request::Prompt(name) => {
            let prompt = client.prompts().get(name, ()).await?;
            Ok(Reply::result(prompt.messages.first().and_then(|message| text_of(&message.content)), false))
        }
        Request::Resource(uri) => {
            let resource = client.resources().read(uri).await?;
            Ok(Reply::result(resource.contents.first().and_then(|contents| contents.text()).map(str::to_owned), false))
        }
    }
}

fn of_tool(result: &CallToolResponse) -> Reply {
    Reply::result(result.content.first().and_then(text_of), result.is_error)
}

/// Takes an error as a reply, unless it is a timeout: no server has replied that.
fn of_error(error: Error) -> Result<Reply, Error> {
    match error.code() {
        ErrorCode::Timeout => Err(error),
        code => Ok(Reply::error(code.into(), error.to_string())),
    }
}

fn text_of(content: &Content) -> Option<String> {
    content.as_text().map(|content| content.text.clone())
}

fn elicit(person: &Person, request: &ElicitRequestParams) -> ElicitResult {
    match request {
        ElicitRequestParams::Form(form) => match person.fill(&form.message, form.schema.properties.keys()) {
            Answer::Accept(content) => ElicitResult::accept().with_content(content),
            Answer::Decline => ElicitResult::decline(),
            Answer::Cancel => ElicitResult::cancel(),
        },
        ElicitRequestParams::Url(visit) => {
            person.visit(&visit.url);
            ElicitResult::accept()
        }
    }
}

fn sample(person: &Person, request: &CreateMessageRequestParams) -> CreateMessageResult {
    person.prompt_model(request.text().next().map(|content| content.text.as_str()).unwrap_or_default());
    CreateMessageResult::assistant().with_content(COMPLETION).with_model(MODEL).end_turn()
}

const NO_LEGACY: &str = "a client of neva asks for the modern era first, and takes the other only if a server has none";
