//! Checks for mistakes in a server that builds all the same, before its users find them.

use std::error::Error;
use std::fmt;

use crate::definition::names::is_recommended;
use crate::definition::parts::Parts;
use crate::definition::settings::TaskPolicy;
use crate::definition::tool::PreparedTool;
use crate::server::Server;

/// Looks for what [`build`](crate::Builder::build) cannot refuse, because a server for a test may want it so, and what
/// users of a deployed one run into: a key that ends with the process, tools that a model cannot choose, tasks that
/// nothing runs. Each problem names its place and what to do.
///
/// Give it the server as it is deployed, in a test of its own.
///
/// ```
/// use mrtr_server::testing::check;
/// use mrtr_server::{Failure, Flow, Sealer, Server, Tool};
/// # use mrtr_state::{Key, KeyRing};
///
/// async fn greet(_: Flow) -> Result<&'static str, Failure> {
///     Ok("Hello")
/// }
///
/// # let sealer = Sealer::new(KeyRing::new(Key::new("2026-11", [7; 32])?), "greeter")?;
/// let tool = Tool::new("greet", greet).description("Greets the user");
/// let server = Server::builder("greeter", "1.0.0").sealer(sealer).tool(tool).build()?;
/// check(&server)?;
///
/// let hasty = Server::builder("greeter", "1.0.0").tool(Tool::new("greet", greet)).build()?;
/// let problems = check(&hasty).unwrap_err().to_string();
/// assert!(problems.contains("tool `greet` has no description"));
/// assert!(problems.contains("openssl rand -base64 32"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn check(server: &Server) -> Result<(), Problems> {
    let parts = server.parts();
    let mut problems = Vec::new();
    problems.extend(of_the_whole(parts));
    for tool in parts.tools.values() {
        problems.extend(of_a_tool(tool, parts));
    }
    let prompts = parts.prompts.values().map(|prompt| &prompt.definition);
    for prompt in prompts {
        problems.extend(name_problem("prompt", &prompt.name));
        problems.extend(missing("prompt", &prompt.name, prompt.description.as_deref()));
    }
    if problems.is_empty() { Ok(()) } else { Err(Problems(problems)) }
}

/// The problems that [`check`] found.
///
/// ```
/// use mrtr_server::{Server, testing};
///
/// let server = Server::builder("empty", "1.0.0").explain_failures().build()?;
/// let problems = testing::check(&server).unwrap_err();
/// assert_eq!(problems.iter().count(), 2, "{problems}");
/// # Ok::<(), mrtr_server::BuildError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Problems(Vec<String>);

impl Problems {
    /// The problems, one after the other.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.len() {
            1 => f.write_str("1 problem:")?,
            number => write!(f, "{number} problems:")?,
        }
        self.0.iter().try_for_each(|problem| write!(f, "\n- {problem}"))
    }
}

/// Writes the problems in words: an `unwrap` shows this.
impl fmt::Debug for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for Problems {}

fn of_the_whole(parts: &Parts) -> impl Iterator<Item = String> {
    let key = (!parts.shared.sealer.outlives_process()).then(|| {
        "the server seals with a key of this process: after a restart, and at another instance, every open call is \
         refused. Give the builder `.sealer(Sealer::from_env(\"MRTR_STATE_KEYS\")?)`; \
         `openssl rand -base64 32` makes a key"
            .to_owned()
    });
    let explains = parts.shared.explains_failures.then(|| {
        "the server explains its failures to callers: take `.explain_failures()` out of the builder".to_owned()
    });
    key.into_iter().chain(explains)
}

fn of_a_tool(tool: &PreparedTool, parts: &Parts) -> impl Iterator<Item = String> {
    let name = tool.name();
    let runs_tasks = parts.runs_tasks();
    let no_tasks = (tool.settings.tasks != TaskPolicy::Never && !runs_tasks).then(|| {
        format!(
            "tool `{name}` has a task policy, and nothing on the server runs tasks: \
             give the builder `.extension(Tasks::new(…))`, or the tool `TaskPolicy::Never`"
        )
    });
    let forgets = tool.settings.guard.as_ref().is_some_and(|guard| !guard.store.outlives_process());
    let forgets = (forgets && parts.shared.sealer.outlives_process()).then(|| {
        format!(
            "tool `{name}` is single-use with a store in memory, and its states outlive the process: after a restart \
             they can be used again. Keep the store where it stays, as `SqliteSingleUse` does"
        )
    });
    let described = missing("tool", name, tool.definition.description.as_deref());
    name_problem("tool", name).into_iter().chain(described).chain(no_tasks).chain(forgets)
}

/// The specification's rule for names, which clients may hold a server to.
fn name_problem(what: &str, name: &str) -> Option<String> {
    (!is_recommended(name))
        .then(|| format!("{what} {name:?}: clients may refuse the name; use 1 to 128 of A-Z a-z 0-9 _ - ."))
}

fn missing(what: &str, name: &str, description: Option<&str>) -> Option<String> {
    let is_missing = description.is_none_or(|text| text.trim().is_empty());
    is_missing.then(|| format!("{what} `{name}` has no description, and a model chooses by it: add `.description(…)`"))
}
