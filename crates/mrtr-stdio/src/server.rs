//! The server side: a server on stdin and stdout, or on any other pair of streams.

mod calls;
mod connection;
mod legacy;
mod process;

use std::io;
use std::time::Duration;

use mrtr_server::Server;
use tokio::io::{AsyncRead, AsyncWrite};

/// Serves on stdin and stdout, until stdin ends or the process is told to end.
///
/// The process gives up both streams for this: see [`Stdio::run`].
///
/// ```
/// use mrtr_server::{Failure, Flow, Server, Tool};
///
/// async fn hello(_: Flow) -> Result<&'static str, Failure> {
///     Ok("Hello")
/// }
///
/// async fn run() -> Result<(), Box<dyn std::error::Error>> {
///     let server = Server::builder("greeter", "1.0.0").tool(Tool::new("hello", hello)).build()?;
///     mrtr_stdio::serve(server).await?;
///     Ok(())
/// }
/// # drop(run());
/// ```
pub async fn serve(server: Server) -> io::Result<()> {
    Stdio::new(server).run().await
}

/// A server on streams of lines, with its limits.
///
/// ```
/// use mrtr_server::Server;
/// use mrtr_stdio::Stdio;
/// use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let server = Server::builder("empty", "1.0.0").build()?;
/// let (ours, theirs) = tokio::io::duplex(4096);
/// let (read, write) = tokio::io::split(ours);
/// let serving = tokio::spawn(Stdio::new(server).concurrency(8).over(read, write));
///
/// let mut theirs = BufReader::new(theirs);
/// theirs.write_all(b"hello?\n").await?;
/// let mut reply = String::new();
/// theirs.read_line(&mut reply).await?;
/// assert!(reply.contains("-32700"), "it is answered, and the server goes on");
/// drop(theirs);
/// serving.await??;
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct Stdio {
    server: Server,
    options: Options,
}

/// The limits of a connection.
#[derive(Debug, Clone, Copy)]
struct Options {
    line_limit: usize,
    concurrency: usize,
    waiting: usize,
    subscriptions: usize,
    write_timeout: Duration,
    shutdown_timeout: Duration,
}

impl Stdio {
    /// The longest line that the server takes, in bytes, unless [`line_limit`](Self::line_limit) says otherwise.
    pub const DEFAULT_LINE_LIMIT: usize = 4 * 1024 * 1024;

    /// The most requests that run at a time, unless [`concurrency`](Self::concurrency) says otherwise.
    pub const DEFAULT_CONCURRENCY: usize = 256;

    /// The most requests that wait until others have ended, unless [`waiting`](Self::waiting) says otherwise.
    pub const DEFAULT_WAITING: usize = 4096;

    /// The most bytes that waiting requests may have together. One alone may have more.
    pub const WAITING_BYTES: usize = calls::MOST_BYTES;

    /// The most subscriptions at a time, unless [`subscriptions`](Self::subscriptions) says otherwise.
    pub const DEFAULT_SUBSCRIPTIONS: usize = 64;

    /// The longest time that a client may read nothing of what it is sent, unless
    /// [`write_timeout`](Self::write_timeout) says otherwise.
    pub const DEFAULT_WRITE_TIMEOUT: Duration = Duration::from_secs(30);

    /// The longest time that the end of a connection may take, unless [`shutdown_timeout`](Self::shutdown_timeout) says
    /// otherwise.
    pub const DEFAULT_SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

    /// Creates a server with the default limits.
    pub fn new(server: Server) -> Self {
        let options = Options {
            line_limit: Self::DEFAULT_LINE_LIMIT,
            concurrency: Self::DEFAULT_CONCURRENCY,
            waiting: Self::DEFAULT_WAITING,
            subscriptions: Self::DEFAULT_SUBSCRIPTIONS,
            write_timeout: Self::DEFAULT_WRITE_TIMEOUT,
            shutdown_timeout: Self::DEFAULT_SHUTDOWN_TIMEOUT,
        };
        Self { server, options }
    }

    /// Takes lines of at most this many bytes. 4 MiB by default. The server answers a longer one with an error, and
    /// drops it as it comes.
    #[must_use]
    pub fn line_limit(mut self, bytes: usize) -> Self {
        self.options.line_limit = bytes;
        self
    }

    /// Runs this many requests at a time; others [wait](Self::waiting). 256 by default.
    #[must_use]
    pub fn concurrency(mut self, most: usize) -> Self {
        self.options.concurrency = most;
        self
    }

    /// Has this many requests wait until others have ended, in the order in which they came; others are refused. 4096 by
    /// default, and 16 MiB of them together.
    ///
    /// While they wait, the server reads on: the requests that run may wait for what the client cancels or answers.
    #[must_use]
    pub fn waiting(mut self, most: usize) -> Self {
        self.options.waiting = most;
        self
    }

    /// Keeps this many subscriptions at a time. 64 by default. They do not count as requests that run.
    #[must_use]
    pub fn subscriptions(mut self, most: usize) -> Self {
        self.options.subscriptions = most;
        self
    }

    /// Waits this long for a client to read some of what it is sent; then the connection ends. 30 seconds by default.
    #[must_use]
    pub fn write_timeout(mut self, limit: Duration) -> Self {
        self.options.write_timeout = limit;
        self
    }

    /// Waits this long at the end for requests that run. 5 seconds by default.
    #[must_use]
    pub fn shutdown_timeout(mut self, limit: Duration) -> Self {
        self.options.shutdown_timeout = limit;
        self
    }

    /// Serves on stdin and stdout, until stdin ends or the process gets SIGTERM or SIGINT. Then requests that run have
    /// [a moment](Self::shutdown_timeout) to end, and tasks are handed over
    /// ([`Server::shut_down`](mrtr_server::Server::shut_down)). A second signal ends the process at once.
    ///
    /// The process gives up both streams for this. On Unix, what handlers print to stdout goes to stderr from now on,
    /// since the client would take it for messages; and stdin is empty for handlers and for the processes that they
    /// start. On other systems, a handler must not print to stdout: log to stderr.
    pub async fn run(self) -> io::Result<()> {
        process::serve(self.server, self.options).await
    }

    /// Serves on a pair of streams, such as the halves of a socket, until the stream that it reads ends. Then requests
    /// that run have [a moment](Self::shutdown_timeout) to end.
    ///
    /// Dropping this future cancels everything that runs.
    pub async fn over<R, W>(self, read: R, write: W) -> io::Result<()>
    where
        R: AsyncRead + Send + Unpin,
        W: AsyncWrite + Send + Unpin,
    {
        // The server may have other connections, so this ends nothing of it.
        let finish = connection::finish_detached(self.server.clone());
        connection::serve(self.server, self.options, (read, write), (std::future::pending(), || {}, finish)).await
    }
}
