//! Running endpoints on sockets of their own.

use std::collections::HashMap;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use mrtr_server::Server;
use socket2::{Domain, Socket, Type};
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::body::Body;
use super::{Endpoint, PATH};

/// Serves the published revision at `/mcp` on this machine alone, until the process ends.
///
/// To serve others, say who may call: [`Endpoint::new`] with an authenticator, and [`Serve`].
///
/// ```no_run
/// # async fn main_like() -> Result<(), Box<dyn std::error::Error>> {
/// let server = mrtr_server::Server::builder("empty", "1.0.0").build()?;
/// mrtr_http::serve("127.0.0.1:8000", server).await?;
/// # Ok(()) }
/// ```
pub async fn serve(address: impl ToSocketAddrs, server: Server) -> io::Result<()> {
    let bound = Serve::new(Endpoint::anonymous(server)).bind(address)?;
    if !bound.address()?.ip().is_loopback() {
        let text = "anybody could call: serve others with `Serve` and an endpoint that says who may";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    bound.run(std::future::pending()).await
}

/// Endpoints by path, to be served.
#[derive(Debug, Clone)]
pub struct Serve {
    endpoints: HashMap<String, Endpoint>,
    runtimes: Option<NonZeroUsize>,
}

impl Serve {
    /// This endpoint at `/mcp`.
    pub fn new(endpoint: Endpoint) -> Self {
        let endpoints = HashMap::from([(PATH.to_owned(), endpoint)]);
        Self { endpoints, runtimes: None }
    }

    /// Another endpoint at a path of its own.
    #[must_use]
    pub fn endpoint(mut self, path: impl Into<String>, endpoint: Endpoint) -> Self {
        self.endpoints.insert(path.into(), endpoint);
        self
    }

    /// Serves on so many threads, each with a runtime and a listening socket of its own.
    ///
    /// Nothing moves between them, so nothing is locked; the system spreads connections over the sockets.
    #[must_use]
    pub fn runtimes(mut self, threads: NonZeroUsize) -> Self {
        self.runtimes = Some(threads);
        self
    }

    /// Takes an address.
    pub fn bind(self, address: impl ToSocketAddrs) -> io::Result<Bound> {
        let address = address.to_socket_addrs()?.next();
        let address = address.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "there is no such address"))?;
        let several = self.runtimes.is_some();
        let first = listener(address, several)?;
        Ok(Bound { serve: self, first })
    }
}

/// Endpoints with an address.
#[derive(Debug)]
pub struct Bound {
    serve: Serve,
    first: std::net::TcpListener,
}

impl Bound {
    /// The address, with its port.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.first.local_addr()
    }

    /// Serves until `shutdown` is over, and then until running requests are answered.
    pub async fn run(self, shutdown: impl Future<Output = ()> + Send) -> io::Result<()> {
        let (stop, stopped) = watch::channel(false);
        let mounts = Arc::new(Mounts(self.serve.endpoints));
        let threads = match self.serve.runtimes {
            None => Vec::new(),
            Some(threads) => {
                let address = self.first.local_addr()?;
                let listeners: io::Result<Vec<_>> = (1..threads.get()).map(|_| listener(address, true)).collect();
                let spawned = listeners?.into_iter().map(|listener| spawn(listener, &mounts, &stopped));
                spawned.collect::<io::Result<Vec<_>>>()?
            }
        };
        let accepting = accept(self.first, mounts, stopped);
        let stopping = async {
            shutdown.await;
            stop.send_replace(true);
        };
        let (accepted, ()) = tokio::join!(accepting, stopping);
        let ended =
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err(io::Error::other("panicked"))));
        ended.fold(accepted, Result::and)
    }
}

struct Mounts(HashMap<String, Endpoint>);

impl Mounts {
    async fn respond(&self, request: Request<Incoming>) -> Response<Body> {
        if let Some(endpoint) = self.0.get(request.uri().path()) {
            return endpoint.respond(request).await;
        }
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NOT_FOUND;
        response
    }
}

/// A listening socket; one of several that share an address if `shared`.
fn listener(address: SocketAddr, shared: bool) -> io::Result<std::net::TcpListener> {
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

fn spawn(
    listener: std::net::TcpListener,
    mounts: &Arc<Mounts>,
    stopped: &watch::Receiver<bool>,
) -> io::Result<std::thread::JoinHandle<io::Result<()>>> {
    let (mounts, stopped) = (Arc::clone(mounts), stopped.clone());
    std::thread::Builder::new().name("mrtr-http".to_owned()).spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(accept(listener, mounts, stopped))
    })
}

/// Takes connections until told to stop, and then lets the running requests finish.
async fn accept(
    listener: std::net::TcpListener,
    mounts: Arc<Mounts>,
    mut stopped: watch::Receiver<bool>,
) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    let graceful = GracefulShutdown::new();
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // Out of file descriptors, most likely: it passes when connections end.
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            },
            () = told_to_stop(&mut stopped) => break,
        };
        let _ = stream.set_nodelay(true);
        let mounts = Arc::clone(&mounts);
        let service = hyper::service::service_fn(move |request| {
            let mounts = Arc::clone(&mounts);
            async move { Ok::<_, std::convert::Infallible>(mounts.respond(request).await) }
        });
        let mut builder = auto::Builder::new(TokioExecutor::new());
        builder.http1().timer(TokioTimer::new()).header_read_timeout(Some(HEAD_TIME));
        builder.http2().timer(TokioTimer::new()).keep_alive_interval(Some(HEAD_TIME));
        let connection = builder.serve_connection(TokioIo::new(stream), service).into_owned();
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection ended with an error");
            }
        });
    }
    graceful.shutdown().await;
    Ok(())
}

/// Whoever is to say so may also be gone.
async fn told_to_stop(stopped: &mut watch::Receiver<bool>) {
    let _ = stopped.wait_for(|stopped| *stopped).await.map(drop);
}

/// How long the head of a request may take.
const HEAD_TIME: Duration = Duration::from_secs(10);
