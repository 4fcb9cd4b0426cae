//! A prompt: a template for a conversation, whose handler is a flow.

use mrtr_flow::{Failure, Flow};
use mrtr_schema::prompts::GetPromptResult;
use mrtr_schema::{JsonObject, ReadError};

use super::names::check_name;
use super::text_members::TextMembers;
use crate::definition::completion::{Completer, Completers, Completing};
use crate::definition::handler::{Handler, HandlerArguments, HandlerCall, HandlerFuture, IntoHandler};
use crate::definition::settings::{FlowSettings, shared_setters};
use crate::error::BuildError;

/// A prompt that a server offers.
///
/// Its arguments are texts; the server reads numbers and booleans in the handler's type from them.
///
/// ```
/// use mrtr_server::{Failure, Flow, Prompt};
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Review {
///     /// What to review
///     code: String,
/// }
///
/// async fn review(_: Flow, args: Review) -> Result<String, Failure> {
///     Ok(format!("Please review this code:\n\n{}", args.code))
/// }
///
/// let prompt = Prompt::new("review", review).description("Reviews code");
/// ```
pub struct Prompt {
    definition: mrtr_schema::prompts::Prompt,
    schema: Result<JsonObject, ReadError>,
    settings: FlowSettings,
    handler: Handler<GetPromptResult>,
    completers: Completers,
}

impl Prompt {
    /// A prompt of this name. Its arguments are the members of the handler's type.
    pub fn new<M, H>(name: impl Into<String>, handler: H) -> Self
    where
        // An `IntoHandler<M, GetPromptResult>`, written in its parts, so that the compiler explains the one that does
        // not hold, and shows its line.
        H: HandlerCall<M> + Send + Sync + 'static,
        H::Arguments: HandlerArguments,
        H::Future: HandlerFuture<GetPromptResult>, // `Send`: across an `.await`, `Arc` for `Rc`, no lock guard of std's
    {
        let erased = handler.erase();
        Self {
            definition: mrtr_schema::prompts::Prompt::new(name),
            schema: erased.input_schema,
            settings: FlowSettings::default(),
            handler: erased.handler,
            completers: Completers::default(),
        }
    }

    /// Changes any other member of the definition that clients see.
    #[must_use]
    pub fn define(mut self, change: impl FnOnce(&mut mrtr_schema::prompts::Prompt)) -> Self {
        change(&mut self.definition);
        self
    }

    /// Completes an argument while the user types it.
    #[must_use]
    pub fn complete<C, F, E>(mut self, argument: impl Into<String>, completer: C) -> Self
    where
        C: Fn(Flow, Completing) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Vec<String>, E>> + Send + 'static,
        E: Into<Failure> + 'static,
    {
        self.completers.insert(argument.into(), Completer::new(completer));
        self
    }

    pub(crate) fn prepare(self) -> Result<PreparedPrompt, BuildError> {
        let Self { mut definition, schema, settings, handler, completers } = self;
        check_name("prompt", &definition.name)?;
        let schema = schema.map_err(|reason| BuildError::Schema { name: definition.name.clone(), reason })?;
        let members = TextMembers::of(&schema)
            .map_err(|reason| BuildError::Arguments { name: definition.name.clone(), reason })?;
        if definition.arguments.is_none() && !members.is_empty() {
            definition.arguments = Some(members.prompt_arguments());
        }
        let offered: Vec<_> = definition.arguments.iter().flatten().map(|argument| &*argument.name).collect();
        if let Some(member) = members.without_variable(&offered) {
            let reason = format!("its handler needs `{member}`, and the prompt offers no argument `{member}`");
            return Err(BuildError::Arguments { name: definition.name.clone(), reason });
        }
        completers.check(&definition.name, &offered)?;
        Ok(PreparedPrompt { definition, settings, handler, completers, members })
    }
}

shared_setters!(
    Prompt,
    settings,
    /// Says what it is for.
);

/// A prompt that is ready to be got.
pub(crate) struct PreparedPrompt {
    pub(crate) definition: mrtr_schema::prompts::Prompt,
    pub(crate) settings: FlowSettings,
    pub(crate) handler: Handler<GetPromptResult>,
    pub(crate) completers: Completers,
    pub(crate) members: TextMembers,
}
