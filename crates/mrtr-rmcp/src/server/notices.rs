//! Lines in the log that an operator reads once: what is served, and mistakes in how callers are told apart.

use std::sync::atomic::{AtomicBool, Ordering};

use http::request::Parts;
use mrtr_server::{Identity, Server};
use mrtr_server::transport::Inventory;
use rmcp::RoleServer;
use rmcp::service::RequestContext;

use super::{modern, owners};
use crate::identity::Identify;

/// The lines that the clones of a handler have written, each once.
#[derive(Default)]
pub(super) struct Notices {
    serving: Once,
    no_caller: Once,
    not_owned: Once,
    owned_by_others: Once,
    opened_by_nobody: Once,
}

impl Notices {
    /// Says what is served. rmcp does not tell a handler that it is served before the first client comes.
    pub(super) fn serving(&self, server: &Server, identify: &Identify) {
        if !self.serving.is_first() {
            return;
        }
        let Inventory { name, version, tools, prompts, resources, states_outlive_process, .. } = server.inventory();
        let key = if states_outlive_process { "given" } else { "of this process only" };
        let callers = if identify.tells_callers() { "authenticated" } else { "anonymous" };
        tracing::info!(server = name, version, tools, prompts, resources, key, callers, "serving flows in rmcp");
    }

    /// Warns of a request that shows a mistake in how callers are told apart.
    pub(super) fn look_at(&self, context: &RequestContext<RoleServer>, identify: &Identify, sender: &Identity) {
        let extensions = &context.extensions;
        if identify.tells_callers() && !sender.caller().is_some() {
            // Over streams there is one caller, and a function may know of HTTP alone.
            if extensions.get::<Parts>().is_some() && self.no_caller.is_first() {
                tracing::warn!(
                    "`Flows::caller` found no caller in an HTTP request, and what has no caller belongs to everybody \
                     without one: read what your middleware leaves behind from the parts of the HTTP request, \
                     `extensions.get::<http::request::Parts>()?.extensions.get::<User>()`"
                );
            }
        } else if modern::is_modern(context) {
            // There are no sessions.
        } else if owners::is_not_owned(extensions, sender) {
            if self.not_owned.is_first() {
                tracing::warn!(
                    "callers are known, but rmcp's HTTP sessions are open to every caller who knows an id: put the \
                     service behind the layer of `Flows::session_owners`"
                );
            }
        } else if owners::is_owned_by_another(extensions, sender) && self.owned_by_others.is_first() {
            tracing::warn!(
                "the layer of `Flows::session_owners` and the flows see different callers, and sessions are open to \
                 callers who did not begin them: make the layer after `caller` and `tenant` are set and, in axum, add \
                 it before the layer that finds out who calls, as in `.layer(owners).layer(check_token)`, since the \
                 layer that is added last runs first"
            );
        }
    }

    /// Warns of a session that the layer could give to no caller.
    pub(super) fn opened_by_nobody(&self) {
        if self.opened_by_nobody.is_first() {
            tracing::warn!(
                "the layer of `Flows::session_owners` found no caller when a session began, and the session is open to \
                 everybody without one: in axum, add it before the layer that finds out who calls, as in \
                 `.layer(owners).layer(check_token)`, since the layer that is added last runs first"
            );
        }
    }
}

/// An event that counts the first time only.
#[derive(Default)]
struct Once(AtomicBool);

impl Once {
    fn is_first(&self) -> bool {
        !self.0.load(Ordering::Relaxed) && !self.0.swap(true, Ordering::Relaxed)
    }
}
