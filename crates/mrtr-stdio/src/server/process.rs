//! The streams of the process itself: read and written by threads, and kept for messages alone.

use std::io::{self, Read, Write};
use std::thread;

use mrtr_server::Server;
use mrtr_server::transport::{Inventory, end_signal};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::{Options, connection};

/// Serves on stdin and stdout, until stdin ends or the process is told to end.
pub(super) async fn serve(server: Server, options: Options) -> io::Result<()> {
    let stop = end_signal()?;
    let (stdin, stdout) = streams()?;
    let (read, _) = spawn("mrtr-stdin", |ours, runtime| forward_input(stdin, ours, &runtime))?;
    let (write, written) = spawn("mrtr-stdout", |ours, runtime| forward_output(ours, stdout, &runtime))?;
    let mut ending = Instant::now();
    let at_end = || {
        ending = Instant::now();
        server.begin_shutdown();
        tracing::info!(limit = ?options.shutdown_timeout, "shutting down: no more requests are read");
    };
    let Inventory { name, version, tools, prompts, resources, states_outlive_process, .. } = server.inventory();
    let key = if states_outlive_process { "given" } else { "of this process only" };
    tracing::info!(server = name, version, tools, prompts, resources, key, "serving stdin and stdout");
    let ended = connection::serve(server.clone(), options, (read, write), (stop, at_end, server.shut_down())).await;
    // The last answers are on their way through the thread. If the client does not read them, the end does not wait for
    // it.
    let left = options.shutdown_timeout.saturating_sub(ending.elapsed());
    let _ = tokio::time::timeout(left, written).await;
    tracing::info!(took = ?ending.elapsed(), "shut down");
    ended
}

/// Runs a function on a thread of its own, and returns the other end of its pipe and a receiver that says when it has
/// ended.
///
/// The runtime's own threads will not do: the runtime waits for them at its end, and reading from stdin may take for
/// ever. A thread of our own ends with the process.
fn spawn(
    name: &str,
    run: impl FnOnce(DuplexStream, Handle) + Send + 'static,
) -> io::Result<(DuplexStream, oneshot::Receiver<()>)> {
    let (theirs, ours) = tokio::io::duplex(PIPE);
    let (ending, ended) = oneshot::channel();
    let runtime = Handle::current();
    let thread = thread::Builder::new().name(name.to_owned());
    thread.spawn(move || {
        run(ours, runtime);
        drop(ending);
    })?;
    Ok((theirs, ended))
}

fn forward_input(mut stdin: impl Read, mut to: DuplexStream, runtime: &Handle) {
    let mut chunk = vec![0; PIPE];
    loop {
        match stdin.read(&mut chunk) {
            Ok(0) => return,
            Ok(length) if runtime.block_on(to.write_all(&chunk[..length])).is_err() => return,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return tracing::warn!(%error, "stdin cannot be read"),
        }
    }
}

fn forward_output(mut from: DuplexStream, mut stdout: impl Write, runtime: &Handle) {
    let mut chunk = vec![0; PIPE];
    while let Ok(length @ 1..) = runtime.block_on(from.read(&mut chunk)) {
        // Dropping the pipe tells the other end of it.
        let written = stdout.write_all(&chunk[..length]).and_then(|()| stdout.flush());
        if let Err(error) = written {
            return tracing::debug!(%error, "stdout cannot be written");
        }
    }
}

/// The streams that the process was started with. In their place, it gets an empty stdin, and stderr for its stdout.
#[cfg(unix)]
fn streams() -> io::Result<(std::fs::File, std::fs::File)> {
    use rustix::stdio;
    // Processes that handlers start do not get these: they would keep the client's pipes open.
    let stdin = rustix::io::fcntl_dupfd_cloexec(stdio::stdin(), FIRST_OF_OURS)?;
    let stdout = rustix::io::fcntl_dupfd_cloexec(stdio::stdout(), FIRST_OF_OURS)?;
    stdio::dup2_stdin(std::fs::File::open("/dev/null")?)?;
    stdio::dup2_stdout(stdio::stderr())?;
    Ok((stdin.into(), stdout.into()))
}

#[cfg(not(unix))]
fn streams() -> io::Result<(io::Stdin, io::Stdout)> {
    Ok((io::stdin(), io::stdout()))
}

/// The first file descriptor of our own: those below it have their meaning for every program.
#[cfg(unix)]
const FIRST_OF_OURS: i32 = 3;

/// The bytes that a pipe holds: as many as one of the system's, mostly.
const PIPE: usize = 64 * 1024;
