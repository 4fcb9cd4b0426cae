//! neva's server of the matrix. It speaks the modern era: a build of neva has one.
//!
//! It has no tool `shed`: neva makes no reply that carries a state and asks nothing.

#![expect(deprecated, reason = "neva discourages sampling and roots, which the matrix has all the same")]

use anyhow::{Result, bail};
use neva::error::{Error, ErrorCode};
use neva::types::elicitation::{ElicitRequestParams, ElicitResult};
use neva::types::sampling::{CreateMessageRequestParams, SamplingMessage};
use neva::types::{Role, Schema};
use neva::{App, Context};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::Place;
use crate::conversation::{CAPITAL, CAPITAL_TOKENS, CONNECT, CONNECT_URL, ECHO, LANGUAGE, LOGIN, NOTEBOOK, WHO};
use crate::neva_tracker::{count, resolution};
use crate::{SECRET, closed};
use mrtr_fixtures::work_item::{HOW, Resolution, WHICH, closed_as_duplicate};

pub(crate) async fn serve(place: &Place) -> Result<()> {
    let app = App::new().without_greeting().with_request_state_secret(SECRET);
    let mut app = app.with_options(|options| match place {
        Place::Http { port } => {
            options.with_tasks().with_http(|http| http.bind(format!("127.0.0.1:{port}")).with_endpoint("/mcp"))
        }
        Place::Stdio => options.with_tasks().with_stdio(),
    });
    app.map_tool("greet", greet).with_description("Greets a person");
    app.map_tool("update_work_item", update_work_item)
        .with_arg_names(["workItemId", "fields"])
        .with_description("Updates a work item");
    app.map_tool("mixed", mixed).with_description("Asks a person, a model and a client at once");
    app.map_tool("connect", connect).with_description("Connects an account");
    app.map_tool("deploy", deploy)
        .with_arg_names(["region"])
        .with_input_schema(|_| annotated_region().into())
        .with_description("Deploys to a region");
    app.map_tool("echo_task", echo_task)
        .with_task_support("optional")
        .with_description("Echoes what a person says, in a task");
    app.map_prompt("review", review).with_description("Reviews code");
    app.add_resource("notes://secret", "secret");
    app.map_resource("notes://{name}", "notes", notes);
    app.run().await;
    match place {
        Place::Http { .. } => bail!("neva has stopped"),
        Place::Stdio => Ok(()),
    }
}

async fn greet(ctx: Context) -> Result<String, Error> {
    let answer = ctx.elicit("name", form(WHO, "name")).await?;
    if answer.is_declined() {
        return Err(without_answer("declined"));
    }
    if answer.is_canceled() {
        return Err(without_answer("cancelled"));
    }
    Ok(format!("Hello, {}", accepted::<String>(&answer, "name")?))
}

async fn update_work_item(ctx: Context, work_item: u64, fields: Value) -> Result<String, Error> {
    let form = ElicitRequestParams::form(HOW).with_required("resolution", resolution());
    let answer = ctx.elicit("resolution", form.into()).await?;
    if accepted::<Resolution>(&answer, "resolution")? != Resolution::Duplicate {
        return Ok(closed(work_item, count(&fields)));
    }
    let form = ElicitRequestParams::form(WHICH).with_required("duplicateOfId", Schema::integer());
    let original = accepted(&ctx.elicit("duplicate_of", form.into()).await?, "duplicateOfId")?;
    ctx.once("link", async {
        eprintln!("effect: link");
        Ok(())
    })
    .await?;
    Ok(closed_as_duplicate(work_item, original))
}

/// Asks in one round all that comes before the first `?`.
async fn mixed(ctx: Context) -> Result<String, Error> {
    let sample = CreateMessageRequestParams::new()
        .with_message(SamplingMessage::user().with(CAPITAL))
        .with_max_tokens(CAPITAL_TOKENS.into());
    let login = ctx.elicit("login", form(LOGIN, "name")).await;
    let capital = ctx.sample("capital", sample).await;
    let roots = ctx.list_roots("roots").await;
    let (login, capital, roots) = (login?, capital?, roots?);
    let login: String = accepted(&login, "name")?;
    let capital = capital.text().next().ok_or_else(|| invalid("the model says nothing"))?;
    let root = roots.roots.first().ok_or_else(|| invalid("there is no root"))?;
    Ok(format!("{login}, {}, {}", capital.text, &*root.uri))
}

async fn connect(ctx: Context) -> Result<String, Error> {
    let answer = ctx.elicit("connect", ElicitRequestParams::url(CONNECT_URL, CONNECT).into()).await?;
    if !answer.is_accepted() {
        return Err(invalid("the person did not go there"));
    }
    Ok("Connected".to_owned())
}

async fn deploy(region: String) -> String {
    format!("Deployed to {region}")
}

/// Runs in a task if the call asks for one, as neva has it: by a parameter of the call.
async fn echo_task(ctx: Context) -> Result<String, Error> {
    let form = form(ECHO, "text");
    let answer = if ctx.is_task() { ctx.task().elicit(form).await? } else { ctx.elicit("echo_input", form).await? };
    Ok(format!("Echo: {}", accepted::<String>(&answer, "text")?))
}

async fn review(ctx: Context) -> Result<(String, Role), Error> {
    let answer = ctx.elicit("language", form(LANGUAGE, "language")).await?;
    Ok((format!("Review this {}", accepted::<String>(&answer, "language")?), Role::User))
}

async fn notes(ctx: Context, name: String) -> Result<(String, String), Error> {
    let answer = ctx.elicit("pin", form(NOTEBOOK, "notebook")).await?;
    Ok((format!("notes://{name}"), format!("The notes of {}", accepted::<String>(&answer, "notebook")?)))
}

fn form(message: &str, field: &str) -> ElicitRequestParams {
    ElicitRequestParams::form(message).with_required(field, Schema::string()).into()
}

/// A field of a form that the person has filled in.
fn accepted<T: DeserializeOwned>(answer: &ElicitResult, field: &str) -> Result<T, Error> {
    let content = answer.content.as_ref().filter(|_| answer.is_accepted());
    let value = content.and_then(|content| content.get(field)).ok_or_else(|| invalid("the person did not answer"))?;
    Ok(serde_json::from_value(value.clone())?)
}

fn annotated_region() -> Value {
    json!({
        "type": "object",
        "properties": { "region": { "type": "string", "x-mcp-header": "Region" } },
        "required": ["region"],
    })
}

fn without_answer(action: &str) -> Error {
    eprintln!("effect: {action}");
    invalid(&format!("The person {action}"))
}

fn invalid(reason: &str) -> Error {
    Error::new(ErrorCode::InvalidParams, reason)
}
