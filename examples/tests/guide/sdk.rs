//! Section "Inside your SDK": our client over rmcp's, and how many packages an SDK takes in.

use std::path::Path;
use std::process::Command;

use mrtr::prelude::*;
use mrtr::schema::elicitation::ElicitResult;
use mrtr_rmcp::{Flows, RmcpTransport};
use rmcp::ServiceExt;
use rmcp::model::ProtocolVersion;
use rmcp::service::{ClientLifecycleMode, ClientServiceExt};

use crate::page;

#[data]
struct Name {
    name: String,
}

async fn greet(flow: Flow) -> Result<String> {
    let Name { name } = flow.elicit("name", "Who are you?").await?;
    Ok(format!("Hello, {name}"))
}

async fn ask_the_user(form: FormRequest) -> Result<ElicitResult, Box<dyn std::error::Error + Send + Sync>> {
    Ok(form.accept(&json!({ "name": "Ada" }))?)
}

#[tokio::test]
async fn our_client_asks_and_retries_over_rmcps() -> Result<()> {
    let (ours, theirs) = tokio::io::duplex(4096);
    let server = Flows::of_tool(Tool::new("greet", greet))?;
    tokio::spawn(async { Box::pin(server.serve(theirs)).await.expect("it begins").waiting().await });
    let discover = ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
    let rmcp = ().serve_with_lifecycle(ours, discover).await?;

    let transport = RmcpTransport::new("https://tracker.example.com/mcp", rmcp.peer().clone());
    let client = Client::builder(transport).on_elicit(ask_the_user).build();
    let result = client.call_tool("greet", json!({})).await?;
    assert_eq!(result.text(), "Hello, Ada");
    Ok(())
}

#[test]
fn an_sdk_takes_in_as_many_packages_as_the_page_says() -> Result<()> {
    let count = page::blocks("sh").find(|block| block.contains("cargo tree")).ok_or("the page says how to count")?;
    for name in ["mrtr-schema", "mrtr-state"] {
        let mut shell = Command::new("sh");
        shell.args(["-c", &count.text.replace("mrtr-state", name)]).env("CARGO_NET_OFFLINE", "true");
        let counted = shell.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).output()?;
        let counted = String::from_utf8(counted.stdout)?.trim().to_owned();
        let row =
            page::GUIDE.text.lines().find(|line| line.starts_with(&format!("| [`{name}`]"))).ok_or("it has a row")?;
        let cell = row.split(" | ").nth(2).ok_or("the row has a number")?;
        assert_eq!(cell.split(',').next(), Some(counted.as_str()), "{name}");
    }
    Ok(())
}
