//! Flows inside rmcp: how short the program is, and that both of its tools are called, in both of rmcp's lifecycles.

use mrtr::prelude::*;
use mrtr::stdio::StdioTransport;
use mrtr_schema::{Era, Revision};
use tokio::process::Command;

const SOURCE: &str = include_str!("../../flows_in_rmcp.rs");

#[test]
fn an_rmcp_server_with_a_flow_takes_at_most_30_lines() {
    let lines = SOURCE.lines().skip_while(|line| line.starts_with("//!") || line.is_empty()).count();
    assert!(lines <= 30, "{lines}");
}

#[tokio::test]
async fn the_flow_and_rmcps_own_tool_are_called_in_both_lifecycles() -> Result<()> {
    for era in [Era::Modern, Era::Legacy] {
        let transport = StdioTransport::spawn(Command::new(env!("CARGO_BIN_EXE_flows_in_rmcp")))?;
        let builder = Client::builder(transport)
            .on_elicit(async |form: FormRequest| form.accept(&json!({ "name": form.message().len().to_string() })));
        let client = if era == Era::Legacy { builder.revision(Revision::LEGACY[0]) } else { builder }.build();
        assert_eq!(client.call_tool("add", json!({ "a": 2, "b": 3 })).await?.text(), "5", "{era:?}");
        assert_eq!(client.call_tool("greet", json!({})).await?.text(), "Hello, 12", "{era:?}");
        assert_eq!(client.list_tools().await?.len(), 2, "{era:?}");
        assert_eq!(client.era(), Some(era));
    }
    Ok(())
}
