//! One question and its answer, by hand: what a server sends, and how it reads what comes back.

use std::error::Error;

use mrtr_schema::elicitation::{ElicitFormParams, ElicitRequest};
use mrtr_schema::input::Answer;
use mrtr_schema::jsonrpc::Response;
use mrtr_schema::methods::CallTool;
use mrtr_schema::{Form, InputRequest, InputRequiredResult, InputResponses, RequestState, Revision, Wire};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Debug, Deserialize, JsonSchema)]
enum Resolution {
    Fixed,
    #[serde(rename = "Won't Fix")]
    WontFix,
    Duplicate,
    #[serde(rename = "By Design")]
    ByDesign,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Resolved {
    /// Resolution type for this bug
    resolution: Resolution,
}

fn main() -> Result<(), Box<dyn Error>> {
    let form = Form::of::<Resolved>()?;
    let question = ElicitRequest::new(ElicitFormParams::ask("How was this bug resolved?", form));
    let interim = InputRequiredResult::ask("resolution", question.clone()).and_carry(RequestState::new("sealed"));
    println!("server: {}", Response::<CallTool>::new(1, interim).to_json(Revision::Published)?);

    let answers = r#"{"resolution": {"action": "accept", "content": {"resolution": "Won't Fix"}}}"#;
    println!("client: {answers}");

    let dialect = Revision::Published.strict();
    let answers = InputResponses::from_json(answers, dialect)?;
    let answer = answers.get("resolution").ok_or("not answered")?;
    if let Answer::Elicit(answer) = answer.answering(&InputRequest::from(question), dialect)?
        && let Some(content) = answer.content
    {
        println!("server: {:?}", content.as_object().to::<Resolved>()?.resolution);
    }
    Ok(())
}
