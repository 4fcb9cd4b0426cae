//! One connection of a client: it sends requests out, and hands what comes back to the calls that it is for.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mrtr_client::{
    OneWayMessage, ServerMessage, ServerNotification, ServerRequest, SessionId, TransportError, TransportRequest,
    TransportResponse,
};
use mrtr_schema::jsonrpc::Notification;
use mrtr_schema::methods::Cancelled;
use mrtr_schema::notifications::CancelledParams;
use mrtr_schema::{Envelope, Era, Json, Printable, RawMembers, RawParams, RequestId, Revision, Wire};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, watch};

use super::calls::{Calls, Event, Recipient, UnderWay};
use crate::lines::{Line, LineReader};
use crate::output::{Output, Withdrawn};

/// The end of the server's process: how it ended, once it has.
pub(super) type Exit = watch::Receiver<Option<String>>;

/// A connection to a server.
#[derive(Debug)]
pub(super) struct Connection {
    /// The id of a session over this connection: it ends with the connection.
    pub(super) session: SessionId,
    calls: Arc<Calls>,
    /// `None` once the connection is closed.
    sending: Mutex<Option<Sending>>,
}

/// The sending side: the server's input ends when all of it is gone.
#[derive(Debug, Clone)]
struct Sending {
    output: Output,
    /// The messages to send beside requests.
    asides: mpsc::UnboundedSender<Aside>,
}

/// A message beside requests, which waits for nothing.
#[derive(Debug)]
enum Aside {
    /// A request was given up.
    Cancelled(RequestId),
    /// The client is there.
    Pong(RequestId),
}

/// The side that hears the server, and may send messages beside requests.
struct Listener {
    calls: Arc<Calls>,
    asides: mpsc::WeakUnboundedSender<Aside>,
    pongs: Arc<AtomicUsize>,
}

impl Connection {
    /// Begins to read and to write, until one of them ends or the process behind it does.
    pub(super) fn open<R, W>(read: R, write: W, line_limit: usize, exit: Option<Exit>) -> Arc<Self>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let calls = Arc::new(Calls::default());
        let (output, writing) = Output::new(write, None);
        let (asides, said) = mpsc::unbounded_channel();
        let pongs = Arc::new(AtomicUsize::new(0));
        tokio::spawn(say_asides(said, output.clone(), Arc::clone(&pongs)));
        tokio::spawn(writing_until_closed(writing, Arc::clone(&calls)));
        let listener = Listener { calls: Arc::clone(&calls), asides: asides.downgrade(), pongs };
        tokio::spawn(reading_until_over(LineReader::new(read, line_limit), exit, listener));
        let session = SessionId::new(CONNECTIONS.fetch_add(1, Ordering::Relaxed).to_string());
        Arc::new(Self { session, calls, sending: Mutex::new(Some(Sending { output, asides })) })
    }

    pub(super) fn is_over(&self) -> bool {
        self.calls.is_over()
    }

    /// Closes the server's input, and fails what is under way.
    pub(super) fn close(&self) {
        self.sending.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.calls.end("the connection was closed");
    }

    /// Sends a request, reports notifications as they come, and gives the response.
    pub(super) async fn exchange(
        &self,
        request: TransportRequest<'_>,
        on_message: &mut (dyn FnMut(ServerMessage) + Send),
    ) -> Result<TransportResponse, TransportError> {
        let begins_session = request.method == "initialize";
        let is_in_session = request.revision.era() == Era::Legacy && !begins_session;
        let call = self.calls.begin(request.id, progress_token(request.message), is_in_session)?;
        let sending = self.sending.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(Sending { output, asides }) = sending else { return Err(self.closed()) };
        let withdrawn = Withdrawn::default();
        output.send_unless(request.message.to_owned(), &withdrawn).await.map_err(|_| self.closed())?;
        // From here on the server may have the request. This side must not hold the input open, so it can be closed
        // meanwhile. A request that begins a session must not be cancelled.
        let asides = (!begins_session).then(|| asides.downgrade());
        let mut sent = Sent { call, id: request.id.clone(), withdrawn, asides };
        drop(output);
        loop {
            match sent.call.next().await {
                Event::Message(message, _) => on_message(message),
                Event::Response(text) if text.len() <= request.reply_bytes => {
                    let response = TransportResponse::new(text);
                    return Ok(if begins_session { response.session(self.session.clone()) } else { response });
                }
                Event::Response(_) => {
                    let limit = request.reply_bytes;
                    return Err(TransportError::new(format!("the reply is longer than {limit} bytes")));
                }
                Event::Failed(reason) => return Err(TransportError::new(reason)),
            }
        }
    }

    /// Sends a message of the session that has no response.
    pub(super) async fn send(&self, message: OneWayMessage<'_>) -> Result<(), TransportError> {
        // The server's questions are heard from here on: it asks nothing before it hears that the session has begun.
        self.calls.begin_session();
        let sending = self.sending.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(Sending { output, .. }) = sending else { return Err(self.closed()) };
        output.send(message.message.to_owned()).await.map_err(|_| self.closed())
    }

    fn closed(&self) -> TransportError {
        TransportError::new(self.calls.over().unwrap_or_else(|| "the connection is closed".to_owned()))
    }
}

/// A request that was sent. If it is dropped without a response, the server hears of that.
struct Sent {
    call: UnderWay,
    id: RequestId,
    withdrawn: Withdrawn,
    /// `None` if the server is not to hear of it.
    asides: Option<mpsc::WeakUnboundedSender<Aside>>,
}

impl Drop for Sent {
    fn drop(&mut self) {
        if !self.call.is_open() {
            return;
        }
        let Some(asides) = &self.asides else { return };
        self.withdrawn.withdraw();
        if let Some(asides) = asides.upgrade() {
            let _ = asides.send(Aside::Cancelled(self.id.clone()));
        }
    }
}

/// Returns the progress token of a request, unless it is the request's id.
fn progress_token(message: &str) -> Option<RequestId> {
    if !message.contains("progressToken") {
        return None;
    }
    let Ok(Envelope::Request { id, params, .. }) = Envelope::parse(message.as_bytes()) else { return None };
    let token = RequestId::read(params.meta().ok()??.get("progressToken")?, Revision::default().lenient()).ok()?;
    (token != id).then_some(token)
}

async fn say_asides(mut said: mpsc::UnboundedReceiver<Aside>, output: Output, pongs: Arc<AtomicUsize>) {
    while let Some(aside) = said.recv().await {
        let message = match aside {
            Aside::Cancelled(id) => {
                let mut params = CancelledParams::new();
                params.request_id = Some(id);
                let cancelled = Notification::<Cancelled>::new(params).to_json(Revision::default());
                cancelled.expect("it names its request")
            }
            Aside::Pong(id) => {
                pongs.fetch_sub(1, Ordering::Relaxed);
                serde_json::json!({ "jsonrpc": "2.0", "id": id, "result": {} }).to_string()
            }
        };
        if output.send(message).await.is_err() {
            return;
        }
    }
}

/// Writes until this side closes the output, or until writing fails: then the server is at its end, and reading ends
/// too.
async fn writing_until_closed(writing: impl Future<Output = std::io::Result<()>>, calls: Arc<Calls>) {
    if let Err(error) = writing.await {
        tracing::debug!(%error, "the server cannot be written to");
        // The reader may know a better reason: if the process has ended, it has the status.
        tokio::time::sleep(EXIT_WAIT).await;
        calls.end(&format!("the server cannot be written to: {error}"));
    }
}

/// Reads until the server closes its output or its process has ended, and fails what is left.
async fn reading_until_over<R: AsyncRead + Unpin>(mut lines: LineReader<R>, exit: Option<Exit>, listener: Listener) {
    let exited = async {
        match exit.clone() {
            Some(mut exit) => {
                // If the sender is gone, the runtime is at its end, and there is nothing left to tell.
                let _ = exit.wait_for(Option::is_some).await;
                // The reader first takes what the process wrote before it ended. Another process may hold its output
                // open.
                tokio::time::sleep(EXIT_WAIT).await;
            }
            None => std::future::pending().await,
        }
    };
    let ended = tokio::select! {
        reason = listener.read(&mut lines) => reason,
        () = exited => "the server has ended".to_owned(),
    };
    let status = async { exit?.wait_for(Option::is_some).await.ok()?.clone() };
    let status = tokio::time::timeout(EXIT_WAIT, status).await.ok().flatten();
    listener.calls.end(&status.map_or(ended, |status| format!("the server has ended: {status}")));
}

impl Listener {
    /// Hands messages to their calls until the server's output ends, and returns the reason for the end.
    async fn read<R: AsyncRead + Unpin>(&self, lines: &mut LineReader<R>) -> String {
        loop {
            match lines.next().await {
                Ok(Some(Line::Message(line))) => self.take(&line),
                Ok(Some(Line::TooLong)) => self.calls.fail_all("the server sent a message that is too long"),
                Ok(None) => return "the server has closed its output".to_owned(),
                Err(error) => return format!("the server cannot be read: {error}"),
            }
        }
    }

    fn take(&self, line: &[u8]) {
        match Envelope::parse(line) {
            Ok(Envelope::Result { id, .. }) => self.calls.respond(Some(&id), text(line)),
            Ok(Envelope::Error { id, .. }) => self.calls.respond(id.as_ref(), text(line)),
            Ok(Envelope::Notification { method, params }) => {
                let recipient = recipient(&params);
                let notification = ServerNotification { method: method.into_owned(), params: all_params(line) };
                self.calls.notify(&recipient, ServerMessage::Notification(notification), line.len());
            }
            Ok(Envelope::Request { id, method, .. }) if self.calls.has_session() => {
                let request = ServerRequest { id, method: method.into_owned(), params: all_params(line) };
                if request.method == "ping" { self.pong(request.id) } else { self.calls.ask(request, line.len()) }
            }
            // No server of the modern era sends a request, and the client answers none.
            Ok(Envelope::Request { method, .. }) => {
                tracing::warn!(method = %Printable::line(&method), "a request of the server was dropped");
            }
            Err(error) => tracing::warn!(%error, "the server sent a line that is not a message"),
        }
    }

    /// Says that the client is there, whether a call is under way or not. The client does not answer a server that
    /// takes no answers and asks on and on.
    fn pong(&self, id: RequestId) {
        if self.pongs.fetch_add(1, Ordering::Relaxed) >= MAX_PONGS {
            self.pongs.fetch_sub(1, Ordering::Relaxed);
        } else if let Some(asides) = self.asides.upgrade() {
            let _ = asides.send(Aside::Pong(id));
        }
    }
}

/// A line as text. It was taken apart as a message, so it is UTF-8.
fn text(line: &[u8]) -> String {
    String::from_utf8_lossy(line).into_owned()
}

fn recipient(params: &RawParams<'_>) -> Recipient {
    let meta = params.meta().ok().flatten();
    let subscription = meta.as_ref().and_then(|meta| meta.get("io.modelcontextprotocol/subscriptionId"));
    let named = params.get("progressToken").or(subscription);
    let named = named.and_then(|named| RequestId::read(named, Revision::default().lenient()).ok());
    named.map_or(Recipient::Unnamed, Recipient::Named)
}

/// The parameters of a notification, as they came.
fn all_params(line: &[u8]) -> Json {
    let empty = || Json::from(serde_json::json!({}));
    let text = std::str::from_utf8(line).unwrap_or_default();
    let Ok(message) = RawMembers::parse(text) else { return empty() };
    message.get("params").and_then(|params| Json::from_raw(params).ok()).unwrap_or_else(empty)
}

/// The number of connections that this process has begun.
static CONNECTIONS: AtomicU64 = AtomicU64::new(0);

/// The most answers to pings that wait to be written.
const MAX_PONGS: usize = 64;

/// The time to wait for the last output and the exit status of a server that has ended.
const EXIT_WAIT: Duration = Duration::from_millis(500);
