//! A client of rmcp's, as its documentation shows one: lists tools, calls one, answers what it asks.
//!
//! It is no part of a measurement: `cargo xtask interop` runs it, and shares the build of rmcp that way.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction,
    Implementation, ProtocolVersion,
};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, RequestContext};
use rmcp::transport::{IntoTransport, StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientHandler, ErrorData, RoleClient};
use serde_json::{Map, Value, json};

/// What it is called with.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Speaks the modern era; else it opens with `initialize`, as rmcp does by default
    #[arg(long)]
    modern: bool,
    /// `http URL` or `stdio COMMAND ARGUMENT…`
    #[arg(trailing_var_arg = true, required = true, num_args = 2.., allow_hyphen_values = true)]
    server: Vec<String>,
}

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn run(options: &Options) -> Result<()> {
    let [kind, place, arguments @ ..] = &options.server[..] else { anyhow::bail!("no server is named") };
    let seen = if kind == "http" {
        talk(StreamableHttpClientTransport::from_uri(place.as_str()), options.modern).await?
    } else {
        let mut command = tokio::process::Command::new(place);
        command.args(arguments);
        talk(TokioChildProcess::new(command)?, options.modern).await?
    };
    println!("{seen}");
    Ok(())
}

async fn talk<T, E, A>(transport: T, modern: bool) -> Result<Value>
where
    T: IntoTransport<RoleClient, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    let person = Person::default();
    let asked = Arc::clone(&person.asked);
    let lifecycle = if modern {
        ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::LATEST] }
    } else {
        ClientLifecycleMode::Initialize
    };
    let client = person.serve_with_lifecycle(transport, lifecycle).await?;
    let version = client.peer_info().map(|info| info.protocol_version.to_string());
    let tools: Vec<_> = client.list_all_tools().await?.into_iter().map(|tool| tool.name.to_string()).collect();
    let arguments = json!({ "workItemId": 4522, "fields": {} });
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    let result = client.call_tool(CallToolRequestParams::new("update_work_item").with_arguments(arguments)).await?;
    let text = result.content.first().and_then(|content| content.as_text()).context("it says nothing")?.text.clone();
    client.cancel().await?;
    let asked = asked.lock().unwrap_or_else(PoisonError::into_inner).clone();
    Ok(json!({ "version": version, "tools": tools, "asked": asked, "text": text }))
}

#[derive(Default)]
struct Person {
    asked: Arc<Mutex<Vec<String>>>,
}

impl ClientHandler for Person {
    fn get_info(&self) -> ClientConfig {
        let capabilities = ClientCapabilities::builder().enable_elicitation().build();
        ClientConfig::new(capabilities, Implementation::new("interop", "1.0.0"))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } = request else {
            return Ok(ElicitResult::new(ElicitationAction::Decline));
        };
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(message);
        let answers = json!({ "resolution": "Duplicate", "duplicateOfId": 4301 });
        let fields = requested_schema.properties.keys();
        let content: Map<_, _> = fields.map(|field| (field.clone(), answers[field.as_str()].clone())).collect();
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(Value::Object(content)))
    }
}
