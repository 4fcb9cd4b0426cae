//! Running endpoints on sockets of their own.

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use mrtr_server::Server;
use mrtr_server::transport::{FairPool, end_signal};
use socket2::{Domain, Socket, Type};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::accept::{Shared, accept, after};
use super::authenticate::Authenticator;
use super::connection::{HEAD_BYTES, HTTP2_WINDOW, MAX_HEADERS, Timeouts};
use super::endpoint::Endpoint;
use super::probes::Probes;
use super::public_url::PublicUrl;
use super::router::{Mounts, PATH};

/// Serves the published revision at `/mcp` on this machine alone, until SIGTERM or Ctrl-C.
///
/// Then it [ends in order](Bound::run), and returns. A second signal ends the process at once. For signal handlers of
/// your own, use [`Serve`] and [`Bound::run`].
///
/// To serve others, say who may call: [`Endpoint::new`] with an authenticator, and [`Serve`].
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let server = mrtr_server::Server::builder("empty", "1.0.0").build()?;
/// # let address = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?;
/// # let serving = async {
/// # let server = server.clone();
/// mrtr_http::serve(address, server).await?; // such as 127.0.0.1:8000
/// # Ok::<(), std::io::Error>(())
/// # };
/// # let calling = async {
/// #     while tokio::net::TcpStream::connect(address).await.is_err() {
/// #         tokio::task::yield_now().await;
/// #     }
/// # };
/// # tokio::select! {
/// #     served = serving => served?,
/// #     () = calling => {}
/// # }
/// # let everywhere = mrtr_http::serve("0.0.0.0:0", server).await;
/// # assert_eq!(everywhere.unwrap_err().kind(), std::io::ErrorKind::InvalidInput);
/// # Ok(()) }
/// ```
pub async fn serve(address: impl ToSocketAddrs, server: Server) -> io::Result<()> {
    let addresses = resolve(address)?;
    if let Some(public) = addresses.iter().find(|address| !address.ip().is_loopback()) {
        let text = format!(
            "`serve` lets every caller in, and {public} can be reached from other machines: write 127.0.0.1:{port}, or \
             say who may call: Serve::new(Endpoint::new(server, authenticator)).bind(\"{public}\")?.run_until_signal()",
            port = public.port()
        );
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    Serve::new(Endpoint::anonymous(server)).bind(&*addresses)?.run_until_signal().await
}

/// Endpoints by path, to be served.
///
/// ```
/// use mrtr_http::{Endpoint, Serve};
/// use mrtr_schema::Revision;
/// use mrtr_server::Server;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let server = Server::builder("empty", "1.0.0").build()?;
/// let older = Endpoint::anonymous(server.clone()).revision(Revision::Sep2322);
/// let bound = Serve::new(Endpoint::anonymous(server)).endpoint("/sep-2322", older).bind("127.0.0.1:0")?;
/// println!("listening on {}", bound.address()?);
/// # if false {
/// bound.run_until_signal().await?;
/// # }
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct Serve {
    endpoints: BTreeMap<String, Endpoint>,
    has_probes: bool,
    runtimes: Option<NonZeroUsize>,
    connections: usize,
    timeouts: Timeouts,
    /// The mistake in a setting, told when the server binds.
    mistake: Option<String>,
}

impl Serve {
    /// The most connections at a time, unless [`connections`](Self::connections) says otherwise: enough for as many
    /// requests and subscriptions as an endpoint takes, and as many that are kept for the next request. If each of them
    /// is full of a head, unread bytes take a gibibyte; on HTTP/2 four, at worst.
    pub const DEFAULT_CONNECTIONS: usize = 16_384;
    /// The longest time for a request's head to arrive, unless [`header_timeout`](Self::header_timeout) says otherwise.
    pub const DEFAULT_HEADER_TIMEOUT: Duration = Duration::from_secs(10);
    /// The longest time for a client to read, unless [`write_timeout`](Self::write_timeout) says otherwise.
    pub const DEFAULT_WRITE_TIMEOUT: Duration = Duration::from_secs(30);
    /// The longest time for the server to end, unless [`shutdown_timeout`](Self::shutdown_timeout) says otherwise.
    pub const DEFAULT_SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(30);
    /// The time between a failing readiness probe and the first refused connection, unless
    /// [`shutdown_notice`](Self::shutdown_notice) says otherwise: none, since only the operator knows how often a load
    /// balancer asks.
    pub const DEFAULT_SHUTDOWN_NOTICE: Duration = Duration::ZERO;
    /// The most bytes of a request's head: 64 KiB, since nothing long belongs there.
    pub const HEAD_LIMIT: usize = HEAD_BYTES as usize;
    /// The most headers that a request may have.
    pub const MAX_HEADERS: usize = MAX_HEADERS;
    /// The most bytes of all bodies on a connection of HTTP/2 that may come before the server reads any of them.
    /// Nothing else bounds them: a request takes its permit, and its part of the budget, when the server reads its
    /// body, after it has checked its head.
    pub const HTTP2_WINDOW: u32 = HTTP2_WINDOW;

    /// Creates a server of this endpoint at `/mcp`. A [`Server`] becomes an endpoint that serves every caller, until
    /// [`tokens`](Self::tokens) says otherwise.
    pub fn new(endpoint: impl Into<Endpoint>) -> Self {
        let endpoints = BTreeMap::from([(PATH.to_owned(), endpoint.into())]);
        let timeouts = Timeouts {
            header: Self::DEFAULT_HEADER_TIMEOUT,
            write: Self::DEFAULT_WRITE_TIMEOUT,
            notice: Self::DEFAULT_SHUTDOWN_NOTICE,
            shutdown: Self::DEFAULT_SHUTDOWN_TIMEOUT,
        };
        Self {
            endpoints,
            has_probes: false,
            runtimes: None,
            connections: Self::DEFAULT_CONNECTIONS,
            timeouts,
            mistake: None,
        }
    }

    /// Adds another endpoint at this path.
    #[must_use]
    pub fn endpoint(mut self, path: impl Into<String>, endpoint: Endpoint) -> Self {
        self.endpoints.insert(path.into(), endpoint);
        self
    }

    /// Says under which URL clients know the endpoint at `/mcp`, as [`Endpoint::public_url`] does. A URL that cannot be
    /// one makes [`bind`](Self::bind) fail.
    ///
    /// ```
    /// use mrtr_http::Serve;
    ///
    /// # let server = mrtr_server::Server::builder("empty", "1.0.0").build()?;
    /// let serve = Serve::new(server).public_url("https://mcp.example.com/mcp");
    /// # drop(serve);
    /// # Ok::<(), mrtr_server::BuildError>(())
    /// ```
    #[must_use]
    pub fn public_url(mut self, url: impl AsRef<str>) -> Self {
        match url.as_ref().parse::<PublicUrl>() {
            Ok(url) => self.change(|endpoint| endpoint.public_url(url)),
            Err(error) => {
                self.mistake.get_or_insert(error.to_string());
                self
            }
        }
    }

    /// Serves at `/mcp` the callers that this authenticator lets in, such as those with a token of an issuer.
    #[must_use]
    pub fn tokens(self, authenticator: impl Authenticator) -> Self {
        self.change(|endpoint| endpoint.authenticator(authenticator))
    }

    /// Changes the endpoint at `/mcp`.
    fn change(mut self, change: impl FnOnce(Endpoint) -> Endpoint) -> Self {
        if let Some(endpoint) = self.endpoints.remove(PATH) {
            self.endpoints.insert(PATH.to_owned(), change(endpoint));
        }
        self
    }

    /// Answers the probes of a platform: GET and HEAD at `/healthz`, with 200 for as long as the server answers at all,
    /// and at `/readyz`, with 200 until the server [begins to end](Bound::run) and with 503 from then on.
    ///
    /// Every caller may ask, under any host name: probes come by IP address and without credentials. The answers tell
    /// nothing else, and take no permit of [`Endpoint::concurrency`].
    ///
    /// To let a load balancer see the 503 before connections are refused, set
    /// [`shutdown_notice`](Self::shutdown_notice).
    ///
    /// ```
    /// use std::time::Duration;
    /// use mrtr_http::{Endpoint, Serve};
    ///
    /// # let server = mrtr_server::Server::builder("empty", "1.0.0").build()?;
    /// let serve = Serve::new(Endpoint::anonymous(server)).probes().shutdown_notice(Duration::from_secs(5));
    /// # drop(serve);
    /// # Ok::<(), mrtr_server::BuildError>(())
    /// ```
    #[must_use]
    pub fn probes(mut self) -> Self {
        self.has_probes = true;
        self
    }

    /// Serves on this many threads, each with a runtime and a listening socket of its own.
    ///
    /// Connections do not move between threads. The system spreads them over the sockets.
    #[must_use]
    pub fn runtimes(mut self, threads: NonZeroUsize) -> Self {
        self.runtimes = Some(threads);
        self
    }

    /// Serves this many connections at a time, on all threads together. 16384 by default.
    ///
    /// The server divides them between addresses: one address has at most three quarters, and the last quarter is for
    /// addresses that have less than an equal share. Other connections wait until one closes, 64 on each thread. Beyond
    /// that, the server closes those of the address that has most. A connection makes way if it had no request for five
    /// seconds, or none in its first second. If the process may not open that many files, connections wait as well, and
    /// the log says so.
    #[must_use]
    pub fn connections(mut self, most: usize) -> Self {
        self.connections = most;
        self
    }

    /// Waits this long for the head of a request, on a new connection or one that is kept. Ten seconds by default.
    #[must_use]
    pub fn header_timeout(mut self, limit: Duration) -> Self {
        self.timeouts.header = limit;
        self
    }

    /// Waits this long for a client to read what it is sent. 30 seconds by default.
    ///
    /// On HTTP/1 the server then closes the connection. On HTTP/2 it resets the stream, where each piece of 16 KiB has
    /// that time, and closes the connection if the client leaves the end of a reply unread. The client's running
    /// request ends, and gives its permit back.
    #[must_use]
    pub fn write_timeout(mut self, limit: Duration) -> Self {
        self.timeouts.write = limit;
        self
    }

    /// Serves on for this long, once the operator has told the server to stop, before it refuses connections. Not at
    /// all by default.
    ///
    /// The readiness probe fails meanwhile, so that a load balancer sends its requests elsewhere: take somewhat longer
    /// than it needs to notice. The notice counts within [`shutdown_timeout`](Self::shutdown_timeout), and must be
    /// shorter.
    #[must_use]
    pub fn shutdown_notice(mut self, notice: Duration) -> Self {
        self.timeouts.notice = notice;
        self
    }

    /// Waits this long, once the operator has told the server to stop, for what runs. 30 seconds by default.
    ///
    /// The limit holds over all of the [end](Bound::run), tasks included. Make it shorter than the time after which the
    /// platform kills the process.
    #[must_use]
    pub fn shutdown_timeout(mut self, limit: Duration) -> Self {
        self.timeouts.shutdown = limit;
        self
    }

    /// Listens on this address. If it stands for several, the server takes the first that it can have.
    pub fn bind(self, address: impl ToSocketAddrs) -> io::Result<Bound> {
        self.check().map_err(|mistake| io::Error::new(io::ErrorKind::InvalidInput, mistake))?;
        let mut failed = io::Error::new(io::ErrorKind::InvalidInput, "there is no such address");
        for address in resolve(address)? {
            match listener(address, self.runtimes.is_some()) {
                Ok(first) => return Ok(Bound { serve: self, first }),
                Err(error) => failed = cannot_listen(address, &error),
            }
        }
        Err(failed)
    }

    /// Finds settings that cannot work together.
    fn check(&self) -> Result<(), String> {
        if let Some(mistake) = &self.mistake {
            return Err(mistake.clone());
        }
        let mut urls = BTreeMap::new();
        for (path, endpoint) in &self.endpoints {
            endpoint.check()?;
            let Some(url) = &endpoint.config.public_url else { continue };
            if let Some(other) = urls.insert(url.as_str(), path) {
                return Err(format!(
                    "the endpoints at {other} and {path} have one public URL, {url}: a token for the one would be taken \
                     at the other; give each a `public_url` of its own"
                ));
            }
        }
        let Timeouts { notice, shutdown, .. } = self.timeouts;
        if let Some(path) = Probes::PATHS.iter().find(|path| self.has_probes && self.endpoints.contains_key(**path)) {
            return Err(format!(
                "an endpoint is at {path}, which `Serve::probes` answers: move the endpoint, or leave the probes out"
            ));
        }
        if !notice.is_zero() && notice >= shutdown {
            return Err(format!(
                "a `shutdown_notice` of {notice:?} leaves nothing of the `shutdown_timeout` of {shutdown:?}, which counts \
                 from its beginning: make the timeout longer"
            ));
        }
        Ok(())
    }
}

/// Finds the addresses that are meant. Without a port there is none, whatever listens there.
fn resolve(address: impl ToSocketAddrs) -> io::Result<Vec<SocketAddr>> {
    let found = address.to_socket_addrs().map_err(|error| {
        let text = if error.kind() == io::ErrorKind::InvalidInput {
            "no port: write 127.0.0.1:8000, or 127.0.0.1:0 for any free one".to_owned()
        } else {
            format!("no such address: {error}; write a host and a port, such as 127.0.0.1:8000 or [::1]:8000")
        };
        io::Error::new(error.kind(), text)
    })?;
    Ok(found.collect())
}

/// A server that is bound to its address and ready to run.
///
/// ```
/// use mrtr_http::{Endpoint, Serve};
///
/// let server = mrtr_server::Server::builder("empty", "1.0.0").build()?;
/// let bound = Serve::new(Endpoint::anonymous(server)).bind("127.0.0.1:0")?;
/// assert_ne!(bound.address()?.port(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Bound {
    serve: Serve,
    first: TcpListener,
}

impl Bound {
    /// Returns the address, with its port.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.first.local_addr()
    }

    /// Serves until SIGTERM or Ctrl-C, and then ends in order, as [`run`](Self::run) does.
    ///
    /// A second signal ends the process at once: see [`end_signal`](mrtr_server::transport::end_signal). This also holds
    /// for process 1 of a container.
    ///
    /// ```no_run
    /// use mrtr_http::{Endpoint, Serve};
    ///
    /// # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let server = mrtr_server::Server::builder("empty", "1.0.0").build()?;
    /// Serve::new(Endpoint::anonymous(server)).probes().bind("127.0.0.1:8000")?.run_until_signal().await?;
    /// # Ok(()) }
    /// ```
    pub async fn run_until_signal(self) -> io::Result<()> {
        let told_to_end = end_signal()?;
        self.run(told_to_end).await
    }

    /// Serves until `shutdown` is over, and then ends in order. It installs no signal handlers.
    ///
    /// 1. The readiness probe fails, and the server serves on for the [notice](Serve::shutdown_notice).
    /// 2. It accepts no more connections, and tells its servers ([`Server::begin_shutdown`]): they begin no more tasks,
    ///    and answer requests that wait for the result of one.
    /// 3. Running requests are answered, and subscriptions end.
    /// 4. Running tasks are handed over, and rounds of single-use tools without a client record what they began
    ///    ([`Server::shut_down`]).
    ///
    /// The log tells each of these in a line. [`Serve::shutdown_timeout`] is the limit over all: what still runs then is
    /// dropped.
    ///
    /// Dropping this future drops its connections. Those of other threads come to their end.
    pub async fn run(self, shutdown: impl Future<Output = ()> + Send) -> io::Result<()> {
        let Serve { endpoints, has_probes, runtimes, connections, timeouts, .. } = self.serve;
        let (stop, stopped) = watch::channel(None);
        let (release, released) = watch::channel(false);
        let (report, mut reports) = mpsc::unbounded_channel();
        let mounts = Arc::new(Mounts { endpoints, probes: has_probes.then(Probes::default) });
        let places = FairPool::new(connections);
        let shared = Shared {
            mounts: Arc::clone(&mounts),
            places: places.clone(),
            freed: Arc::new(watch::Sender::new(())),
            timeouts,
            stopped,
        };
        let address = self.first.local_addr()?;
        mounts.log(address);
        for _ in 1..runtimes.map_or(1, NonZeroUsize::get) {
            let accepting = accept(listener(address, true)?, shared.clone());
            let report = report.clone();
            spawn_thread(accepting, move |ended| drop(report.send(ended)), released.clone())?;
        }
        let accepting = async {
            let ended = accept(self.first, shared).await;
            let _ = report.send(ended);
            // The reports are over when each thread has dropped its sender, this one too.
            drop(report);
        };
        let ending = async {
            let mut result = Ok(());
            while let Some(ended) = reports.recv().await {
                // Half a server is worse than none, so the thread that ends first ends the others.
                stop_by(&stop, after(timeouts.shutdown));
                result = result.and(ended);
            }
            result
        };
        let mut serving = pin!(async { tokio::join!(accepting, ending).1 });
        let (result, ending) = tokio::select! {
            result = &mut serving => (result, Ending::begin(timeouts.shutdown)),
            () = shutdown => {
                let ending = Ending::begin(timeouts.shutdown);
                mounts.begin_end();
                tracing::info!(notice = ?timeouts.notice, limit = ?timeouts.shutdown, "shutting down: not ready");
                let notice = tokio::time::sleep(timeouts.notice);
                let early = tokio::select! {
                    biased;
                    () = notice => None,
                    result = &mut serving => Some(result),
                };
                if early.is_none() {
                    let (requests, subscriptions) = mounts.under_way();
                    let connections = places.used();
                    tracing::info!(connections, requests, subscriptions, "shutting down: no new connections");
                    stop_by(&stop, ending.deadline);
                }
                (if let Some(early) = early { early } else { serving.await }, ending)
            }
        };
        tracing::info!(took = ?ending.begun.elapsed(), "shutting down: no requests are under way");
        if tokio::time::timeout_at(ending.deadline, mounts.shut_down()).await.is_err() {
            tracing::warn!("`shutdown_timeout` is over: what tasks and single-use rounds still do is dropped");
        }
        release.send_replace(true);
        tracing::info!(took = ?ending.begun.elapsed(), "shut down");
        result
    }
}

/// The end of a server, from when it was told to stop.
struct Ending {
    begun: Instant,
    /// The time at which what still runs is dropped.
    deadline: Instant,
}

impl Ending {
    fn begin(limit: Duration) -> Self {
        Self { begun: Instant::now(), deadline: after(limit) }
    }
}

/// Tells all threads to stop, unless they were told before.
fn stop_by(stop: &watch::Sender<Option<Instant>>, deadline: Instant) {
    stop.send_if_modified(|stop| {
        let is_first = stop.is_none();
        stop.get_or_insert(deadline);
        is_first
    });
}

/// Adds to an error the address that was tried, and what to do. The kind of the error stays, for programs.
fn cannot_listen(address: SocketAddr, error: &io::Error) -> io::Error {
    let remedy = match error.kind() {
        io::ErrorKind::AddrInUse => {
            "; another process listens there: stop it, or take another port (0 is any free one)"
        }
        io::ErrorKind::AddrNotAvailable => {
            "; this machine does not have that address: 127.0.0.1 is itself, 0.0.0.0 all"
        }
        io::ErrorKind::PermissionDenied => "; ports below 1024 need a privilege: take a higher one",
        _ => "",
    };
    io::Error::new(error.kind(), format!("cannot listen on {address}: {error}{remedy}"))
}

/// Creates a listening socket, one of several that share an address if `shared`.
fn listener(address: SocketAddr, shared: bool) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_reuse_address(cfg!(unix))?;
    #[cfg(unix)]
    if shared {
        socket.set_reuse_port(true)?;
    }
    #[cfg(not(unix))]
    if shared {
        return Err(io::Error::new(io::ErrorKind::Unsupported, "sockets cannot share an address here"));
    }
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(1024)?;
    Ok(socket.into())
}

/// Runs a future on a thread with a runtime of its own, and passes on its result. The runtime lasts until it is
/// released: rounds that continue without their connection run on it.
fn spawn_thread(
    work: impl Future<Output = io::Result<()>> + Send + 'static,
    ended: impl FnOnce(io::Result<()>) + Send + 'static,
    mut released: watch::Receiver<bool>,
) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let thread = std::thread::Builder::new().name("mrtr-http".to_owned());
    let spawned = thread.spawn(move || {
        let result = catch_unwind(AssertUnwindSafe(|| runtime.block_on(work)));
        ended(result.unwrap_or_else(|_| Err(io::Error::other("a thread of the server panicked"))));
        // If the sender is gone, the server was dropped: then these rounds end as well.
        runtime.block_on(async { drop(released.wait_for(|released| *released).await) });
    });
    spawned.map(drop)
}
