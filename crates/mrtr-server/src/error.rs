//! The reasons why a server cannot be built, and errors that several layers answer with.

use std::error::Error;
use std::fmt;

use mrtr_flow::Failure;
use mrtr_flow::for_server::{echo, with_causes};
use mrtr_schema::{ErrorCode, ErrorObject, ReadError, SchemaError};

/// The reason why a server cannot be built. The mistake is in the author's code. The text holds the whole cause, so
/// there is none behind it.
///
/// ```
/// use mrtr_server::{BuildError, Failure, Flow, Server, Tool};
///
/// let greet = || Tool::new("greet", async |_: Flow| Ok::<_, Failure>("Hello"));
/// let built = Server::builder("greeter", "1.0.0").tool(greet()).tool(greet()).build();
/// assert_eq!(built.unwrap_err().to_string(), "two tools are named `greet`: give each a name of its own");
/// ```
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// Two parts of one kind have the same name.
    #[error("two {what} are named `{name}`: give each a name of its own")]
    Duplicate {
        /// The kind of part: tools, prompts or others.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// Two resources, or two templates, have the same URI.
    #[error("two {what} are at `{uri}`: give each a URI of its own")]
    DuplicateUri {
        /// The kind of part: resources or templates.
        what: &'static str,
        /// The URI, or the template.
        uri: String,
    },
    /// No client can call a tool or get a prompt by this name.
    #[error("{what} {name:?}: {reason}; name it with 1 to 128 of A-Z a-z 0-9 _ - .")]
    Name {
        /// The kind of part: a tool or a prompt.
        what: &'static str,
        /// The name.
        name: String,
        /// The reason.
        reason: &'static str,
    },
    /// No client can read a resource there.
    #[error("resource `{name}` is at {uri:?}, which is no URI: give it an absolute one, such as `files:///readme`")]
    Uri {
        /// The resource or template, by its name.
        name: String,
        /// The text in the place of a URI.
        uri: String,
    },
    /// A tool runs only as a task, and nothing on the server runs tasks.
    #[error(
        "tool `{tool}` has `TaskPolicy::Required`, and nothing on the server runs tasks: \
         give the builder `.extension(Tasks::new(…))`, or the tool another policy"
    )]
    Tasks {
        /// The tool.
        tool: String,
    },
    /// A prompt or template completes an argument that it does not have.
    #[error("`{name}` completes `{argument}`, which it does not take: it takes {takes}")]
    Completion {
        /// The prompt or template.
        name: String,
        /// The argument or variable.
        argument: String,
        /// The arguments or variables that it takes, in words.
        takes: String,
    },
    /// The server cannot match URIs against a template.
    #[error("`{template}` cannot be matched against: {reason}")]
    UriTemplate {
        /// The template.
        template: String,
        /// The reason.
        reason: TemplateError,
    },
    /// The type of a handler's arguments or output has no schema that the protocol allows.
    #[error("the schema of `{name}` is not allowed: {reason}")]
    Schema {
        /// The tool, prompt or template.
        name: String,
        /// The reason.
        reason: ReadError,
    },
    /// The answers to an application's own input cannot be checked.
    #[error("the answers to the input `{method}` cannot be checked against the schema of its `Response`: {reason}")]
    Input {
        /// The input's method.
        method: String,
        /// The reason.
        reason: SchemaError,
    },
    /// A handler takes arguments that can never come from where its arguments come from.
    #[error("`{name}` can never be called: {reason}")]
    Arguments {
        /// The prompt, resource or template.
        name: String,
        /// The reason, and what to do.
        reason: String,
    },
    /// Arguments cannot be checked against a tool's schema.
    #[error("the input schema of tool `{tool}` cannot be checked against: {reason}")]
    Check {
        /// The tool.
        tool: String,
        /// The reason.
        reason: SchemaError,
    },
    /// A schema by hand leaves out an argument without which the handler cannot be called.
    #[error(
        "the input schema of tool `{tool}` has no property `{member}`, and its handler's type requires it: \
         add the property, or name the field as the schema does, with `#[serde(rename = \"…\")]`"
    )]
    Member {
        /// The tool.
        tool: String,
        /// The member.
        member: String,
    },
    /// An extension refuses the server.
    #[error("extension `{name}`: {}", with_causes(&**reason))]
    Extension {
        /// The extension.
        name: String,
        /// The reason, and what to do.
        reason: Box<dyn Error + Send + Sync>,
    },
}

/// Writes the error in words: a `main` that returns the error, or an `unwrap`, shows this.
impl fmt::Debug for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The reason why URIs cannot be matched against a template.
///
/// ```
/// use mrtr_server::{BuildError, Failure, Flow, ResourceTemplate, Server, TemplateError};
///
/// let template = ResourceTemplate::new("bugs://{id", "bug", async |_: Flow| Ok::<_, Failure>("a bug"));
/// let built = Server::builder("bugs", "1.0.0").resource_template(template).build();
/// assert!(matches!(built, Err(BuildError::UriTemplate { reason: TemplateError::Unbalanced, .. })));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// A brace is not closed, or not opened.
    #[error("a brace stands alone")]
    Unbalanced,
    /// A variable is of a kind that cannot be matched.
    #[error("`{{{0}}}` cannot be matched: a variable is a name, or a plus and a name")]
    Variable(String),
    /// Nothing stands between two variables, so the server cannot tell where one ends.
    #[error("`{0}` follows another variable at once")]
    Adjacent(String),
    /// Two variables have the same name.
    #[error("there are two variables `{0}`")]
    Duplicate(String),
}

#[expect(clippy::needless_pass_by_value, reason = "used as a function that maps errors")]
pub(crate) fn invalid_params(error: ReadError) -> ErrorObject {
    ErrorObject::new(ErrorCode::INVALID_PARAMS, echo::sentence(&error.to_string()))
}

/// A mistake of the handler's author, who reads about it in the log.
pub(crate) fn misuse(text: impl Into<String>) -> Failure {
    text.into().into()
}
