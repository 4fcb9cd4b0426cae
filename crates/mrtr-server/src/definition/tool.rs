//! A tool: its definition, its handler, and how its flows are kept.

mod mirrored;

use std::borrow::Cow;
use std::time::Duration;

use mrtr_flow::{Journal, RunContext, RunReport, run};
use mrtr_schema::tools::{InputSchema, ToolAnnotations};
use mrtr_schema::{CallToolResult, ErrorObject, Json, JsonObject, SchemaCheck, SchemaError};
use serde_json::Value;
use serde_json::value::RawValue;

use mirrored::Mirrored;

pub use mirrored::HeaderClaim;

use super::names::check_name;
use super::settings::{FlowSettings, Guard, TaskPolicy, shared_setters};
use crate::definition::handler::{
    ErasedHandler, Handler, HandlerArguments, HandlerCall, HandlerFuture, IntoHandler, RunningHandler,
};
use crate::definition::output::Output;
use crate::error::BuildError;

/// A tool that a server offers.
///
/// ```
/// use mrtr_server::{Flow, Tool};
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Greet { name: String }
///
/// async fn greet(_: Flow, args: Greet) -> Result<String, std::convert::Infallible> {
///     Ok(format!("Hello, {}", args.name))
/// }
///
/// let tool = Tool::new("greet", greet).description("Greets a person");
/// ```
pub struct Tool {
    pub(crate) definition: Result<mrtr_schema::Tool, BuildError>,
    pub(crate) settings: FlowSettings,
    handler: Handler<CallToolResult>,
    /// The schema of the type that the handler reads its arguments as.
    derived: Option<InputSchema>,
}

impl Tool {
    /// A tool of this name. Its input schema is that of the handler's arguments.
    pub fn new<M, H>(name: impl Into<String>, handler: H) -> Self
    where
        // An `IntoHandler<M>`, written in its parts, so that the compiler explains the one that does not hold, and
        // shows its line.
        H: HandlerCall<M> + Send + Sync + 'static,
        H::Arguments: HandlerArguments,
        H::Future: HandlerFuture<CallToolResult>, // `Send`: across an `.await`, `Arc` for `Rc`, no lock guard of std's
    {
        let erased = handler.erase();
        let definition = definition(name.into(), &erased);
        let derived = definition.as_ref().ok().map(|definition| definition.input_schema.clone());
        Self { definition, settings: FlowSettings::default(), handler: erased.handler, derived }
    }

    /// Says how it behaves.
    #[must_use]
    pub fn annotations(self, annotations: ToolAnnotations) -> Self {
        self.define(|tool| tool.annotations = Some(annotations))
    }

    /// Takes arguments by another schema than the one derived from their type.
    #[must_use]
    pub fn input_schema(self, schema: InputSchema) -> Self {
        self.define(|tool| tool.input_schema = schema)
    }

    /// Changes any other member of the definition that clients see.
    #[must_use]
    pub fn define(mut self, change: impl FnOnce(&mut mrtr_schema::Tool)) -> Self {
        if let Ok(definition) = &mut self.definition {
            change(definition);
        }
        self
    }

    /// Lets each of its states be used once.
    #[must_use]
    pub fn single_use(mut self, guard: impl Into<Guard>) -> Self {
        self.settings.guard = Some(guard.into());
        self
    }

    /// Waits this long for the answer to a question in a session, where the call stays open meanwhile. Without this,
    /// [`SessionLimits`](crate::SessionLimits) says how long. A question may set its own time with
    /// [`Ask::valid_for`](crate::flow::Ask::valid_for).
    ///
    /// ```
    /// use std::time::Duration;
    /// use mrtr_server::{Failure, Flow, Tool};
    ///
    /// let tool = Tool::new("greet", async |_: Flow| Ok::<_, Failure>("Hello")).question_timeout(Duration::from_mins(2));
    /// ```
    #[must_use]
    pub fn question_timeout(mut self, limit: Duration) -> Self {
        self.settings.question_timeout = Some(limit);
        self
    }

    /// Refuses an answer that was given to another wording of its question, rather than warn of it in the log.
    ///
    /// A flow that branches on time or chance, or names its questions by an order that changes, can take an answer for
    /// a question that it does not belong to. The server tells the caller to begin anew, even if the question differs
    /// only because a new version of the server has reworded it: [`Ask::pinned`](crate::flow::Ask::pinned) asks again
    /// instead.
    ///
    /// An answer that comes without a state does not say which wording it was given to: for a strict tool it never
    /// counts, and every reply that asks carries a state.
    ///
    /// ```
    /// # use mrtr_server::{Failure, Flow, Tool};
    /// # #[derive(serde::Deserialize, schemars::JsonSchema)] struct Agreed { agreed: bool }
    /// async fn delete(flow: Flow) -> Result<String, Failure> {
    ///     let Agreed { agreed } = flow.elicit("agreed", "Delete 3 files?").await?;
    ///     Ok(agreed.to_string())
    /// }
    ///
    /// let tool = Tool::new("delete", delete).strict();
    /// ```
    #[must_use]
    pub fn strict(mut self) -> Self {
        self.settings.strict = true;
        self
    }

    /// Notes the handler's version in each state: a fact for the log.
    #[must_use]
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.settings.version = version.into();
        self
    }

    /// Says when its calls run as tasks. By default, they never do.
    #[must_use]
    pub fn tasks(mut self, policy: TaskPolicy) -> Self {
        self.settings.tasks = policy;
        self
    }

    pub(crate) fn prepare(self, runs_tasks: bool) -> Result<PreparedTool, BuildError> {
        let mut definition = self.definition?;
        check_name("tool", &definition.name)?;
        if self.settings.tasks == TaskPolicy::Required && !runs_tasks {
            return Err(BuildError::Tasks { tool: definition.name });
        }
        if let (true, Some(support)) = (runs_tasks, self.settings.tasks.support()) {
            definition.execution.get_or_insert_default().task_support.get_or_insert(support);
        }
        let mut handler = self.handler;
        let is_derived = self.derived.as_ref() == Some(&definition.input_schema);
        if let (false, Some(derived)) = (is_derived, &self.derived) {
            if let Some(member) = lacking_member(&definition.input_schema, derived) {
                return Err(BuildError::Member { tool: definition.name, member });
            }
            handler.schema_by_hand_of = Some(definition.name.clone());
        }
        let check = if is_derived { ArgumentCheck::derived } else { ArgumentCheck::by_hand };
        let check = check(&definition.input_schema)
            .map_err(|reason| BuildError::Check { tool: definition.name.clone(), reason })?;
        let mirrored = Mirrored::of(&definition.input_schema);
        Ok(PreparedTool { definition, settings: self.settings, handler, check, mirrored })
    }
}

shared_setters!(
    Tool,
    settings,
    /// Says what it does.
);

fn definition(name: String, erased: &ErasedHandler<CallToolResult>) -> Result<mrtr_schema::Tool, BuildError> {
    let not_allowed = |reason| BuildError::Schema { name: name.clone(), reason };
    let input = erased.input_schema.clone().map_err(not_allowed)?;
    let output = erased.output_schema.clone().map_err(not_allowed)?;
    let input = InputSchema::from_object(input).map_err(|_| BuildError::Arguments {
        name: name.clone(),
        reason: format!(
            "its handler takes a `{}`, and arguments are an object: take a struct with named fields",
            erased.arguments
        ),
    })?;
    let mut tool = mrtr_schema::Tool::new(name, input);
    tool.output_schema = output;
    Ok(tool)
}

/// A tool that is ready to be called.
pub(crate) struct PreparedTool {
    pub(crate) definition: mrtr_schema::Tool,
    pub(crate) settings: FlowSettings,
    pub(crate) handler: Handler<CallToolResult>,
    check: ArgumentCheck,
    mirrored: Mirrored,
}

impl PreparedTool {
    /// Checks that the headers say of the arguments what the body does.
    pub(crate) fn check_mirrored(
        &self,
        arguments: &JsonObject,
        claims: &[(Cow<'_, str>, HeaderClaim<'_>)],
    ) -> Result<(), ErrorObject> {
        self.mirrored.check(arguments, claims)
    }

    /// Returns true if all of its calls run as tasks.
    pub(crate) fn is_always_task(&self) -> bool {
        self.settings.tasks == TaskPolicy::Required
    }

    pub(crate) fn name(&self) -> &str {
        &self.definition.name
    }

    /// Checks the arguments. The error says, in words for the model, why they will not do.
    pub(crate) fn check(&self, arguments: &RawValue) -> Result<(), String> {
        self.check.check(arguments)
    }

    /// Runs the handler over a journal that another runner keeps, such as that of a task.
    pub(crate) async fn run_over(&self, arguments: &Json, journal: Journal, context: RunContext) -> RunReport<Output> {
        let begin = async |flow| match self.handler.start(flow, arguments.as_raw()) {
            Ok(RunningHandler(running)) => running.await,
            Err(ended) => ended,
        };
        run(begin, journal, context).await
    }
}

/// Checks arguments, where reading them as the handler's type does not do so already.
struct ArgumentCheck(Option<SchemaCheck>);

impl ArgumentCheck {
    /// Checks against the schema of the very type that the handler reads its arguments as.
    fn derived(schema: &InputSchema) -> Result<Self, SchemaError> {
        let Self(check) = Self::by_hand(schema)?;
        let implied = serde_json::from_str(schema.as_object().as_raw().get()).is_ok_and(|schema| is_implied(&schema));
        Ok(Self(check.filter(|_| !implied)))
    }

    /// Checks against a schema that the handler's type knows nothing of.
    fn by_hand(schema: &InputSchema) -> Result<Self, SchemaError> {
        SchemaCheck::new(schema.as_object().as_raw()).map(Some).map(Self)
    }

    pub(super) fn check(&self, arguments: &RawValue) -> Result<(), String> {
        self.0.as_ref().map_or(Ok(()), |check| check.check(arguments)).map_err(|violations| violations.to_string())
    }
}

/// Returns a member that the handler's type requires, and of which a schema by hand says nothing: callers who follow the
/// schema leave it out. A schema that gets members from elsewhere, or names none, may well mean it.
fn lacking_member(by_hand: &InputSchema, derived: &InputSchema) -> Option<String> {
    let read = |schema: &InputSchema| serde_json::from_str::<Value>(schema.as_object().as_raw().get()).ok();
    let (by_hand, derived) = (read(by_hand)?, read(derived)?);
    if FURTHER_MEMBERS.iter().any(|keyword| by_hand.get(keyword).is_some()) {
        return None;
    }
    let named = by_hand.get("properties")?.as_object()?;
    let required = |schema: &Value| -> Vec<String> {
        let members = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        members.filter_map(Value::as_str).map(ToOwned::to_owned).collect()
    };
    // A member may be required without a word about its form.
    let told = required(&by_hand);
    required(&derived).into_iter().find(|member| !named.contains_key(member) && !told.contains(member))
}

/// Keywords of a schema by which it may speak of members that are not among its `properties`.
const FURTHER_MEMBERS: [&str; 10] =
    ["$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "then", "else", "dependentSchemas", "patternProperties"];

/// Returns true if every value that serde reads as the type follows the schema. The schema then says nothing but which
/// members there are and of which plain types: serde may not look at lengths, ranges, patterns, formats and fixed
/// values.
fn is_implied(schema: &Value) -> bool {
    let Value::Object(schema) = schema else { return true };
    schema.iter().all(|(keyword, value)| match keyword.as_str() {
        "type" | "required" | "title" | "description" | "$schema" | "default" | "$ref" => true,
        "properties" | "$defs" => value.as_object().is_some_and(|members| members.values().all(is_implied)),
        "items" | "additionalProperties" => is_implied(value),
        "anyOf" => value.as_array().is_some_and(|schemas| schemas.iter().all(is_implied)),
        "format" => value.as_str().is_some_and(|format| INTEGER_FORMATS.contains(&format)),
        // The minimum of an unsigned integer: serde reads none from anything less.
        "minimum" => value == 0 && schema.get("format").and_then(Value::as_str).is_some_and(|f| f.starts_with("uint")),
        _ => false,
    })
}

/// Formats by which schemars notes the width of a number.
const INTEGER_FORMATS: [&str; 8] = ["int32", "int64", "uint32", "uint64", "uint", "int", "double", "float"];
