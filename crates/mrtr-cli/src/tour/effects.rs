//! The world outside of a flow: what handlers do there is seen, and counted, in the process of the tour.

use std::io;
use std::net::SocketAddr;

use mrtr::Failure;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use super::recording::{Actor, Event, Recording};

/// What the handlers of one server can do outside of their flows.
#[derive(Clone)]
pub(crate) struct Effects(Reach);

#[derive(Clone)]
enum Reach {
    /// From a server in the tour's own process.
    Here { at: Actor, recording: Recording },
    /// From a server in a process of its own: the tour listens there.
    Elsewhere(SocketAddr),
}

impl Effects {
    pub(crate) fn here(at: Actor, recording: Recording) -> Self {
        Self(Reach::Here { at, recording })
    }

    pub(crate) fn elsewhere(listener: SocketAddr) -> Self {
        Self(Reach::Elsewhere(listener))
    }

    /// Does something. It has happened, for all to see, when this returns.
    pub(crate) async fn act(&self, what: impl Into<String>) -> Result<(), Failure> {
        match &self.0 {
            Reach::Here { at, recording } => recording.add(Event::Effect { at, what: what.into() }),
            Reach::Elsewhere(listener) => tell(*listener, &what.into()).await?,
        }
        Ok(())
    }
}

async fn tell(listener: SocketAddr, what: &str) -> io::Result<()> {
    let mut stream = BufReader::new(TcpStream::connect(listener).await?);
    stream.write_all(format!("{}\n", what.replace('\n', " ")).as_bytes()).await?;
    // The tour closes the connection once it has written it down.
    stream.read_line(&mut String::new()).await.map(drop)
}

/// Where servers in processes of their own tell what they do, until this is dropped.
pub(crate) struct Witness {
    address: SocketAddr,
    listening: JoinHandle<()>,
}

impl Witness {
    pub(crate) async fn of(at: Actor, recording: Recording) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let listening = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (told, _answer) = stream.split();
                let mut line = String::new();
                let read = BufReader::new(told.take(LONGEST)).read_line(&mut line).await;
                // Half a line is from a process that was killed before it did anything.
                if read.is_ok() && line.ends_with('\n') {
                    recording.add(Event::Effect { at, what: line.trim_end().to_owned() });
                }
                // Now it has happened.
                drop(stream);
            }
        });
        Ok(Self { address, listening })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

/// The longest line that is told, in bytes.
const LONGEST: u64 = 1000;
