//! A wire that can be cut: a relay of bytes that closes a connection in the place of handing on a reply.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// Hands bytes on between clients and one server, until it is dropped.
pub(crate) struct Relay {
    address: SocketAddr,
    cuts: Arc<AtomicBool>,
    /// Aborted with the relay.
    _relaying: JoinSet<()>,
}

impl Relay {
    pub(crate) async fn to(server: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let (address, cuts) = (listener.local_addr()?, Arc::new(AtomicBool::new(false)));
        let mut relaying = JoinSet::new();
        relaying.spawn(accept(listener, server, Arc::clone(&cuts)));
        Ok(Self { address, cuts, _relaying: relaying })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The next reply does not get through: its connection is closed when the server has sent it.
    pub(crate) fn cut_next_reply(&self) {
        self.cuts.store(true, Ordering::SeqCst);
    }
}

async fn accept(listener: TcpListener, server: SocketAddr, cuts: Arc<AtomicBool>) {
    // Dropped, and with it every connection, when this task is aborted.
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        let cuts = Arc::clone(&cuts);
        connections.spawn(async move { drop(connect(client, server, &cuts).await) });
    }
}

async fn connect(mut client: TcpStream, server: SocketAddr, cuts: &AtomicBool) -> io::Result<()> {
    let mut server = TcpStream::connect(server).await?;
    let (mut from_client, mut to_client) = client.split();
    let (mut from_server, mut to_server) = server.split();
    let replies = async {
        let mut bytes = vec![0; 16 * 1024];
        loop {
            let read = from_server.read(&mut bytes).await?;
            if read == 0 || cuts.swap(false, Ordering::SeqCst) {
                return Ok(());
            }
            to_client.write_all(&bytes[..read]).await?;
        }
    };
    // Whichever side ends first ends both.
    tokio::select! {
        copied = tokio::io::copy(&mut from_client, &mut to_server) => copied.map(drop),
        ended = replies => ended,
    }
}
