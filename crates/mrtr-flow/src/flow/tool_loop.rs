//! A model that calls tools: turn by turn, each turn an answer, each turn's tools a step.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::pin::Pin;

use mrtr_schema::content::Role;
use mrtr_schema::sampling::{
    CreateMessageParams, CreateMessageResult, SamplingContent, SamplingMessage, ToolResultContent, ToolUseContent,
};
use mrtr_schema::{ContentBlock, JsonObject, Tool};

use super::Flow;
use crate::error::{Failure, FailureKind, FlowError};
use crate::support::echo;

/// The tools that a model may call while it is asked.
///
/// ```
/// use mrtr_schema::Tool;
/// use mrtr_schema::tools::InputSchema;
/// use mrtr_flow::flow::SamplingTools;
///
/// let weather = Tool::new("weather", InputSchema::parse(r#"{"type": "object"}"#)?);
/// let tools = SamplingTools::new().tool(weather, async |_arguments| Ok("sunny".into()));
/// # Ok::<(), mrtr_schema::ReadError>(())
/// ```
#[derive(Default)]
pub struct SamplingTools<'a> {
    tools: Vec<Tool>,
    calls: HashMap<String, Call<'a>>,
    turns: Option<u32>,
}

struct Call<'a>(Box<dyn Fn(JsonObject) -> Calling<'a> + Send + Sync + 'a>);

struct Calling<'a>(Pin<Box<dyn Future<Output = Result<ToolOutput, Failure>> + Send + 'a>>);

/// The output of a tool for the model.
///
/// ```
/// use mrtr_schema::ContentBlock;
/// use mrtr_flow::flow::ToolOutput;
///
/// let text = ToolOutput::from("sunny");
/// assert_eq!(text, ToolOutput::from(vec![ContentBlock::text("sunny")]));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutput(Vec<ContentBlock>);

impl From<String> for ToolOutput {
    fn from(text: String) -> Self {
        Self(vec![ContentBlock::text(text)])
    }
}

impl From<&str> for ToolOutput {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<Vec<ContentBlock>> for ToolOutput {
    fn from(content: Vec<ContentBlock>) -> Self {
        Self(content)
    }
}

impl SamplingTools<'_> {
    /// The number of turns that a model gets, unless [`turns`](Self::turns) says otherwise.
    pub const DEFAULT_TURNS: u32 = 10;
}

impl<'a> SamplingTools<'a> {
    /// Makes a set without tools.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool, and the code that a call of it runs. The model sees a failure of the tool as it sees a result.
    #[must_use]
    pub fn tool<C, F>(mut self, tool: Tool, call: C) -> Self
    where
        C: Fn(JsonObject) -> F + Send + Sync + 'a,
        F: Future<Output = Result<ToolOutput, Failure>> + Send + 'a,
    {
        let call = move |arguments| Calling(Box::pin(call(arguments)));
        self.calls.insert(tool.name.clone(), Call(Box::new(call)));
        self.tools.push(tool);
        self
    }

    /// Gives the model this many turns at most. Ten by default.
    #[must_use]
    pub fn turns(mut self, turns: u32) -> Self {
        self.turns = Some(turns);
        self
    }

    async fn call(&self, using: &ToolUseContent) -> ToolResultContent {
        let output = match self.calls.get(&using.name) {
            Some(Call(call)) => call(using.input.clone()).0.await,
            None => Err(crate::error::ToolError::new(format!("There is no tool `{}`", using.name)).into()),
        };
        let (content, failed) = match output {
            Ok(ToolOutput(content)) => (content, None),
            Err(Failure(FailureKind::Tool(text))) => (vec![ContentBlock::text(text)], Some(true)),
            Err(Failure(FailureKind::Unanswered(error))) => (vec![ContentBlock::text(error.to_string())], Some(true)),
            Err(failure) => {
                let error = failure.into_step_error();
                tracing::warn!(tool = using.name, error = &*echo::logged(error.message()), "a model's tool failed");
                (vec![ContentBlock::text("The tool failed")], Some(true))
            }
        };
        let mut result = ToolResultContent::new(&*using.id, content);
        result.is_error = failed;
        result
    }
}

impl fmt::Debug for SamplingTools<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.tools.iter().map(|tool| &tool.name)).finish()
    }
}

/// A question to a model that may call tools.
///
/// ```
/// # use mrtr_schema::sampling::{CreateMessageParams, SamplingMessage};
/// # use mrtr_flow::Flow;
/// # use mrtr_flow::flow::{SamplingTools, ToolLoop};
/// fn asking<'a, 'b>(flow: &'a Flow, tools: &'a SamplingTools<'b>) -> ToolLoop<'a, 'b> {
///     flow.sample_with_tools("ask", CreateMessageParams::new([SamplingMessage::user("Well?")], 100_u64), tools)
/// }
/// ```
#[derive(Debug)]
#[must_use = "a model is asked when this is awaited"]
pub struct ToolLoop<'a, 'b> {
    flow: &'a Flow,
    key: String,
    params: CreateMessageParams,
    tools: &'a SamplingTools<'b>,
}

impl<'a, 'b> ToolLoop<'a, 'b> {
    pub(super) fn new(
        flow: &'a Flow,
        key: String,
        mut params: CreateMessageParams,
        tools: &'a SamplingTools<'b>,
    ) -> Self {
        params.tools = Some(tools.tools.clone());
        Self { flow, key, params, tools }
    }

    async fn converse(self) -> Result<CreateMessageResult, FlowError> {
        let Self { flow, key, mut params, tools } = self;
        let turns = tools.turns.unwrap_or(SamplingTools::DEFAULT_TURNS);
        for turn in 1..=turns {
            let answer = flow.sample(format!("{key}.{turn}"), params.clone()).validate(can_be_answered).await?;
            let uses: Vec<ToolUseContent> = uses(&answer).cloned().collect();
            if uses.is_empty() {
                return Ok(answer);
            }
            if turn == turns {
                // The model would not read what the tools give.
                break;
            }
            let results = async {
                let mut results = Vec::with_capacity(uses.len());
                for using in &uses {
                    results.push(tools.call(using).await);
                }
                Ok::<_, Failure>(results)
            };
            let results = flow.step(format!("{key}.{turn}"), results).await?;
            params.messages.push(SamplingMessage::new(Role::Assistant, answer.content.clone()));
            let results: Vec<_> = results.into_iter().map(SamplingContent::ToolResult).collect();
            params.messages.push(SamplingMessage::new(Role::User, results));
        }
        Err(FlowError::TooManyTurns { key, turns })
    }
}

fn uses(answer: &CreateMessageResult) -> impl Iterator<Item = &ToolUseContent> {
    answer
        .content
        .iter()
        .filter_map(|content| if let SamplingContent::ToolUse(using) = content { Some(using) } else { None })
}

/// Checks that the next turn may repeat what the model said: its tool uses have ids of their own, and it gives no
/// results.
fn can_be_answered(answer: &CreateMessageResult) -> Result<(), &'static str> {
    let mut ids = HashSet::new();
    if answer.content.iter().any(|content| matches!(content, SamplingContent::ToolResult(_))) {
        return Err("a model may not send tool results");
    }
    if uses(answer).all(|using| ids.insert(&using.id)) { Ok(()) } else { Err("two tool uses have the same id") }
}

impl<'a> IntoFuture for ToolLoop<'a, '_> {
    type Output = Result<CreateMessageResult, FlowError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.converse())
    }
}
