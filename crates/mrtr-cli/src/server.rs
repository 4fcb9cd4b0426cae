//! The server that a command talks to, and the ways to reach it.

use std::fmt;
use std::path::PathBuf;
use std::process::Command;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

use anyhow::Result;
use mrtr::client::{Builder, ObservedTransport, Transport};
use mrtr::http::HttpTransportError;
use mrtr::http::http::{HeaderName, HeaderValue};
use mrtr::schema::Printable;
use mrtr::stdio::ChildServer;
use mrtr::{Client, HttpTransport};
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::screen::Screen;
use crate::shown::{QUIET, Trace, quoted, styled};

#[derive(clap::Args)]
pub(crate) struct ReachOptions {
    /// Send this bearer token to the server
    #[arg(long, env = "MRTR_TOKEN", hide_env_values = true, value_name = "TOKEN")]
    token: Option<String>,
    /// Send this header with every request; may be given more than once
    #[arg(long = "header", value_name = "NAME: VALUE")]
    headers: Vec<Header>,
    /// Show each message as it goes out or comes in. There are answers in them
    #[arg(long)]
    trace: bool,
}

/// A header that the person adds to every request.
#[derive(Debug, Clone)]
struct Header(HeaderName, HeaderValue);

impl FromStr for Header {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = text.split_once(':').ok_or("a header is written `Name: value`")?;
        let name = name.trim().parse().map_err(|_| format!("`{}` is not the name of a header", name.trim()))?;
        let value = value.trim().parse().map_err(|_| "its value has characters that no header may have".to_owned())?;
        Ok(Self(name, value))
    }
}

/// A server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Target {
    /// A server that listens at this URL.
    Url(String),
    /// A server that this command starts.
    Stdio(Launch),
}

/// The command that starts a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "WrittenLaunch", into = "WrittenLaunch")]
pub(crate) struct Launch {
    /// The command and its arguments. Never empty, unless a file says so.
    words: Vec<String>,
    /// The folder to start it in: names in the command may mean something else in another.
    folder: Option<PathBuf>,
}

/// A launch as a file has it; files of older versions have the words alone.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum WrittenLaunch {
    Words(Vec<String>),
    InFolder { command: Vec<String>, folder: PathBuf },
}

impl From<WrittenLaunch> for Launch {
    fn from(written: WrittenLaunch) -> Self {
        match written {
            WrittenLaunch::Words(words) => Self { words, folder: None },
            WrittenLaunch::InFolder { command, folder } => Self { words: command, folder: Some(folder) },
        }
    }
}

impl From<Launch> for WrittenLaunch {
    fn from(Launch { words, folder }: Launch) -> Self {
        match folder {
            None => Self::Words(words),
            Some(folder) => Self::InFolder { command: words, folder },
        }
    }
}

impl Target {
    /// The server that the command line names: a command, or else the first of its words.
    pub(crate) fn take(stdio: Option<&str>, words: &mut std::vec::IntoIter<String>) -> Result<Self> {
        match stdio {
            Some(command) => Self::command(command),
            None => match words.next() {
                Some(url) => Ok(Self::Url(url)),
                None => Err(no_server().into()),
            },
        }
    }

    fn command(text: &str) -> Result<Self> {
        match shlex::split(text).filter(|words| !words.is_empty()) {
            // A folder whose name cannot be written down is not noted.
            Some(words) => {
                let folder = std::env::current_dir().ok().filter(|folder| folder.to_str().is_some());
                Ok(Self::Stdio(Launch { words, folder }))
            }
            None => Err(Failure::usage(format!("`{text}` is not a command"))
                .next("write it as in a shell, in one argument: --stdio 'mrtr serve --stdio'")
                .into()),
        }
    }

    /// Returns false for a word that cannot be meant as the URL of a server.
    pub(crate) fn may_be_server(&self) -> bool {
        match self {
            Self::Url(url) => url.contains("://") || is_host(url),
            Self::Stdio(_) => true,
        }
    }

    /// The server as it is written in a command that a person may copy.
    pub(crate) fn on_command_line(&self) -> String {
        match self {
            Self::Url(_) => quoted(&self.to_string()),
            Self::Stdio(_) => format!("--stdio {}", quoted(&self.to_string())),
        }
    }

    /// The server as it may be saved and shown: without a name and a password in its URL.
    pub(crate) fn without_credentials(self) -> Self {
        let Self::Url(url) = &self else { return self };
        match reqwest::Url::parse(url) {
            Ok(mut url) if !url.username().is_empty() || url.password().is_some() => {
                // Neither fails for a URL that has a host.
                let _ = (url.set_username(""), url.set_password(None));
                Self::Url(url.into())
            }
            _ => self,
        }
    }

    /// Returns true if its URL holds a name or a password, which are not saved.
    pub(crate) fn has_credentials(&self) -> bool {
        self.clone().without_credentials() != *self
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(url) => Printable::line(&shown_url(url)).fmt(f),
            Self::Stdio(launch) => {
                let words: Vec<_> = launch.words.iter().map(|word| quoted(word)).collect();
                Printable::line(&words.join(" ")).fmt(f)
            }
        }
    }
}

/// A URL, or a text that was meant as one, without possible secrets: a name and a password before the host, and all
/// that comes after a question mark.
fn shown_url(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or(url);
    let (scheme, rest) = url.find("://").map_or(("", url), |end| url.split_at(end + 3));
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit('@').next().unwrap_or(authority);
    format!("{scheme}{host}{path}")
}

impl ReachOptions {
    /// Begins a client of the server.
    pub(crate) fn client(&self, target: &Target, screen: &Screen) -> Result<Builder> {
        let builder = match target {
            Target::Url(url) => self.over(self.http(url)?, screen),
            Target::Stdio(launch) => self.over(child(launch, screen, self.trace)?, screen),
        };
        Ok(builder.info("mrtr-cli", env!("CARGO_PKG_VERSION")))
    }

    fn over(&self, transport: impl Transport, screen: &Screen) -> Builder {
        if !self.trace {
            return Client::builder(transport);
        }
        let trace = Trace::new(screen.clone());
        Client::builder(ObservedTransport::new(transport, move |message| trace.show(message)))
    }

    fn http(&self, url: &str) -> Result<HttpTransport> {
        let mut transport = HttpTransport::new(url).map_err(|error| match error {
            HttpTransportError::Url(_) => {
                Failure::usage(format!("`{}` is not the URL of a server", Target::Url(url.to_owned())))
                    .next(format!("a URL looks like {}", nearest_url(url)))
            }
            other => Failure::new(format!("no request can be sent: {other}")),
        })?;
        if let Some(token) = &self.token {
            transport = transport.bearer(token);
        }
        Ok(self
            .headers
            .iter()
            .fold(transport, |transport, Header(name, value)| transport.header(name.clone(), value.clone())))
    }
}

/// The mistake of a command without a server.
pub(crate) fn no_server() -> Failure {
    Failure::usage("no server is named").next("give its URL, such as http://localhost:8000/mcp, or --stdio COMMAND")
}

/// Guesses the URL that the person meant by a text that is none, such as one without a scheme.
fn nearest_url(text: &str) -> String {
    match text.split_once("://") {
        None if is_host(text) && text.contains('/') => format!("http://{}", Printable::line(text)),
        None if is_host(text) => format!("http://{}/mcp", Printable::line(text)),
        _ => "http://localhost:8000/mcp".to_owned(),
    }
}

/// Returns true for a text that looks like a host, maybe with a port or a path. The text before an @ may be a password.
fn is_host(text: &str) -> bool {
    !text.contains('@') && (text.starts_with("localhost") || text.contains('.') || text.contains(':'))
}

fn child(launch: &Launch, screen: &Screen, trace: bool) -> Result<mrtr::StdioTransport> {
    let Some((program, arguments)) = launch.words.split_first() else {
        return Err(Failure::usage("the command that starts the server is empty").into());
    };
    let mut command = Command::new(program);
    command.args(arguments);
    if let Some(folder) = &launch.folder {
        command.current_dir(folder);
    }
    let (screen, said) = (screen.clone(), Mutex::new(Vec::new()));
    let show =
        |screen: &Screen, line: &str| screen.say(styled(QUIET, format_args!("server: {}", Printable::line(line))));
    let hear = move |line: String| {
        if trace {
            return show(&screen, &line);
        }
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        // A server that fails at its start is started once more, as one of 2025 may need it, and says the same again.
        if said.len() > MOST_SAID || said.contains(&line) {
            return;
        }
        match said.len() {
            MOST_SAID => screen.say(styled(QUIET, "server: … (--trace shows all that it says)")),
            _ => show(&screen, &line),
        }
        said.push(line);
    };
    ChildServer::new(command).on_stderr(hear).spawn().map_err(|error| {
        let cause = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
        Failure::new(format!("{error}: {cause}"))
            .next(format!(
                "try `{}` by itself: it must exist, be executable and be on the PATH",
                Printable::line(program)
            ))
            .into()
    })
}

/// The most lines of a server's standard error to show without `--trace`: more are noise to the person who calls it.
const MOST_SAID: usize = 10;
