//! One connection: it reads lines, answers each by itself, and writes all answers to one output.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use mrtr_schema::error_object::ErrorResponse;
use mrtr_schema::notifications::CancelledParams;
use mrtr_schema::{Envelope, ErrorCode, ErrorObject, RawParams, RequestId, Revision};
use mrtr_server::transport::{HeaderClaim, LegacyReply, Permit, Received, ReplyStream};
use mrtr_server::{Context, Reply, Server};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;

use super::Options;
use super::calls::{Calls, UnderWay, WaitingRequest, WaitingRequests};
use super::legacy::{self, Agreed, OpenSession, says_version};
use crate::lines::{Line, LineReader};
use crate::output::{Closed, Output};

/// Serves on a pair of streams until one of them ends or `stop` is done. Then it calls `at_end`, and waits for what
/// still runs.
pub(super) async fn serve<R, W>(
    server: Server,
    options: Options,
    (read, write): (R, W),
    stop: impl Future<Output = ()>,
    at_end: impl FnOnce(),
) -> io::Result<()>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let (output, writing) = Output::new(write, Some(options.write_timeout));
    let mut writing = pin!(writing);
    let mut connection = Connection::new(server, options, output);
    let mut lines = LineReader::new(read, options.line_limit);
    let ended = tokio::select! {
        read = connection.read(&mut lines) => read,
        () = stop => Ok(()),
        written = &mut writing => {
            // The client cannot read any answers from now on.
            at_end();
            connection.abandon();
            let _ = tokio::time::timeout(options.shutdown_timeout, connection.drain()).await;
            return if_not_gone(written);
        }
    };
    at_end();
    // The output ends when everything that can send has ended.
    let finishing = async { tokio::join!(connection.drain(), writing).1 };
    let finished = tokio::time::timeout(options.shutdown_timeout, finishing).await;
    let Ok(written) = finished else {
        tracing::warn!("the time for shutdown is over: calls that still run are dropped");
        return ended;
    };
    ended.and(if_not_gone(written))
}

/// Passes an error on, unless it says that the client has gone: connections end like that, and nothing went wrong.
fn if_not_gone(written: io::Result<()>) -> io::Result<()> {
    written.or_else(|error| if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) })
}

struct Connection {
    server: Server,
    output: Output,
    calls: Calls,
    /// The tasks of requests that run, of subscriptions, and of a session that listens.
    tasks: JoinSet<()>,
    /// The agreement with a client of the legacy era.
    agreed: Agreed,
    request_permits: Arc<Semaphore>,
    waiting: WaitingRequests,
    subscription_permits: Arc<Semaphore>,
    /// True once the connection is at its end: subscriptions would not end by themselves.
    ending: watch::Sender<bool>,
}

impl Connection {
    fn new(server: Server, options: Options, output: Output) -> Self {
        let permits = |most: usize| Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS)));
        Self {
            server,
            output,
            calls: Calls::default(),
            tasks: JoinSet::new(),
            agreed: Agreed::default(),
            request_permits: permits(options.concurrency),
            waiting: WaitingRequests::new(options.waiting),
            subscription_permits: permits(options.subscriptions),
            ending: watch::Sender::new(false),
        }
    }

    /// Takes lines until there are no more.
    async fn read<R: AsyncRead + Unpin>(&mut self, lines: &mut LineReader<R>) -> io::Result<()> {
        loop {
            let line = tokio::select! {
                permit = Arc::clone(&self.request_permits).acquire_owned(), if !self.waiting.is_empty() => {
                    self.begin_waiting(permit.expect("no code closes the semaphore")).await;
                    continue;
                }
                line = lines.next() => line?,
                // A set keeps the results of its tasks until they are taken out.
                Some(_) = self.tasks.join_next() => continue,
            };
            match line {
                None => return Ok(()),
                Some(Line::Message(message)) => self.take(message).await,
                Some(Line::TooLong) => self.refuse(None, ErrorCode::INVALID_REQUEST, "The line is too long.").await,
            }
        }
    }

    /// Begins to answer a message: the seam between the lines of a connection and its server.
    ///
    /// An answer that is given at once waits for the output: the server stops reading a client that sends much that is
    /// refused, and does not read why.
    async fn take(&mut self, message: Bytes) {
        match Envelope::parse(&message) {
            Ok(Envelope::Request { id, method, params }) => {
                let is_legacy = !says_version(&params);
                if is_legacy && method == "initialize" {
                    self.initialize(id, message).await;
                } else if is_legacy && self.agreed.session().is_some() {
                    self.begin_in_session(id, message).await;
                } else {
                    self.begin(id, message).await;
                }
            }
            Ok(Envelope::Notification { method, params }) => {
                if method == "notifications/cancelled" {
                    self.cancel(params);
                }
                self.tell_session(message).await;
            }
            // Only a session asks its client anything, and no response is answered.
            Ok(Envelope::Result { .. } | Envelope::Error { .. }) => self.tell_session(message).await,
            // The server refuses what it cannot read, in its own words.
            Err(_) => {
                if let Some(text) = self.server.handle(message, Context::new()).await.last().await {
                    let _ = self.output.send(text).await;
                }
            }
        }
    }

    /// Begins a session, or agrees on a version if the server keeps no sessions. A client that begins another session
    /// is done with the first.
    ///
    /// It is answered before the next line is read, which may belong to the session.
    async fn initialize(&mut self, id: RequestId, message: Bytes) {
        let Received::Legacy(message) = self.server.receive(message, Context::new()).await else { return };
        let reply = message.answer(None, &HeaderClaim::Missing).await;
        match &reply {
            LegacyReply::Opened { session, .. } => {
                self.agreed = Agreed::Session(OpenSession::new(&self.server, session.clone()));
            }
            LegacyReply::Message { error: None, revision, .. } => self.agreed = Agreed::Version(*revision),
            LegacyReply::Overloaded => {
                return self.refuse(Some(id), ErrorCode::INTERNAL_ERROR, "Too many sessions at a time.").await;
            }
            _ => {}
        }
        let _ = legacy::send(reply, &self.output).await;
        if let Some(session) = self.agreed.session() {
            let ending = self.ending.subscribe();
            self.tasks.spawn(legacy::listen(self.server.clone(), session.id.clone(), self.output.clone(), ending));
        }
    }

    /// Runs a request of a session beside the others, or queues it if no permit is free.
    async fn begin_in_session(&mut self, id: RequestId, message: Bytes) {
        if let Some(permit) = self.permit() {
            return self.run_in_session(message, permit).await;
        }
        let under_way = self.calls.begin(&id);
        self.wait(WaitingRequest { id, message, under_way, in_session: true }).await;
    }

    async fn run_in_session(&mut self, message: Bytes, permit: OwnedSemaphorePermit) {
        let Some(session) = self.agreed.session().map(|session| session.id.clone()) else { return };
        let permit = Permit::new(permit);
        let context = Context::new().received(self.server.arrival()).permit(&permit);
        let Received::Legacy(message) = self.server.receive(message, context).await else { return };
        let output = self.output.clone();
        let mut answering = Box::pin(async move {
            let reply = message.answer(Some(session.as_str()), &HeaderClaim::Missing).await;
            // If the output is closed, there is no client left to answer.
            let _ = legacy::send(reply, &output).await;
        });
        // After the first poll the call has begun, and a cancellation on the next line finds it.
        let polled = std::future::poll_fn(|context| Poll::Ready(answering.as_mut().poll(context))).await;
        if polled.is_pending() {
            self.tasks.spawn(answering);
        }
    }

    /// Hands a client's message to its session, if it has one.
    async fn tell_session(&self, message: Bytes) {
        let Some(session) = self.agreed.session() else { return };
        match Arc::clone(&self.request_permits).try_acquire_owned() {
            Ok(permit) => session.tell(message, Context::new().permit(&Permit::new(permit))).await,
            // An answer is never refused: the server has taken on the call that it is for.
            Err(_) => session.tell(message, Context::new()).await,
        }
    }

    /// Runs a request beside the others.
    async fn begin(&mut self, id: RequestId, message: Bytes) {
        let Some(under_way) = self.calls.begin(&id) else {
            return self.refuse(Some(id), ErrorCode::INVALID_REQUEST, "Another request has this id.").await;
        };
        match self.permit() {
            Some(permit) => self.run(message, under_way, permit),
            None => self.wait(WaitingRequest { id, message, under_way: Some(under_way), in_session: false }).await,
        }
    }

    fn run(&mut self, message: Bytes, under_way: UnderWay, permit: OwnedSemaphorePermit) {
        let answering = Answering {
            server: self.server.clone(),
            output: self.output.clone(),
            subscription_permits: Arc::clone(&self.subscription_permits),
            ending: self.ending.subscribe(),
            version: self.agreed.version(),
            under_way,
        };
        self.tasks.spawn(answering.run(message, permit));
    }

    /// A permit for a request to run, unless all are taken or others wait for one.
    fn permit(&self) -> Option<OwnedSemaphorePermit> {
        if !self.waiting.is_empty() {
            return None;
        }
        Arc::clone(&self.request_permits).try_acquire_owned().ok()
    }

    /// Has a request wait until others have ended.
    async fn wait(&mut self, request: WaitingRequest) {
        if let Err(WaitingRequest { id, .. }) = self.waiting.push(request) {
            self.refuse(Some(id), ErrorCode::INTERNAL_ERROR, "Too many requests at a time.").await;
        }
    }

    /// Runs the request that has waited longest.
    async fn begin_waiting(&mut self, permit: OwnedSemaphorePermit) {
        match self.waiting.pop() {
            // From here on, its session knows the request by its id.
            Some(WaitingRequest { message, in_session: true, .. }) => self.run_in_session(message, permit).await,
            Some(WaitingRequest { message, under_way: Some(under_way), .. }) => self.run(message, under_way, permit),
            Some(WaitingRequest { under_way: None, .. }) | None => {}
        }
    }

    fn cancel(&self, params: RawParams<'_>) {
        let params = params.read::<CancelledParams>(Revision::default().lenient());
        match params.map(|params| params.request_id) {
            Ok(Some(id)) => self.calls.cancel(&id),
            Ok(None) => tracing::debug!("a cancellation names no request"),
            Err(error) => tracing::debug!(%error, "a cancellation cannot be read"),
        }
    }

    async fn refuse(&self, id: Option<RequestId>, code: ErrorCode, why: &str) {
        // If the client is gone, it cannot be told.
        let _ = self.output.send(error(id, code, why)).await;
    }

    /// Drops the requests that run, and those that wait to.
    fn abandon(&mut self) {
        self.waiting = WaitingRequests::new(0);
        self.tasks.abort_all();
    }

    /// Ends subscriptions, and waits until all requests have ended: running, queued and detached ones.
    async fn drain(mut self) {
        self.ending.send_replace(true);
        while !self.waiting.is_empty() {
            let permit = Arc::clone(&self.request_permits).acquire_owned().await;
            self.begin_waiting(permit.expect("no code closes the semaphore")).await;
        }
        while self.tasks.join_next().await.is_some() {}
        while self.server.detached() > 0 {
            tokio::time::sleep(DRAIN_POLL).await;
        }
    }
}

/// A request that is answered.
struct Answering {
    server: Server,
    output: Output,
    subscription_permits: Arc<Semaphore>,
    ending: watch::Receiver<bool>,
    /// The version that was agreed on without a session.
    version: HeaderClaim<'static>,
    under_way: UnderWay,
}

impl Answering {
    /// Answers a request, unless its client cancels it: then it is dropped where it is.
    async fn run(mut self, message: Bytes, permit: OwnedSemaphorePermit) {
        let withdrawn = self.under_way.withdrawn.clone();
        tokio::select! {
            biased;
            () = withdrawn.wait() => {}
            // If the output is closed, there is no client left to answer.
            _ = self.answer(message, permit) => {}
        }
    }

    async fn answer(&mut self, message: Bytes, permit: OwnedSemaphorePermit) -> Result<(), Closed> {
        let permit = Permit::new(permit);
        let context = Context::new().received(self.server.arrival()).permit(&permit);
        let reply = match self.server.receive(message, context).await {
            Received::Reply(reply) => reply,
            Received::Legacy(message) => match message.answer(None, &self.version).await {
                LegacyReply::Modern(reply) => reply,
                LegacyReply::Message { body, error, .. } => Reply::Message { body, error },
                other => return legacy::send(other, &self.output).await,
            },
        };
        match reply {
            Reply::Message { body, .. } => self.send(body).await,
            Reply::Stream(messages) => self.forward(messages).await,
            Reply::Subscription(messages) => {
                drop(permit);
                self.subscribe(messages).await
            }
            _ => Ok(()),
        }
    }

    async fn send(&self, message: String) -> Result<(), Closed> {
        self.output.send_unless(message, &self.under_way.withdrawn).await
    }

    async fn forward(&self, mut messages: ReplyStream) -> Result<(), Closed> {
        while let Some(message) = messages.next().await {
            self.send(message).await?;
        }
        Ok(())
    }

    async fn subscribe(&mut self, mut messages: ReplyStream) -> Result<(), Closed> {
        let Ok(_permit) = Arc::clone(&self.subscription_permits).try_acquire_owned() else {
            let id = Some(self.under_way.id.clone());
            return self.send(error(id, ErrorCode::INTERNAL_ERROR, "Too many subscriptions at a time.")).await;
        };
        let mut ending = self.ending.clone();
        loop {
            let message = tokio::select! {
                biased;
                // This is first, since a subscription that the server has ended still has a result to send.
                message = messages.next() => message,
                _ = ending.wait_for(|ending| *ending) => None,
            };
            match message {
                Some(message) => self.send(message).await?,
                None => return Ok(()),
            }
        }
    }
}

/// An error, as JSON text.
fn error(id: Option<RequestId>, code: ErrorCode, why: &str) -> String {
    let mut response = ErrorResponse::new(ErrorObject::new(code, why));
    response.id = id;
    serde_json::to_string(&response).expect("an error is JSON")
}

/// The time between two checks whether all detached rounds have ended.
const DRAIN_POLL: Duration = Duration::from_millis(50);
