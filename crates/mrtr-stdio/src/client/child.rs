//! A server as a child process: started, told apart by its command line, listened to, and ended as the specification says.

use std::ffi::OsStr;
use std::fmt::{self, Write as _};
use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sha2::{Digest, Sha256};
use tokio::io::AsyncRead;
use tokio::process::{Child, Command};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

use super::StdioTransport;
use super::connection::Connection;
use crate::error::StdioTransportError;
use crate::lines::{Line, LineReader};

/// The command and the settings that start a server, and start it again when it has ended.
pub(super) struct Launch {
    command: Mutex<Command>,
    program: String,
    pub(super) name: Option<String>,
    stderr: Option<Arc<dyn Fn(String) + Send + Sync>>,
    pub(super) line_limit: usize,
    pub(super) exit_timeout: Duration,
}

impl Launch {
    pub(super) fn new(command: Command) -> Self {
        Self {
            program: command.as_std().get_program().to_string_lossy().into_owned(),
            command: Mutex::new(command),
            name: None,
            stderr: None,
            line_limit: StdioTransport::DEFAULT_LINE_LIMIT,
            exit_timeout: StdioTransport::DEFAULT_EXIT_TIMEOUT,
        }
    }

    pub(super) fn program(&self) -> &str {
        &self.program
    }

    /// The identity of the server in saved calls.
    pub(super) fn identity(&self) -> String {
        let command = self.command.lock().unwrap_or_else(PoisonError::into_inner);
        format!("{} (command line {})", self.program, command_line_digest(command.as_std()))
    }

    pub(super) fn hear_stderr(&mut self, hear: impl Fn(String) + Send + Sync + 'static) {
        self.stderr = Some(Arc::new(hear));
    }

    /// Starts the process.
    pub(super) fn start(&self) -> Result<RunningChild, StdioTransportError> {
        let failed = |source| StdioTransportError::Spawn { program: self.program.clone(), source };
        let mut child = self.spawn().map_err(failed)?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed(io::Error::other("its standard streams could not be opened")));
        };
        if let (Some(stderr), Some(hear)) = (child.stderr.take(), self.stderr.clone()) {
            tokio::spawn(listen(stderr, hear));
        }
        let (exit, exited) = watch::channel(None);
        let (closing, closed) = oneshot::channel();
        let ended = tokio::spawn(watch_over(child, closed, exit, self.exit_timeout));
        let connection = Connection::open(stdout, stdin, self.line_limit, Some(exited));
        Ok(RunningChild { connection, ending: Some((closing, ended)) })
    }

    fn spawn(&self) -> io::Result<Child> {
        let mut command = self.command.lock().unwrap_or_else(PoisonError::into_inner);
        let stderr = if self.stderr.is_some() { Stdio::piped() } else { Stdio::inherit() };
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr);
        // If the runtime ends before the process does, there is no task left to end it.
        command.kill_on_drop(true).spawn()
    }
}

impl fmt::Debug for Launch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Launch").field("program", &self.program).finish_non_exhaustive()
    }
}

/// A process that was started. When this is dropped, it is ended.
pub(super) struct RunningChild {
    pub(super) connection: Arc<Connection>,
    /// Ends the process, and ends with it. `None` once the process was told to end.
    ending: Option<(oneshot::Sender<()>, JoinHandle<()>)>,
}

impl RunningChild {
    /// Ends the process, and returns the future of its end, unless another caller has it.
    pub(super) fn close(&mut self) -> Option<impl Future<Output = ()> + use<>> {
        self.connection.close();
        let (closing, ended) = self.ending.take()?;
        drop(closing);
        Some(async {
            let _ = ended.await;
        })
    }

    /// Returns true if the process was told to end.
    pub(super) fn is_closed(&self) -> bool {
        self.ending.is_none()
    }
}

impl Drop for RunningChild {
    fn drop(&mut self) {
        self.connection.close();
    }
}

/// Waits until the process ends, by itself or because it is told to, and says how it ended.
async fn watch_over(
    mut child: Child,
    closed: oneshot::Receiver<()>,
    exit: watch::Sender<Option<String>>,
    limit: Duration,
) {
    let status = tokio::select! {
        status = child.wait() => status,
        _ = closed => end(&mut child, limit).await,
    };
    let told = status.map_or_else(|error| error.to_string(), |status| status.to_string());
    exit.send_replace(Some(told));
}

/// Ends a process whose stdin is closed: it has some time, then SIGTERM and some time, then SIGKILL.
async fn end(child: &mut Child, limit: Duration) -> io::Result<ExitStatus> {
    if let Ok(status) = tokio::time::timeout(limit, child.wait()).await {
        return status;
    }
    if terminate(child)
        && let Ok(status) = tokio::time::timeout(limit, child.wait()).await
    {
        return status;
    }
    tracing::warn!("the server process does not end and is killed");
    child.kill().await?;
    child.wait().await
}

/// Asks a process to end, and returns true if that was possible.
#[cfg(unix)]
fn terminate(child: &Child) -> bool {
    use rustix::process::{Pid, Signal, kill_process};
    let pid = child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?));
    pid.is_some_and(|pid| kill_process(pid, Signal::TERM).is_ok())
}

#[cfg(not(unix))]
fn terminate(_: &Child) -> bool {
    false
}

/// Hands each line of stderr over; a very long one is only mentioned.
async fn listen(stderr: impl AsyncRead + Unpin, hear: Arc<dyn Fn(String) + Send + Sync>) {
    let mut lines = LineReader::new(stderr, LONGEST_LOG_LINE);
    while let Ok(Some(line)) = lines.next().await {
        match line {
            Line::Message(text) => hear(String::from_utf8_lossy(&text).into_owned()),
            Line::TooLong => hear(format!("(a line of more than {LONGEST_LOG_LINE} bytes)")),
        }
    }
}

/// A digest of all that the caller has said of the process: the program, its arguments, the working directory and the
/// environment variables that are set or removed. It is the same in every process.
fn command_line_digest(command: &std::process::Command) -> String {
    let mut digest = Sha256::new_with_prefix(b"mrtr stdio server 1");
    part(&mut digest, b'p', command.get_program());
    command.get_args().for_each(|argument| part(&mut digest, b'a', argument));
    if let Some(folder) = command.get_current_dir() {
        part(&mut digest, b'd', folder.as_os_str());
    }
    // The variables come in the order of their names, whichever was set first.
    for (name, value) in command.get_envs() {
        part(&mut digest, b'n', name);
        if let Some(value) = value {
            part(&mut digest, b'v', value);
        }
    }
    let mut text = String::with_capacity(2 * SHOWN);
    for byte in &digest.finalize()[..SHOWN] {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Adds a part, after its kind and its length, so that one part is never taken for two.
fn part(digest: &mut Sha256, kind: u8, text: &OsStr) {
    let bytes = text.as_encoded_bytes();
    digest.update([kind]);
    digest.update((bytes.len() as u64).to_be_bytes());
    digest.update(bytes);
}

const LONGEST_LOG_LINE: usize = 64 * 1024;

/// The number of bytes of the digest that are kept: with 16, finding another command line that has the same ones is not
/// feasible.
const SHOWN: usize = 16;
