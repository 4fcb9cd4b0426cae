//! Settings for the flows of a tool, prompt or resource.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use mrtr_schema::tasks::TaskSupport;
use mrtr_state::Lifetimes;
use mrtr_state::single_use::SingleUse;

/// The settings for the flows of a tool, prompt or resource.
#[derive(Clone, Default)]
pub(crate) struct FlowSettings {
    pub(crate) policy: StatePolicy,
    pub(crate) guard: Option<Guard>,
    pub(crate) lifetimes: Option<Lifetimes>,
    pub(crate) version: String,
    pub(crate) tasks: TaskPolicy,
    /// A limit of its own on the time of a run; `None` for the server's.
    pub(crate) run_deadline: Option<Duration>,
    /// True if an answer to another wording of its question is refused.
    pub(crate) strict: bool,
    /// A limit of its own on the time that a session waits for an answer; `None` for the server's.
    pub(crate) question_timeout: Option<Duration>,
    /// The scopes that a caller needs.
    pub(crate) scopes: Box<[String]>,
}

/// The setters that tools, prompts, resources and templates share. They change the definition through `define`, and the
/// settings of its flows, which are at the end of the path `$settings`. The doc comment of `description` differs, and
/// stands where the macro is used.
macro_rules! shared_setters {
    ($item:ident, $($settings:ident).+, $(#[$description:meta])+) => {
        impl $item {
            $(#[$description])+
            #[must_use]
            pub fn description(self, text: impl Into<String>) -> Self {
                self.define(|definition| definition.description = Some(text.into()))
            }

            /// Sets the name that people see.
            #[must_use]
            pub fn title(self, title: impl Into<String>) -> Self {
                self.define(|definition| definition.title = Some(title.into()))
            }

            /// Sets the icons.
            #[must_use]
            pub fn icons(self, icons: impl IntoIterator<Item = mrtr_schema::Icon>) -> Self {
                self.define(|definition| definition.icons = Some(icons.into_iter().collect()))
            }

            /// Names the scopes that a caller's credentials need for it. A caller that lacks one gets 403 with all of
            /// them, before anything is done, in every round. A caller without credentials gets 401.
            #[must_use]
            pub fn scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
                self.$($settings).+.scopes = scopes.into_iter().map(Into::into).collect();
                self
            }

            /// Sets when its interim replies carry a state.
            #[must_use]
            pub fn state_policy(mut self, policy: $crate::definition::settings::StatePolicy) -> Self {
                self.$($settings).+.policy = policy;
                self
            }

            /// Sets how long its states and flows live.
            #[must_use]
            pub fn lifetimes(mut self, lifetimes: mrtr_state::Lifetimes) -> Self {
                self.$($settings).+.lifetimes = Some(lifetimes);
                self
            }

            /// Ends a run of the handler after this long, with an error that says what it was waiting for. Without
            /// this, the server's [`run_deadline`](crate::Builder::run_deadline) counts.
            #[must_use]
            pub fn run_deadline(mut self, limit: std::time::Duration) -> Self {
                self.$($settings).+.run_deadline = Some(limit);
                self
            }
        }

        impl std::fmt::Debug for $item {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($item)).field("definition", &self.definition).finish_non_exhaustive()
            }
        }
    };
}
pub(super) use shared_setters;

/// Says when an interim reply carries a state.
///
/// ```
/// use mrtr_server::{Failure, Flow, StatePolicy, Tool};
///
/// let tool = Tool::new("greet", async |_: Flow| Ok::<_, Failure>("Hello")).state_policy(StatePolicy::WhenNeeded);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum StatePolicy {
    /// Always. An answer that comes with a state counts for the question that this state says was asked.
    #[default]
    Always,
    /// Only when there is something to carry. A client may then answer before it is asked.
    WhenNeeded,
}

/// Says when a tool's calls run as tasks, on a server with an extension that runs tasks.
///
/// ```
/// use mrtr_server::{Failure, Flow, TaskPolicy, Tool};
///
/// let tool = Tool::new("index", async |_: Flow| Ok::<_, Failure>("indexed")).tasks(TaskPolicy::IfPossible);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TaskPolicy {
    /// Calls never run as tasks.
    #[default]
    Never,
    /// A call runs as a task from the moment at which its flow says so, with
    /// [`Flow::into_task`](crate::Flow::into_task). Until then every interim reply carries a state.
    ByFlow,
    /// A call runs as a task from the beginning, if the client can follow tasks.
    IfPossible,
    /// A call runs as a task from the beginning; the server refuses a client that cannot follow tasks.
    Required,
}

impl TaskPolicy {
    /// The tool's support for tasks, in the words of revisions with tasks of their own.
    pub(crate) fn support(self) -> Option<TaskSupport> {
        match self {
            Self::Never => None,
            Self::ByFlow | Self::IfPossible => Some(TaskSupport::Optional),
            Self::Required => Some(TaskSupport::Required),
        }
    }
}

/// A store for single use, and what it does with replays.
///
/// ```
/// use std::sync::Arc;
/// use mrtr_server::{Failure, Flow, Guard, Tool};
/// use mrtr_flow::{Clock, SystemClock};
/// use mrtr_state::MemorySingleUse;
///
/// let store = MemorySingleUse::new(SystemClock::default().now());
/// let guard = Guard::new(Arc::new(store)).refuse_replays();
/// let tool = Tool::new("pay", async |_: Flow| Ok::<_, Failure>("paid")).single_use(guard);
/// ```
#[derive(Clone)]
pub struct Guard {
    pub(crate) store: Arc<dyn SingleUse>,
    pub(crate) refuse_replays: bool,
}

impl Guard {
    /// Lets each state of the tool be used once; a replay with the same answers gets the same reply.
    pub fn new(store: Arc<dyn SingleUse>) -> Self {
        Self { store, refuse_replays: false }
    }

    /// Refuses replays altogether.
    #[must_use]
    pub fn refuse_replays(mut self) -> Self {
        self.refuse_replays = true;
        self
    }
}

impl<S: SingleUse> From<S> for Guard {
    fn from(store: S) -> Self {
        Self::new(Arc::new(store))
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").field("refuse_replays", &self.refuse_replays).finish_non_exhaustive()
    }
}
