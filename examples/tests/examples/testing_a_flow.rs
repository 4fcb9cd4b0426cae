//! The example with tests in its file, as the server that it is without them. Cargo runs those tests with the others.

use mrtr::prelude::*;

use mrtr_fixtures::Program;

#[tokio::test]
async fn the_tested_flow_is_served() -> Result<()> {
    let bank = Program::start(env!("CARGO_BIN_EXE_testing_a_flow"), |command, address| {
        command.arg(address.to_string());
    });
    let answer = async |form: FormRequest| form.accept(&json!({ "yes": true }));
    let client = Client::builder(HttpTransport::new(&bank.url("/mcp"))?).on_elicit(answer).build();
    let result = client.call_tool("transfer", json!({ "to": "Bob", "euros": 5 })).await?;
    assert_eq!(result.text(), "Bob gets 5 euros (transfer 1)");
    Ok(())
}
