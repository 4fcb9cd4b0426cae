//! `#[data]` alone is what a form, arguments, the value of a step and structured output need; and `Debug` goes with it.
#![cfg(all(feature = "server", feature = "testing"))]

use mrtr::prelude::*;
use mrtr::server::testing::Client;

#[data]
struct Bug {
    id: u64,
}

#[data]
#[derive(Debug, PartialEq)]
struct Below {
    severity: Severity,
}

#[derive(Debug, PartialEq)]
#[data]
struct Above {
    reason: String,
}

#[data]
#[derive(Debug, PartialEq)]
enum Severity {
    Low,
    High,
}

async fn report(flow: Flow, bug: Bug) -> Result<Structured<Above>> {
    let Below { severity } = flow.elicit("severity", "How bad is it?").await?;
    let above: Above = flow.step("explain", async { Ok::<_, Failure>(Above { reason: "loud".into() }) }).await?;
    Ok(Structured(Above { reason: format!("#{}: {severity:?}, {}", bug.id, above.reason) }))
}

#[tokio::test]
async fn data_is_all_that_forms_arguments_steps_and_output_need() {
    let server = Server::builder("bugs", "1.0.0").tool(Tool::new("report", report)).build().expect("it can be built");
    let asked = Client::new(&server).call_tool("report", json!({ "id": 7 })).await;
    let done = asked.accept("severity", json!({ "severity": "High" })).send().await;
    assert_eq!(done.response()["result"]["structuredContent"], json!({ "reason": "#7: High, loud" }));
}

#[test]
fn debug_is_derived_above_or_below_the_attribute() {
    assert_eq!(format!("{:?}", Above { reason: "loud".into() }), r#"Above { reason: "loud" }"#);
    assert_eq!(format!("{:?}", Below { severity: Severity::Low }), "Below { severity: Low }");
}
