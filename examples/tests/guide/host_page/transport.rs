//! A transport of one's own.
#![allow(clippy::wildcard_imports, reason = "what the page takes in")]

use super::*;

/// Reaches a server in the same process.
#[derive(Debug)]
struct InProcess(Server);

#[async_trait]
impl Transport for InProcess {
    fn server(&self) -> &'static str {
        "the built-in tools" // for people, and for saved calls
    }

    async fn exchange(
        &self,
        request: TransportRequest<'_>,
        _on_message: &mut (dyn FnMut(ServerMessage) + Send),
    ) -> Result<TransportResponse, TransportError> {
        let Self(server) = self;
        let message = serde_json::from_str(request.message).map_err(TransportError::new)?;
        let reply = server.handle_value(message, Context::new().revision(request.revision)).await;
        let reply = reply.ok_or_else(|| TransportError::new("the server did not answer"))?;
        Ok(TransportResponse::new(reply.to_string()))
    }
}

#[data]
struct Name {
    name: String,
}

async fn greet(flow: Flow) -> Result<String> {
    let Name { name } = flow.elicit("name", "Who are you?").await?;
    Ok(format!("Hello, {name}"))
}

#[tokio::test]
async fn a_server_in_this_process_is_called() -> Result<()> {
    let server = Server::builder("greeter", "1.0.0").tool(Tool::new("greet", greet)).build()?;
    let answer = async |form: FormRequest| form.accept(&json!({ "name": "Ada" }));
    let client = Client::builder(InProcess(server)).on_elicit(answer).build();
    assert_eq!(client.call_tool("greet", json!({})).await?.text(), "Hello, Ada");
    assert_eq!((client.server(), client.revision()), ("the built-in tools", Revision::V2026_07_28));
    Ok(())
}
