//! A server to call: the Azure DevOps flow with its effects counted, tools that ask everything, and one that waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mrtr_client::{Builder, FormRequest};
use mrtr_fixtures::work_item::{Resolved, Update, resolve};
use mrtr_schema::CallToolResult;
use mrtr_schema::content::{Role, TextContent};
use mrtr_schema::elicitation::ElicitResult;
use mrtr_schema::roots::Root;
use mrtr_schema::sampling::{CreateMessageParams, CreateMessageResult, SamplingContent, SamplingMessage};
use mrtr_server::{Builder as ServerBuilder, Failure, Flow, Server, Tool};
use serde_json::json;
use tokio::sync::Semaphore;

/// Counts the effects outside the server, and holds a tool that waits.
#[derive(Clone)]
pub(crate) struct Outside(Arc<Inner>);

struct Inner {
    links: AtomicUsize,
    waiting: Semaphore,
    gone: Semaphore,
}

impl Default for Outside {
    fn default() -> Self {
        Self(Arc::new(Inner { links: AtomicUsize::new(0), waiting: Semaphore::new(0), gone: Semaphore::new(0) }))
    }
}

impl Outside {
    pub(crate) fn links(&self) -> usize {
        self.0.links.load(Ordering::SeqCst)
    }

    /// Waits until a tool waits.
    pub(crate) async fn is_waiting(&self) {
        crate::support::within("a tool that waits", self.0.waiting.acquire()).await.unwrap().forget();
    }

    /// Waits until a tool that waited is gone.
    pub(crate) async fn is_gone(&self) {
        crate::support::within("the end of a tool", self.0.gone.acquire()).await.unwrap().forget();
    }
}

async fn update_work_item(flow: Flow, update: Update) -> Result<String, Failure> {
    let outside = flow.state::<Outside>();
    let link = |_, _| async { Ok::<_, Failure>(outside.0.links.fetch_add(1, Ordering::SeqCst)) };
    resolve(&flow, &update, link).await
}

/// Asks a person and a model, and asks for roots, all at once.
async fn everything(flow: Flow) -> Result<String, Failure> {
    let params = CreateMessageParams::new([SamplingMessage::user("Capital of France?")], 10_u64);
    let asked = (flow.elicit::<Resolved>("how", "How?"), flow.sample("capital", params), flow.roots("where"));
    let (_, capital, roots) = flow.join(asked).await?;
    Ok(format!("{} in {}", capital.text().unwrap_or_default(), roots[0].uri))
}

async fn talk(flow: Flow) -> Result<&'static str, Failure> {
    flow.progress(1, Some(2), "halfway").await;
    Ok("done")
}

async fn wait(flow: Flow) -> Result<&'static str, Failure> {
    struct Gone(Outside);
    impl Drop for Gone {
        fn drop(&mut self) {
            self.0.0.gone.add_permits(1);
        }
    }
    let outside = flow.state::<Outside>().clone();
    let _gone = Gone(outside.clone());
    outside.0.waiting.add_permits(1);
    std::future::pending::<()>().await;
    Ok("never")
}

pub(crate) fn builder(outside: &Outside) -> ServerBuilder {
    let hello = async |_: Flow| Ok::<_, Failure>("Hello");
    Server::builder("tracker", "1.0.0")
        .state(outside.clone())
        .tool(Tool::new("update_work_item", update_work_item))
        .tool(Tool::new("everything", everything))
        .tool(Tool::new("talk", talk))
        .tool(Tool::new("wait", wait))
        .tool(Tool::new("hello", hello))
}

pub(crate) fn server(outside: &Outside) -> Server {
    builder(outside).build().unwrap()
}

/// A person's answers in the Azure DevOps flow, to either of its forms.
async fn fill_in(form: FormRequest) -> Result<ElicitResult, mrtr_client::AnswerError> {
    let is_first = form.fields().any(|field| field.name == "resolution");
    if is_first {
        form.accept(&json!({ "resolution": "Duplicate" }))
    } else {
        form.accept(&json!({ "duplicateOfId": 4301 }))
    }
}

/// A client that answers everything.
pub(crate) fn answering(client: Builder) -> Builder {
    client
        .on_elicit(fill_in)
        .on_sample(|_, _| async {
            let said = SamplingContent::Text(TextContent::new("Paris"));
            Ok::<_, std::io::Error>(CreateMessageResult::new(Role::Assistant, said, "a-model"))
        })
        .on_roots(|_| async { Ok::<_, std::io::Error>(vec![Root::new("file:///src")]) })
}

pub(crate) fn text(result: &CallToolResult) -> String {
    result.text()
}

pub(crate) const DONE: &str = "Bug #4522 resolved as duplicate of #4301";
