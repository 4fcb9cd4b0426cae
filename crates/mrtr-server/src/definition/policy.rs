//! What callers may do: the scopes that a tool, prompt or resource needs, and a policy of the server's own.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use mrtr_flow::Identity;
use serde_json::value::RawValue;

/// Decides what a caller may do. The server asks it in every round of every method, since a state grants nothing, and
/// for each entry of a list.
///
/// An implementation that wrongly allows lets a caller do what it may not. One that wrongly refuses turns a caller away,
/// who may come again: a refusal consumes nothing.
///
/// ```
/// use mrtr_server::Identity;
/// use mrtr_server::extend::{Decision, Operation, Policy};
///
/// /// Only the treasury sees and calls what pays.
/// #[derive(Debug)]
/// struct OnlyTheTreasuryPays;
///
/// #[async_trait::async_trait]
/// impl Policy for OnlyTheTreasuryPays {
///     async fn decide(&self, identity: &Identity, operation: &Operation<'_>) -> Decision {
///         match operation.name {
///             Some("pay") if !identity.is_in("treasury") => Decision::Deny("not in the treasury".to_owned()),
///             _ => Decision::Allow,
///         }
///     }
/// }
/// ```
#[async_trait]
pub trait Policy: fmt::Debug + Send + Sync + 'static {
    /// Decides on an operation. The scopes that it needs are checked as well, whatever this says.
    async fn decide(&self, identity: &Identity, operation: &Operation<'_>) -> Decision;
}

/// The decision of a policy.
///
/// ```
/// use mrtr_server::extend::Decision;
///
/// let decision = Decision::Missing(vec!["files:write".to_owned()]);
/// assert_ne!(decision, Decision::Allow);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a fourth answer would have to be understood everywhere")]
pub enum Decision {
    /// The caller may.
    Allow,
    /// The caller may once its credentials have these scopes, too. In a list, the entry stays, so that the caller can
    /// ask its issuer for more.
    Missing(Vec<String>),
    /// The caller may not, for this reason, which goes to the log alone. The name answers like one that does not exist,
    /// and a list leaves it out.
    Deny(String),
}

/// An operation that a caller wants to do.
///
/// ```
/// use mrtr_server::extend::Operation;
///
/// /// A line for an audit.
/// fn line(operation: &Operation<'_>) -> String {
///     format!("{} {}", operation.method, operation.name.unwrap_or_default())
/// }
/// ```
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Operation<'a> {
    /// The method. Of a task it is the one that the caller calls, and `tools/call` when the task runs.
    pub method: &'a str,
    /// The tool or prompt by name, the resource by URI. Of a task, the tool that it runs.
    pub name: Option<&'a str>,
    /// The arguments of a call, as they came; `None` where there are none, and for an entry of a list.
    pub arguments: Option<&'a RawValue>,
    /// The scopes that the tool, prompt or resource says it needs.
    pub scopes: &'a [String],
    /// The standing of the identity: a credential that came with the request, or a record of one.
    pub standing: Standing,
    /// True if the caller only asks for a list that this is an entry of.
    pub is_listed: bool,
}

/// The standing of an identity that a policy decides on.
///
/// ```
/// use mrtr_server::extend::Standing;
///
/// assert!(Standing::Live.is_live() && !Standing::Recorded.is_live());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Standing {
    /// It comes from the credential that the request brought.
    Live,
    /// It is what was recorded when a task was created, or when its last answers came.
    Recorded,
    /// A version of the server that kept only caller and tenant recorded it: scopes and groups are not known. The server
    /// does not check scopes then, and a policy decides by the rest.
    NotKnown,
}

impl Standing {
    /// Returns true if the identity comes from the credential that the request brought.
    pub fn is_live(self) -> bool {
        self == Self::Live
    }
}

type Satisfies = dyn Fn(&Identity, &str) -> bool + Send + Sync;

/// What decides on the operations of a server.
#[derive(Clone, Default)]
pub(crate) struct Access {
    pub(crate) policy: Option<Arc<dyn Policy>>,
    pub(crate) satisfies: Option<Arc<Satisfies>>,
    /// True if there is anything to ask: a policy, or something that needs scopes.
    pub(crate) is_asked: bool,
}

impl Access {
    /// Decides on an operation: by its scopes, and by the policy.
    pub(crate) async fn decide(&self, identity: &Identity, operation: &Operation<'_>) -> Decision {
        let lacks = |scope: &&String| operation.standing != Standing::NotKnown && !self.has(identity, scope);
        let mut missing: Vec<String> = operation.scopes.iter().filter(lacks).cloned().collect();
        let Some(policy) = &self.policy else { return Decision::of(missing) };
        match policy.decide(identity, operation).await {
            Decision::Allow => Decision::of(missing),
            Decision::Missing(more) => {
                missing.extend(more);
                missing.dedup();
                Decision::of(missing)
            }
            denied @ Decision::Deny(_) => denied,
        }
    }

    fn has(&self, identity: &Identity, scope: &str) -> bool {
        identity.has_scope(scope) || self.satisfies.as_ref().is_some_and(|satisfies| satisfies(identity, scope))
    }
}

impl Decision {
    fn of(missing: Vec<String>) -> Self {
        if missing.is_empty() { Self::Allow } else { Self::Missing(missing) }
    }
}
