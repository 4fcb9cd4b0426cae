//! One connection of a client: requests out, and what comes back is handed to the calls that it is for.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mrtr_client::{ServerNotification, TransportError, TransportRequest, TransportResponse};
use mrtr_schema::jsonrpc::Notification;
use mrtr_schema::methods::Cancelled;
use mrtr_schema::notifications::CancelledParams;
use mrtr_schema::{Envelope, Json, Printable, RawMembers, RawParams, RequestId, Revision, Wire};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, watch};

use super::calls::{Calls, Event, Recipient, UnderWay};
use crate::lines::{Line, LineReader};
use crate::output::{Output, Withdrawn};

/// How the server's process ended, once it has.
pub(super) type Exit = watch::Receiver<Option<String>>;

/// A connection to a server.
#[derive(Debug)]
pub(super) struct Connection {
    calls: Arc<Calls>,
    /// Nothing once it is closed.
    sending: Mutex<Option<Sending>>,
}

/// What sends: the server's input ends when all of it is gone.
#[derive(Debug, Clone)]
struct Sending {
    output: Output,
    /// Requests that were given up.
    dropped: mpsc::UnboundedSender<RequestId>,
}

impl Connection {
    /// Begins to read and to write, until one of them ends or the process behind it does.
    pub(super) fn open<R, W>(read: R, write: W, line_limit: usize, exit: Option<Exit>) -> Arc<Self>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let calls = Arc::new(Calls::default());
        let (output, writing) = Output::new(write);
        let (dropped, given_up) = mpsc::unbounded_channel();
        tokio::spawn(tell_of_cancellations(given_up, output.clone()));
        tokio::spawn(writing_until_closed(writing, Arc::clone(&calls)));
        tokio::spawn(reading_until_over(LineReader::new(read, line_limit), exit, Arc::clone(&calls)));
        Arc::new(Self { calls, sending: Mutex::new(Some(Sending { output, dropped })) })
    }

    pub(super) fn is_over(&self) -> bool {
        self.calls.is_over()
    }

    /// Closes the server's input, and fails what is under way.
    pub(super) fn close(&self) {
        self.sending.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.calls.end("the connection was closed");
    }

    /// Sends a request, tells of notifications as they come, and gives the response.
    pub(super) async fn exchange(
        &self,
        request: TransportRequest<'_>,
        on_notification: &mut (dyn FnMut(ServerNotification) + Send),
    ) -> Result<TransportResponse, TransportError> {
        let call = self.calls.begin(request.id, progress_token(request.message))?;
        let sending = self.sending.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(Sending { output, dropped }) = sending else { return Err(self.closed()) };
        let withdrawn = Withdrawn::default();
        output.send_unless(request.message.to_owned(), &withdrawn).await.map_err(|_| self.closed())?;
        // From here on the server may have it. The input may be closed meanwhile: that is not put off.
        let mut sent = Sent { call, id: request.id.clone(), withdrawn, dropped: dropped.downgrade() };
        drop((output, dropped));
        loop {
            match sent.call.next().await {
                Event::Notification(notification, _) => on_notification(notification),
                Event::Response(text) if text.len() <= request.reply_bytes => return Ok(TransportResponse::new(text)),
                Event::Response(_) => {
                    let limit = request.reply_bytes;
                    return Err(TransportError::new(format!("the reply is longer than {limit} bytes")));
                }
                Event::Failed(reason) => return Err(TransportError::new(reason)),
            }
        }
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
    dropped: mpsc::WeakUnboundedSender<RequestId>,
}

impl Drop for Sent {
    fn drop(&mut self) {
        if !self.call.is_open() {
            return;
        }
        self.withdrawn.withdraw();
        if let Some(dropped) = self.dropped.upgrade() {
            let _ = dropped.send(self.id.clone());
        }
    }
}

/// The token under which a request wants to hear of progress, where that is not its id.
fn progress_token(message: &str) -> Option<RequestId> {
    if !message.contains("progressToken") {
        return None;
    }
    let Ok(Envelope::Request { id, params, .. }) = Envelope::parse(message.as_bytes()) else { return None };
    let token = RequestId::read(params.meta().ok()??.get("progressToken")?, Revision::default().lenient()).ok()?;
    (token != id).then_some(token)
}

async fn tell_of_cancellations(mut given_up: mpsc::UnboundedReceiver<RequestId>, output: Output) {
    while let Some(id) = given_up.recv().await {
        let mut params = CancelledParams::new();
        params.request_id = Some(id);
        let cancelled = Notification::<Cancelled>::new(params).to_json(Revision::default());
        if output.send(cancelled.expect("it names its request")).await.is_err() {
            return;
        }
    }
}

/// Writes until this side closes it, or until it cannot be written: then the server is at its end, and so is reading.
async fn writing_until_closed(writing: impl Future<Output = std::io::Result<()>>, calls: Arc<Calls>) {
    if let Err(error) = writing.await {
        tracing::debug!(%error, "the server cannot be written to");
        // Why, reading may know better: if the process has ended, it has its status.
        tokio::time::sleep(EXIT_WAIT).await;
        calls.end(&format!("the server cannot be written to: {error}"));
    }
}

/// Reads until the server closes its output or its process has ended, and fails what is left.
async fn reading_until_over<R: AsyncRead + Unpin>(mut lines: LineReader<R>, exit: Option<Exit>, calls: Arc<Calls>) {
    let exited = async {
        match exit.clone() {
            Some(mut exit) => {
                // If the sender is gone, the runtime is at its end, and nothing is left to be told.
                let _ = exit.wait_for(Option::is_some).await;
                // What it has written before is read first. Another process may hold its output open.
                tokio::time::sleep(EXIT_WAIT).await;
            }
            None => std::future::pending().await,
        }
    };
    let ended = tokio::select! {
        reason = read(&mut lines, &calls) => reason,
        () = exited => "the server has ended".to_owned(),
    };
    let status = async { exit?.wait_for(Option::is_some).await.ok()?.clone() };
    let status = tokio::time::timeout(EXIT_WAIT, status).await.ok().flatten();
    calls.end(&status.map_or(ended, |status| format!("the server has ended: {status}")));
}

/// Hands lines to their calls, until there are no more.
async fn read<R: AsyncRead + Unpin>(lines: &mut LineReader<R>, calls: &Calls) -> String {
    loop {
        match lines.next().await {
            Ok(Some(Line::Message(line))) => take(&line, calls),
            Ok(Some(Line::TooLong)) => calls.fail_all("the server sent a message that is too long"),
            Ok(None) => return "the server has closed its output".to_owned(),
            Err(error) => return format!("the server cannot be read: {error}"),
        }
    }
}

fn take(line: &[u8], calls: &Calls) {
    match Envelope::parse(line) {
        Ok(Envelope::Result { id, .. }) => calls.respond(Some(&id), text(line)),
        Ok(Envelope::Error { id, .. }) => calls.respond(id.as_ref(), text(line)),
        Ok(Envelope::Notification { method, params }) => {
            let recipient = recipient(&params);
            let notification = ServerNotification { method: method.into_owned(), params: all_params(line) };
            calls.notify(&recipient, notification, line.len());
        }
        // No server of the modern protocol sends one, and none is answered.
        Ok(Envelope::Request { method, .. }) => {
            tracing::warn!(method = %Printable::line(&method), "the server sent a request, which was dropped");
        }
        Err(error) => tracing::warn!(%error, "the server sent a line that is no message"),
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

/// How long to wait for what else is to be known of a server that has ended.
const EXIT_WAIT: Duration = Duration::from_millis(500);
