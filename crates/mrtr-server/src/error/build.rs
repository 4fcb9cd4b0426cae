//! Why a server cannot be put together.

use mrtr_schema::{ReadError, SchemaError};

/// Why a server cannot be put together. The author of the server is to blame.
///
/// ```
/// use mrtr_server::{BuildError, Failure, Flow, Server, Tool};
///
/// let greet = || Tool::new("greet", async |_: Flow| Ok::<_, Failure>("Hello"));
/// let built = Server::builder("greeter", "1.0.0").tool(greet()).tool(greet()).build();
/// assert_eq!(built.unwrap_err().to_string(), "two tools are named `greet`");
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// Two of one name.
    #[error("two {what} are named `{name}`")]
    Duplicate {
        /// Of what.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A template is none that URIs can be matched against.
    #[error("`{template}` cannot be matched against")]
    UriTemplate {
        /// The template.
        template: String,
        /// Why not.
        source: TemplateError,
    },
    /// The type of a handler's arguments or output has no schema that the protocol allows.
    #[error("the schema of `{name}` is not allowed")]
    Schema {
        /// The tool, prompt or template.
        name: String,
        /// Why not.
        source: ReadError,
    },
    /// Arguments cannot be checked against a tool's schema.
    #[error("the input schema of tool `{tool}` cannot be checked against")]
    Check {
        /// The tool.
        tool: String,
        /// Why not.
        source: SchemaError,
    },
}

/// Why a text is not a template that URIs can be matched against.
///
/// ```
/// use mrtr_server::{BuildError, Failure, Flow, ResourceTemplate, Server, TemplateError};
///
/// let template = ResourceTemplate::new("bugs://{id", "bug", async |_: Flow| Ok::<_, Failure>("a bug"));
/// let built = Server::builder("bugs", "1.0.0").resource_template(template).build();
/// assert!(matches!(built, Err(BuildError::UriTemplate { source: TemplateError::Unbalanced, .. })));
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
    /// Nothing stands between two variables, so that it cannot be told where one ends.
    #[error("`{0}` follows another variable at once")]
    Adjacent(String),
    /// Two variables of one name.
    #[error("there are two variables `{0}`")]
    Duplicate(String),
}
