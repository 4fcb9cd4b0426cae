//! HTTP/1.1 as bytes: nothing between a test and what is sent.

use std::net::SocketAddr;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use super::within;

/// A connection.
pub(crate) struct Wire(BufReader<TcpStream>);

/// A response.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Wire {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        Self(BufReader::new(TcpStream::connect(address).await.unwrap()))
    }

    pub(crate) fn of(stream: TcpStream) -> Self {
        Self(BufReader::new(stream))
    }

    /// Sends these bytes. An error is ignored: the other side may not want them any more.
    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.0.write_all(bytes.as_ref()).await;
    }

    /// Sends no more, and still reads.
    pub(crate) async fn finish(&mut self) {
        self.0.shutdown().await.unwrap();
    }

    /// A whole response.
    pub(crate) async fn response(&mut self) -> Response {
        let mut response = self.head().await;
        if response.header("transfer-encoding").is_some_and(|coding| coding == "chunked") {
            while let Some(chunk) = self.chunk().await {
                response.body.extend(chunk);
            }
        } else if let Some(length) = response.header("content-length") {
            response.body.resize(length.parse().unwrap(), 0);
            within("a body", self.0.read_exact(&mut response.body)).await.unwrap();
        }
        response
    }

    /// The head of a response; its body is still to come.
    pub(crate) async fn head(&mut self) -> Response {
        let first = self.line().await;
        let status = first.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.unwrap_or_else(|| panic!("no response: {first:?}"));
        Response { status, headers: self.headers().await, body: Vec::new() }
    }

    /// Reads the headers, up to an empty line.
    pub(crate) async fn headers(&mut self) -> Vec<(String, String)> {
        let mut headers = Vec::new();
        loop {
            let line = self.line().await;
            let Some((name, value)) = line.split_once(':') else { return headers };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
    }

    /// Reads a line without its end. It is empty at the end of the connection.
    pub(crate) async fn line(&mut self) -> String {
        let mut line = Vec::new();
        within("a line", self.0.read_until(b'\n', &mut line)).await.unwrap();
        // A client that speaks TLS sends no text.
        String::from_utf8_lossy(&line).trim_end().to_owned()
    }

    /// Reads the next piece of a body that comes in pieces.
    pub(crate) async fn chunk(&mut self) -> Option<Vec<u8>> {
        let length = usize::from_str_radix(&self.line().await, 16).unwrap();
        let mut chunk = vec![0; length];
        within("a chunk", self.0.read_exact(&mut chunk)).await.unwrap();
        assert_eq!(self.line().await, "");
        (length > 0).then_some(chunk)
    }

    /// The message of the next event, comments aside; `None` at the end of the stream.
    pub(crate) async fn event(&mut self) -> Option<Value> {
        loop {
            let chunk = String::from_utf8(self.chunk().await?).unwrap();
            if let Some(data) = chunk.strip_prefix("event: message\ndata: ") {
                let data = data.strip_suffix("\n\n").unwrap();
                assert!(!data.contains(['\n', '\r']), "a line break ends the data of an event: {data:?}");
                return Some(serde_json::from_str(data).unwrap());
            }
            assert_eq!(chunk, ": keep-alive\n\n");
        }
    }

    /// Reads this many bytes.
    pub(crate) async fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        within("so many bytes", self.0.read_exact(&mut bytes)).await.unwrap();
        bytes
    }

    /// Reads everything that comes until the connection ends, well or not.
    pub(crate) async fn rest(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        let _ = within("the end of the connection", self.0.read_to_end(&mut rest)).await;
        rest
    }
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(its, _)| its == name);
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The code of the error in it, if there is one.
    pub(crate) fn code(&self) -> Option<i64> {
        serde_json::from_slice::<Value>(&self.body).ok()?["error"]["code"].as_i64()
    }
}
