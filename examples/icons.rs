//! The looks of a server and its tools in a host: names for people, icons, and hints on what a tool does.
//!
//! ```sh
//! cargo run -p mrtr-examples --bin icons
//! ```
//!
//! Server and client are one program, and talk over HTTP. The client prints what a host would show. Hints come from the
//! server: a host that does not trust the server must not rely on them.
//!
//! ```text
//! Notes, the notebook of a team (data:image/svg+xml;base64,PHN…)
//! Find notes: changes nothing (data:image/svg+xml;base64,PHN…)
//! Delete a note: may destroy something, a second call changes nothing further (https://notes.example.com/delete.png)
//! ```

use mrtr::prelude::*;
use mrtr::schema::implementation::IconTheme;
use mrtr::schema::tools::ToolAnnotations;
use mrtr::schema::{Icon, Tool as Definition};

#[rustfmt::skip] #[data] struct Words { words: String }
#[rustfmt::skip] #[data] struct Note { id: u64 }

async fn find(_: Flow, Words { words }: Words) -> Result<String> {
    Ok(format!("No note has \"{words}\""))
}

async fn delete(flow: Flow, Note { id }: Note) -> Result<String> {
    flow.step("delete", async { Ok::<_, Failure>(()) }).await?;
    Ok(format!("Note {id} is deleted"))
}

/// A picture that comes with the list, so that a host fetches nothing: a triangle.
fn triangle() -> Icon {
    let mut icon = Icon::new(TRIANGLE);
    icon.mime_type = Some("image/svg+xml".into());
    icon.sizes = Some(vec!["any".into()]);
    icon
}

/// A picture on a web site, drawn for a dark background.
fn on_dark(url: &str) -> Icon {
    let mut icon = Icon::new(url);
    icon.theme = Some(IconTheme::Dark);
    icon
}

/// The hints of a tool that only reads.
fn reads() -> ToolAnnotations {
    let mut hints = ToolAnnotations::new();
    hints.read_only_hint = Some(true);
    hints
}

/// The hints of a tool that destroys, but no more the second time.
fn destroys() -> ToolAnnotations {
    let mut hints = ToolAnnotations::new();
    (hints.destructive_hint, hints.idempotent_hint) = (Some(true), Some(true));
    hints
}

fn server() -> Result<Server> {
    let delete = Tool::new("delete_note", delete).title("Delete a note").annotations(destroys());
    Ok(Server::builder("notes", "1.0.0")
        .title("Notes")
        .define(|server| server.description = Some("the notebook of a team".into()))
        .icons([triangle()])
        .tool(Tool::new("find_notes", find).title("Find notes").annotations(reads()).icons([triangle()]))
        .tool(delete.icons([on_dark("https://notes.example.com/delete.png"), triangle()]))
        .build()?)
}

#[tokio::main]
async fn main() -> Result<()> {
    mrtr::init_logging();
    let bound = Serve::new(Endpoint::anonymous(server()?)).bind("127.0.0.1:0")?;
    let url = format!("http://{}/mcp", bound.address()?);
    tokio::spawn(bound.run(std::future::pending()));

    let client = Client::builder(HttpTransport::new(&url)?).build();
    let offer = client.discover().await?;
    let info = offer.meta.and_then(|meta| meta.server_info).ok_or("it introduces itself")?;
    let (name, about) = (info.title.unwrap_or(info.name), info.description.unwrap_or_default());
    println!("{name}, {about} ({})", first(info.icons.as_deref()));
    for Definition { name, title, annotations, icons, .. } in client.list_tools().await? {
        let hints = annotations.unwrap_or_default();
        let said = [
            (hints.read_only_hint, "changes nothing"),
            (hints.destructive_hint, "may destroy something"),
            (hints.idempotent_hint, "a second call changes nothing further"),
        ];
        let said: Vec<_> = said.into_iter().filter(|(hint, _)| *hint == Some(true)).map(|(_, text)| text).collect();
        println!("{}: {} ({})", title.unwrap_or(name), said.join(", "), first(icons.as_deref()));
    }
    Ok(())
}

fn first(icons: Option<&[Icon]>) -> &str {
    icons.and_then(<[Icon]>::first).map_or("no icon", |icon| icon.src.as_str())
}

const TRIANGLE: &str = "data:image/svg+xml;base64,\
    PHN2ZyB4bWxucz0naHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmcnIHZpZXdCb3g9JzAgMCA5IDknPjxw\
    YXRoIGZpbGw9J3RlYWwnIGQ9J00xIDFoN3Y3eicvPjwvc3ZnPg==";
