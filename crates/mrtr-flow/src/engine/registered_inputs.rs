//! The inputs of an application's own that a server may ask for, and the pages that stand in for them.

use std::any::Any;
use std::collections::HashMap;
use std::fmt;

use mrtr_schema::input::InputKind;
use mrtr_schema::{InputRequests, Method, NamespacedInput};

/// The inputs that a server was built with. The published set is closed, so a flow never asks for anything else.
#[expect(clippy::exhaustive_enums, reason = "a program names its inputs or takes any")]
pub enum Inputs {
    /// These, each with a page if it has one.
    Registered(HashMap<Method, Option<Box<dyn Any + Send + Sync>>>),
    /// Any: where a flow is run without a server.
    Any,
}

impl fmt::Debug for Inputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Registered(inputs) => f.debug_set().entries(inputs.keys()).finish(),
            Self::Any => f.write_str("Any"),
        }
    }
}

impl Default for Inputs {
    fn default() -> Self {
        Self::Registered(HashMap::new())
    }
}

/// Makes a message and a URL.
#[expect(clippy::type_complexity, reason = "this is the name for it")]
struct Page<I: NamespacedInput>(Box<dyn Fn(&I::Params, &str) -> (String, String) + Send + Sync>);

impl Inputs {
    /// Registers an input. A page that it has already stays.
    pub fn insert<I: NamespacedInput>(&mut self) {
        if let Self::Registered(inputs) = self {
            inputs.entry(I::METHOD).or_default();
        }
    }

    /// Registers an input, with a page for clients that do not declare it.
    pub fn insert_with_page<I: NamespacedInput + 'static>(
        &mut self,
        page: impl Fn(&I::Params, &str) -> (String, String) + Send + Sync + 'static,
    ) {
        if let Self::Registered(inputs) = self {
            inputs.insert(I::METHOD, Some(Box::new(Page::<I>(Box::new(page)))));
        }
    }

    /// Makes sure that an input may be asked for under a key, or says what its author forgot.
    pub(crate) fn check<I: NamespacedInput>(&self, key: &str) -> Result<(), String> {
        let input = std::any::type_name::<I>();
        if self.has(&I::METHOD) { Ok(()) } else { Err(not_registered(key, &I::METHOD, input)) }
    }

    fn has(&self, method: &Method) -> bool {
        match self {
            Self::Registered(inputs) => inputs.contains_key(method),
            Self::Any => true,
        }
    }

    /// Says why one of several questions may not be asked: its input was not registered.
    pub(crate) fn check_all(&self, requests: &InputRequests) -> Result<(), String> {
        requests.iter().try_for_each(|(key, request)| match request.kind() {
            InputKind::Namespaced(request) if !self.has(&request.method) => {
                Err(not_registered(key, &request.method, "…"))
            }
            // The protocol's own need no registration.
            InputKind::Form(_)
            | InputKind::Url(_)
            | InputKind::Sample(_)
            | InputKind::Roots
            | InputKind::Namespaced(_)
            | InputKind::Unknown(_) => Ok(()),
        })
    }

    /// Returns the message and the URL of the page for this input, if there is one.
    pub(crate) fn page<I: NamespacedInput + 'static>(
        &self,
        params: &I::Params,
        interaction: &str,
    ) -> Option<(String, String)> {
        let Self::Registered(inputs) = self else { return None };
        let Page(page) = inputs.get(&I::METHOD)?.as_ref()?.downcast_ref::<Page<I>>()?;
        Some(page(params, interaction))
    }
}

fn not_registered(key: &str, method: &Method, input: &str) -> String {
    format!(
        "the question `{key}` asks for `{method}`, an input that is not registered: \
         build the server with `Server::builder(…).input::<{input}>()`"
    )
}
