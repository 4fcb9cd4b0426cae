//! The client side: a transport for `mrtr-client`, to a child process or over any other pair of streams.

mod calls;
mod child;
mod connection;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use mrtr_client::{
    EraMemory, OneWayMessage, ServerMessage, SessionId, Transport, TransportError, TransportFailure, TransportRequest,
    TransportResponse,
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::process::Command;

use crate::error::StdioTransportError;
use child::{Launch, RunningChild};
use connection::Connection;

/// A transport to a server that is a child process, or at the other end of any pair of streams.
///
/// Many calls may go over it at once. Dropping a call cancels it at the server. Clones lead to the same server: keep one
/// beside the client, to [close](Self::close) it.
///
/// ```
/// use mrtr_client::Client;
/// use mrtr_stdio::StdioTransport;
/// use tokio::process::Command;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # if cfg!(unix) {
/// // `cat` stands in for a server.
/// let client = Client::builder(StdioTransport::spawn(Command::new("cat"))?).build();
/// # drop(client);
/// # }
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct StdioTransport {
    /// The name of the server that people see.
    server: String,
    /// The identity of the server in saved calls, if it says more than the name.
    identity: Option<String>,
    way: Way,
    era: EraMemory,
}

#[derive(Clone)]
enum Way {
    /// A process, which is started again if it has ended.
    Child(Arc<ChildWay>),
    /// Streams of the caller's own.
    Streams(Arc<Connection>),
}

struct ChildWay {
    launch: Launch,
    running: Mutex<RunningChild>,
}

impl ChildWay {
    fn running(&self) -> MutexGuard<'_, RunningChild> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StdioTransport {
    /// The longest message that the client takes from a server, in bytes, unless [`ChildServer::line_limit`] says
    /// otherwise.
    pub const DEFAULT_LINE_LIMIT: usize = 16 * 1024 * 1024;

    /// The longest time that a child process may take to end, once its stdin is closed and once more after SIGTERM,
    /// unless [`ChildServer::exit_timeout`] says otherwise.
    pub const DEFAULT_EXIT_TIMEOUT: Duration = Duration::from_secs(2);

    /// The most questions of a server that wait for a call, in a session of the legacy era: later ones are dropped.
    pub const WAITING_QUESTIONS: usize = calls::MAX_ASKED;

    /// The most bytes of notifications that wait for a call whose caller does not take them, and of questions that wait
    /// for a call of their session: later ones are dropped.
    pub const NOTIFICATION_BYTES: usize = calls::NOTIFICATION_BYTES;

    /// Starts a server as a child process. The command may be tokio's or the standard library's. What the server says
    /// on stderr goes to this process's stderr.
    pub fn spawn(command: impl Into<Command>) -> Result<Self, StdioTransportError> {
        ChildServer::new(command).spawn()
    }

    /// Talks to a server over a pair of streams, such as the halves of a socket. They are dropped with the transport.
    ///
    /// ```
    /// use mrtr_client::Client;
    /// use mrtr_server::{Failure, Flow, Server, Tool};
    /// use mrtr_stdio::{Stdio, StdioTransport};
    ///
    /// async fn hello(_: Flow) -> Result<&'static str, Failure> {
    ///     Ok("Hello")
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let server = Server::builder("greeter", "1.0.0").tool(Tool::new("hello", hello)).build()?;
    /// let (ours, theirs) = tokio::io::duplex(4096);
    /// let (read, write) = tokio::io::split(theirs);
    /// let serving = tokio::spawn(Stdio::new(server).over(read, write));
    ///
    /// let (read, write) = tokio::io::split(ours);
    /// let client = Client::builder(StdioTransport::over("greeter", read, write)).build();
    /// let result = client.call_tool("hello", serde_json::json!({})).await?;
    /// assert_eq!(result.content.len(), 1);
    /// drop(client);
    /// serving.await??;
    /// # Ok(()) }
    /// ```
    pub fn over<R, W>(server: impl Into<String>, read: R, write: W) -> Self
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let connection = Connection::open(read, write, Self::DEFAULT_LINE_LIMIT, None);
        let (server, way) = (server.into(), Way::Streams(connection));
        Self { server, identity: None, way, era: EraMemory::of_process() }
    }

    /// Ends the server and waits for that. The transport closes the server's stdin; if that does not end it in time,
    /// the server gets SIGTERM, and at last SIGKILL. Dropping the last clone of the transport, and the last client over
    /// it, does the same without waiting.
    ///
    /// Calls that are under way fail, and so do later ones: the server is not started again.
    pub async fn close(self) {
        match self.way {
            Way::Child(child) => {
                let ended = child.running().close();
                if let Some(ended) = ended {
                    ended.await;
                }
            }
            Way::Streams(connection) => connection.close(),
        }
    }

    /// Returns the connection for a message that belongs to this session, if it belongs to one.
    fn connection_of(&self, session: Option<&SessionId>) -> Result<Arc<Connection>, TransportError> {
        let connection = self.connection()?;
        match session {
            Some(session) if *session != connection.session => {
                Err(TransportError::of(TransportFailure::SessionEnded, "the server was started again"))
            }
            _ => Ok(connection),
        }
    }

    /// Returns the connection to use: if the child process has ended, one to a new process.
    fn connection(&self) -> Result<Arc<Connection>, TransportError> {
        match &self.way {
            Way::Streams(connection) => Ok(Arc::clone(connection)),
            Way::Child(child) => {
                let mut running = child.running();
                if running.is_closed() {
                    return Err(TransportError::new(CLOSED).unsent());
                }
                if running.connection.is_over() {
                    tracing::warn!(server = self.server, "the server process has ended and is started again");
                    *running = child.launch.start().map_err(TransportError::new)?;
                }
                Ok(Arc::clone(&running.connection))
            }
        }
    }
}

#[async_trait]
impl Transport for StdioTransport {
    fn server(&self) -> &str {
        &self.server
    }

    fn identity(&self) -> &str {
        self.identity.as_deref().unwrap_or(&self.server)
    }

    async fn exchange(
        &self,
        request: TransportRequest<'_>,
        on_message: &mut (dyn FnMut(ServerMessage) + Send),
    ) -> Result<TransportResponse, TransportError> {
        self.connection_of(request.session)?.exchange(request, on_message).await
    }

    fn era(&self) -> Option<&EraMemory> {
        Some(&self.era)
    }

    async fn send(&self, message: OneWayMessage<'_>) -> Result<(), TransportError> {
        self.connection_of(message.session)?.send(message).await
    }
}

impl fmt::Debug for StdioTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StdioTransport").field("server", &self.server).finish_non_exhaustive()
    }
}

/// A server to be started as a child process, with its settings.
///
/// ```
/// use std::time::Duration;
/// use mrtr_stdio::ChildServer;
/// use tokio::process::Command;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # if cfg!(unix) {
/// // `cat` stands in for a server: it ends when its stdin does.
/// let transport = ChildServer::new(Command::new("cat"))
///     .on_stderr(|line| eprintln!("cat: {line}"))
///     .exit_timeout(Duration::from_secs(10))
///     .spawn()?;
/// transport.close().await;
/// # }
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct ChildServer(Launch);

impl ChildServer {
    /// Creates the settings of a server that this command starts. The command may be tokio's or the standard library's.
    pub fn new(command: impl Into<Command>) -> Self {
        Self(Launch::new(command.into()))
    }

    /// Names the server, for the person who is asked on its behalf and for saved calls: these can be resumed at a
    /// server of this name, whatever its command line. Give a name if the command line changes between processes, as
    /// with a token in it.
    ///
    /// Without a name, a person sees the program, and a saved call can be resumed only with the same command line. The
    /// program and its arguments count, the working directory if the command sets one, and the environment variables
    /// that the command sets or removes, with their values. What the command inherits from this process does not count.
    /// A saved call holds a digest of these, never the text, since there may be secrets in it.
    ///
    /// ```
    /// use mrtr_client::Client;
    /// use mrtr_stdio::ChildServer;
    /// use tokio::process::Command;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # if cfg!(unix) {
    /// let command = |token| {
    ///     let mut command = Command::new("cat"); // stands in for a server
    ///     command.env("TOKEN", token);
    ///     ChildServer::new(command)
    /// };
    /// let (old, new) = (Client::builder(command("a").spawn()?).build(), Client::builder(command("b").spawn()?).build());
    /// assert_ne!(old.server(), new.server(), "a call of one does not go on at the other");
    /// let named = Client::builder(command("b").name("github").spawn()?).build();
    /// assert_eq!(named.server(), "github");
    /// # }
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.0.name = Some(name.into());
        self
    }

    /// Hands each line that the server says on stderr to a function. Without this setting, the lines go to this
    /// process's stderr.
    #[must_use]
    pub fn on_stderr(mut self, hear: impl Fn(String) + Send + Sync + 'static) -> Self {
        self.0.hear_stderr(hear);
        self
    }

    /// Takes messages of at most this many bytes. 16 MiB by default. After a longer one the calls that are under way
    /// fail, since the client cannot tell whose it was.
    #[must_use]
    pub fn line_limit(mut self, bytes: usize) -> Self {
        self.0.line_limit = bytes;
        self
    }

    /// Waits this long for the process to end, once its stdin is closed and once more after SIGTERM. 2 seconds by
    /// default.
    #[must_use]
    pub fn exit_timeout(mut self, limit: Duration) -> Self {
        self.0.exit_timeout = limit;
        self
    }

    /// Starts the server.
    pub fn spawn(self) -> Result<StdioTransport, StdioTransportError> {
        let running = self.0.start()?;
        let (server, identity) = match &self.0.name {
            Some(name) => (name.clone(), None),
            None => (self.0.program().to_owned(), Some(self.0.identity())),
        };
        let child = ChildWay { launch: self.0, running: Mutex::new(running) };
        Ok(StdioTransport { server, identity, way: Way::Child(Arc::new(child)), era: EraMemory::of_process() })
    }
}

const CLOSED: &str = "this program has closed its server; spawn another transport to start the server again";
