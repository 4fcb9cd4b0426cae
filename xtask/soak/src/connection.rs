//! Connections of HTTP/1.1 and HTTP/2 from a caller's address, with nothing between a client and its bytes.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use bytes::Bytes;
use h2::client::SendRequest;
use h2::{RecvStream, SendStream};
use http::Request;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::AbortHandle;

use crate::caller::Caller;
use crate::message::Post;

/// Connects from the caller's own address.
pub(crate) async fn dial(caller: &Caller, server: SocketAddr) -> io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    if caller.address != Ipv4Addr::LOCALHOST {
        socket.bind((caller.address, 0).into())?;
    }
    let stream = socket.connect(server).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// A whole response.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    /// The session that it begins.
    pub(crate) session: Option<String>,
    body: Vec<u8>,
}

impl Response {
    /// The message in it: all of its body, or the last event that answers.
    pub(crate) fn message(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok().or_else(|| {
            let text = std::str::from_utf8(&self.body).ok()?;
            text.lines().rev().filter_map(data_of).find(|message| message.get("method").is_none())
        })
    }
}

/// The message in a line of a stream of events.
pub(crate) fn data_of(line: &str) -> Option<Value> {
    serde_json::from_str(line.strip_prefix("data: ")?).ok()
}

/// A connection of HTTP/1.1.
#[derive(Debug)]
pub(crate) struct Http1(BufReader<TcpStream>);

impl Http1 {
    pub(crate) async fn connect(caller: &Caller, server: SocketAddr) -> io::Result<Self> {
        Ok(Self(BufReader::new(dial(caller, server).await?)))
    }

    pub(crate) async fn send(&mut self, post: &Post) -> io::Result<()> {
        let mut bytes = post.head().into_bytes();
        bytes.extend_from_slice(&post.body);
        self.0.write_all(&bytes).await
    }

    pub(crate) async fn exchange(&mut self, post: &Post) -> io::Result<Response> {
        self.send(post).await?;
        self.response().await
    }

    pub(crate) async fn response(&mut self) -> io::Result<Response> {
        let first = self.line().await?;
        let status = first.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.ok_or(io::ErrorKind::UnexpectedEof)?;
        let (mut session, mut length, mut chunked) = (None, 0, false);
        loop {
            let line = self.line().await?;
            let Some((name, value)) = line.split_once(':') else { break };
            match name.to_ascii_lowercase().as_str() {
                "mcp-session-id" => session = Some(value.trim().to_owned()),
                "content-length" => length = value.trim().parse().map_err(io::Error::other)?,
                "transfer-encoding" => chunked = true,
                _ => {}
            }
        }
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).await?;
        while chunked {
            let size = usize::from_str_radix(&self.line().await?, 16).map_err(io::Error::other)?;
            let from = body.len();
            body.resize(from + size, 0);
            self.0.read_exact(&mut body[from..]).await?;
            self.line().await?;
            chunked = size > 0;
        }
        Ok(Response { status, session, body })
    }

    async fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.0.read_line(&mut line).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end().to_owned())
    }
}

/// A connection of HTTP/2, which is closed when this is dropped.
#[derive(Debug)]
pub(crate) struct Http2 {
    send: SendRequest<Bytes>,
    driver: AbortHandle,
}

impl Drop for Http2 {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// A response whose body is still to be read.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) status: u16,
    pub(crate) session: Option<String>,
    pub(crate) body: RecvStream,
}

impl Http2 {
    /// Connects. The window says how many bytes of each reply the server may send before they are read.
    pub(crate) async fn connect(caller: &Caller, server: SocketAddr, window: u32) -> io::Result<Self> {
        let stream = dial(caller, server).await?;
        let mut builder = h2::client::Builder::new();
        builder.initial_window_size(window).max_send_buffer_size(8 << 20);
        let (send, connection) = builder.handshake(stream).await.map_err(io::Error::other)?;
        let driver = tokio::spawn(async move { drop(connection.await) }).abort_handle();
        Ok(Self { send, driver })
    }

    /// Returns true if the connection is still driven.
    pub(crate) fn is_open(&self) -> bool {
        !self.driver.is_finished()
    }

    /// Begins a request, as soon as the server allows another stream; its body is still to be sent.
    pub(crate) async fn begin(
        &self,
        post: &Post,
    ) -> Result<(h2::client::ResponseFuture, SendStream<Bytes>), h2::Error> {
        let mut request = Request::post("http://localhost/mcp");
        for (name, value) in &post.headers {
            request = request.header(*name, value);
        }
        let request = request.body(()).expect("headers of a request are valid");
        let mut send = self.send.clone().ready().await?;
        send.send_request(request, false)
    }

    /// Sends a request, and waits for the head of its response.
    pub(crate) async fn open(&self, post: &Post) -> Result<Opened, h2::Error> {
        let (response, mut body) = self.begin(post).await?;
        body.send_data(post.body.clone(), true)?;
        let (head, body) = response.await?.into_parts();
        let session = head.headers.get("mcp-session-id").and_then(|session| session.to_str().ok());
        Ok(Opened { status: head.status.as_u16(), session: session.map(ToOwned::to_owned), body })
    }

    pub(crate) async fn exchange(&self, post: &Post) -> io::Result<Response> {
        let Opened { status, session, body } = self.open(post).await.map_err(io::Error::other)?;
        Ok(Response { status, session, body: read(body).await? })
    }
}

/// Reads a body to its end.
async fn read(mut stream: RecvStream) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    while let Some(chunk) = next_chunk(&mut stream).await? {
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// Returns the next piece of a body, and lets the server send as much again.
pub(crate) async fn next_chunk(stream: &mut RecvStream) -> io::Result<Option<Bytes>> {
    let Some(chunk) = stream.data().await else { return Ok(None) };
    let chunk = chunk.map_err(io::Error::other)?;
    stream.flow_control().release_capacity(chunk.len()).map_err(io::Error::other)?;
    Ok(Some(chunk))
}
