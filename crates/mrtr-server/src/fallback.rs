//! What a client that does not know an application's own input is asked instead: to visit a URL.

use std::any::{Any, TypeId};
use std::collections::HashMap;

use mrtr_schema::NamespacedInput;

/// The pages that stand in for inputs, by input.
#[derive(Default)]
pub(crate) struct Fallbacks(HashMap<TypeId, Box<dyn Any + Send + Sync>>);

/// Makes a message and a URL.
#[expect(clippy::type_complexity, reason = "this is the name for it")]
struct Page<I: NamespacedInput>(Box<dyn Fn(&I::Params, &str) -> (String, String) + Send + Sync>);

impl Fallbacks {
    pub(crate) fn insert<I: NamespacedInput + 'static>(
        &mut self,
        page: impl Fn(&I::Params, &str) -> (String, String) + Send + Sync + 'static,
    ) {
        self.0.insert(TypeId::of::<I>(), Box::new(Page::<I>(Box::new(page))));
    }

    /// The message and the URL for what is asked, if there is a page for it.
    pub(crate) fn page<I: NamespacedInput + 'static>(
        &self,
        params: &I::Params,
        interaction: &str,
    ) -> Option<(String, String)> {
        let Page(page) = self.0.get(&TypeId::of::<I>())?.downcast_ref::<Page<I>>()?;
        Some(page(params, interaction))
    }
}
