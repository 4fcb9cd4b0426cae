//! Resources by a template: one handler for every bug of a tracker, with completed numbers, and one that asks.
//!
//! ```sh
//! cargo run -p mrtr-examples --bin template
//! ```
//!
//! Server and client are one program, and talk over HTTP. The variables of a template are the arguments of its handler.
//! A value that cannot be read as the handler's type, and a bug that is not there, are both "no such resource".
//!
//! ```text
//! tracker://bugs/{id}: bug
//! tracker://files/{+path}: file
//! completed: 4301, 4522
//! tracker://bugs/4522: Crash on start
//! tracker://bugs/none: Resource not found
//! tracker://bugs/7: Resource not found
//! asked: Which revision of src/main.rs?
//! tracker://files/src/main.rs: src/main.rs at v2
//! tracker://files/../secret: Resource not found
//! ```

use mrtr::client::AnswerError;
use mrtr::prelude::*;
use mrtr::schema::completion::{CompleteParams, CompletionArgument, ResourceTemplateReference};
use mrtr::schema::content::ResourceContents;
use mrtr::schema::elicitation::ElicitResult;
use mrtr::server::ProtocolError;
use mrtr::server::handler::Completing;

#[rustfmt::skip] #[data] struct Bug { id: u64 }

const BUGS: [(u64, &str); 3] = [(4301, "Empty page"), (4522, "Crash on start"), (5001, "Slow search")];

async fn bug(_: Flow, Bug { id }: Bug) -> Result<&'static str> {
    let found = BUGS.iter().find(|(number, _)| *number == id);
    let (_, title) = found.ok_or_else(|| ProtocolError::resource_not_found(format!("There is no bug {id}")))?;
    Ok(title)
}

async fn numbers(_: Flow, typing: Completing) -> Result<Vec<String>> {
    let numbers = BUGS.iter().map(|(number, _)| number.to_string());
    Ok(numbers.filter(|number| number.starts_with(&typing.value)).collect())
}

#[rustfmt::skip] #[data] struct Place { path: String }
#[rustfmt::skip] #[data] struct Version { version: String }

/// `{+path}` may hold slashes, and whatever else a client sends: the handler checks where it leads.
async fn file(flow: Flow, Place { path }: Place) -> Result<String> {
    if path.split('/').any(|part| part == "..") {
        return Err(ProtocolError::resource_not_found(format!("There is no file {path}")).into());
    }
    let Version { version } = flow.elicit("version", format!("Which revision of {path}?")).await?;
    Ok(format!("{path} at {version}"))
}

fn server() -> Result<Server> {
    let bugs = ResourceTemplate::new("tracker://bugs/{id}", "bug", bug).title("A bug").mime_type("text/plain");
    Ok(Server::builder("tracker", "1.0.0")
        .resource_template(bugs.complete("id", numbers))
        .resource_template(ResourceTemplate::new("tracker://files/{+path}", "file", file))
        .build()?)
}

async fn answer(form: FormRequest) -> Result<ElicitResult, AnswerError> {
    println!("asked: {}", form.message());
    form.accept(&json!({ "version": "v2" }))
}

#[tokio::main]
async fn main() -> Result<()> {
    mrtr::init_logging();
    let bound = Serve::new(Endpoint::anonymous(server()?)).bind("127.0.0.1:0")?;
    let url = format!("http://{}/mcp", bound.address()?);
    tokio::spawn(bound.run(std::future::pending()));

    let client = Client::builder(HttpTransport::new(&url)?).on_elicit(answer).build();
    for template in client.list_resource_templates().await? {
        println!("{}: {}", template.uri_template, template.name);
    }
    let template = ResourceTemplateReference::new("tracker://bugs/{id}");
    let typed = CompleteParams::new(template, CompletionArgument::new("id", "4"));
    println!("completed: {}", client.complete(&typed).await?.completion.values.as_slice().join(", "));
    let paths = ["bugs/4522", "bugs/none", "bugs/7", "files/src/main.rs", "files/../secret"];
    for uri in paths.map(|path| format!("tracker://{path}")) {
        println!("{uri}: {}", read(&client, &uri).await?);
    }
    Ok(())
}

/// Reads a resource: its text, or the server's reason why there is none.
async fn read(client: &Client, uri: &str) -> Result<String> {
    match client.read_resource(uri).await {
        Ok(read) => match read.contents.into_iter().next() {
            Some(ResourceContents::Text(text)) => Ok(text.text),
            other => Err(format!("no text, but {other:?}").into()),
        },
        Err(error) => Ok(error.untrusted_message().ok_or("the server says why")?.to_owned()),
    }
}
