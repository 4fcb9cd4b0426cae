//! The inputs of an application's own that a server may ask for, and the pages that stand in for them.

use std::any::Any;
use std::collections::HashMap;

use mrtr_schema::{InputRequest, InputRequests, Method, NamespacedInput};

/// The inputs that a server was built with. The published set is closed, so nothing else is ever asked for.
pub(crate) enum Inputs {
    /// These, each with a page if it has one.
    Registered(HashMap<Method, Option<Box<dyn Any + Send + Sync>>>),
    /// Any: where a flow is run without a server.
    Any,
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
    pub(crate) fn insert<I: NamespacedInput>(&mut self) {
        if let Self::Registered(inputs) = self {
            inputs.entry(I::METHOD).or_default();
        }
    }

    pub(crate) fn insert_with_page<I: NamespacedInput + 'static>(
        &mut self,
        page: impl Fn(&I::Params, &str) -> (String, String) + Send + Sync + 'static,
    ) {
        if let Self::Registered(inputs) = self {
            inputs.insert(I::METHOD, Some(Box::new(Page::<I>(Box::new(page)))));
        }
    }

    /// Makes sure that a method is one of a registered input, or says whose mistake it is.
    pub(crate) fn check(&self, method: &Method) -> Result<(), String> {
        match self {
            Self::Registered(inputs) if !inputs.contains_key(method) => {
                Err(format!("the input `{method}` is not registered: build the server with `Builder::input` for it"))
            }
            _ => Ok(()),
        }
    }

    /// Says why one of several questions may not be asked: its input was not registered.
    pub(crate) fn check_all(&self, requests: &InputRequests) -> Result<(), String> {
        requests.iter().try_for_each(|(_, request)| match request {
            InputRequest::Namespaced(request) => self.check(&request.method),
            _ => Ok(()),
        })
    }

    /// The message and the URL for what is asked, if there is a page for it.
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
