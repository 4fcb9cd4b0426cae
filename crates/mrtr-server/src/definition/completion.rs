//! Completion of arguments: a flow suggests what the user may be about to type.

use std::collections::{BTreeMap, HashMap};

use mrtr_flow::{Failure, Flow};
use mrtr_schema::completion::{CompleteParams, CompleteResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::definition::handler::{Handler, IntoHandler};
use crate::error::BuildError;

/// An argument that is being typed.
///
/// ```
/// use mrtr_server::{Failure, Flow};
/// use mrtr_server::handler::Completing;
///
/// async fn cities(_: Flow, typing: Completing) -> Result<Vec<String>, Failure> {
///     let cities = ["Paris", "Parma", "Oslo"];
///     Ok(cities.iter().filter(|city| city.starts_with(&typing.value)).map(ToString::to_string).collect())
/// }
/// ```
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Completing {
    /// The text typed so far.
    pub value: String,
    /// The other arguments, as far as they are known.
    pub others: BTreeMap<String, String>,
}

impl Completing {
    pub(crate) fn of(params: CompleteParams) -> Self {
        let known = params.context.and_then(|context| context.arguments).unwrap_or_default();
        Self { value: params.argument.value, others: known.into_iter().collect() }
    }
}

/// The completer of each argument.
#[derive(Default)]
pub(crate) struct Completers(HashMap<String, Completer>);

impl Completers {
    pub(crate) fn insert(&mut self, argument: String, completer: Completer) {
        self.0.insert(argument, completer);
    }

    pub(crate) fn get(&self, argument: &str) -> Option<&Completer> {
        self.0.get(argument)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Refuses a completer for something that the prompt or template does not take: no client would ask for it.
    pub(super) fn check(&self, name: &str, takes: &[&str]) -> Result<(), BuildError> {
        let mut unknown: Vec<_> = self.0.keys().filter(|argument| !takes.contains(&argument.as_str())).collect();
        unknown.sort_unstable();
        let Some(argument) = unknown.first() else { return Ok(()) };
        let known: Vec<_> = takes.iter().map(|name| format!("`{name}`")).collect();
        let takes = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        Err(BuildError::Completion { name: name.to_owned(), argument: (*argument).clone(), takes })
    }
}

/// A handler that completes one argument.
pub(crate) struct Completer(pub(crate) Handler<CompleteResult>);

impl Completer {
    pub(crate) fn new<C, F, E>(completer: C) -> Self
    where
        C: Fn(Flow, Completing) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Vec<String>, E>> + Send + 'static,
        E: Into<Failure> + 'static,
    {
        Self(IntoHandler::<_, CompleteResult>::erase(completer).handler)
    }
}
