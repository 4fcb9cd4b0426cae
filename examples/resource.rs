//! Resources at fixed addresses: a text, bytes, one that clients may keep, and one that asks who wants to read it.
//!
//! ```sh
//! cargo run -p mrtr-examples --bin resource
//! ```
//!
//! Server and client are one program, and talk over HTTP. The client keeps the guide for a minute, as the server allows,
//! so it is read once although the client wants it twice. What went through a question is never kept.
//!
//! ```text
//! docs://guide: guide, text/markdown
//! docs://logo: logo, image/png
//! hr://salaries: salaries, text/csv
//! the guide is read
//! docs://guide has 19 characters
//! docs://guide has 19 characters
//! docs://logo has bytes, which begin iVBORw
//! asked: Salaries are confidential. Why do you need them?
//! hr://salaries has 31 characters
//! ```

use mrtr::client::AnswerError;
use mrtr::prelude::*;
use mrtr::schema::content::ResourceContents;
use mrtr::schema::elicitation::ElicitResult;
use mrtr::schema::resources::ReadResourceResult;
use mrtr::schema::{CacheScope, CachingHints};

async fn guide(_: Flow) -> Result<&'static str> {
    println!("the guide is read");
    Ok("# Guide\n\nBe brief.\n")
}

async fn logo(_: Flow) -> Result<Vec<u8>> {
    Ok(b"\x89PNG\r\n\x1a\n".to_vec())
}

#[rustfmt::skip] #[data] struct Reason { #[schemars(length(min = 5))] reason: String }

async fn salaries(flow: Flow) -> Result<String> {
    let Reason { reason } = flow.elicit("reason", "Salaries are confidential. Why do you need them?").await?;
    flow.step("audit", async { Ok::<_, Failure>(reason.len()) }).await?;
    Ok("name,euros\nAda,90000\nBob,80000\n".into())
}

fn server() -> Result<Server> {
    let a_minute = CachingHints::keep(60_000, CacheScope::Public);
    Ok(Server::builder("docs", "1.0.0")
        .resource(Resource::new("docs://guide", "guide", guide).mime_type("text/markdown").caching(a_minute))
        .resource(Resource::new("docs://logo", "logo", logo).mime_type("image/png"))
        .resource(Resource::new("hr://salaries", "salaries", salaries).mime_type("text/csv"))
        .build()?)
}

async fn answer(form: FormRequest) -> Result<ElicitResult, AnswerError> {
    println!("asked: {}", form.message());
    form.accept(&json!({ "reason": "The yearly report" }))
}

#[tokio::main]
async fn main() -> Result<()> {
    mrtr::init_logging();
    let bound = Serve::new(Endpoint::anonymous(server()?)).bind("127.0.0.1:0")?;
    let url = format!("http://{}/mcp", bound.address()?);
    tokio::spawn(bound.run(std::future::pending()));

    let client = Client::builder(HttpTransport::new(&url)?).on_elicit(answer).build();
    for resource in client.list_resources().await? {
        println!("{}: {}, {}", resource.uri, resource.name, resource.mime_type.unwrap_or_default());
    }
    for uri in ["docs://guide", "docs://guide", "docs://logo", "hr://salaries"] {
        show(&client.read_resource(uri).await?);
    }
    Ok(())
}

fn show(read: &ReadResourceResult) {
    for contents in &read.contents {
        match contents {
            ResourceContents::Text(text) => println!("{} has {} characters", text.uri, text.text.chars().count()),
            ResourceContents::Blob(bytes) => println!("{} has bytes, which begin {:.6}", bytes.uri, bytes.blob),
        }
    }
}
