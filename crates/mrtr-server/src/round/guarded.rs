//! A round whose state is redeemed once: claimed, recorded step by step, and committed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use mrtr_schema::{Envelope, ErrorObject};
use mrtr_state::single_use::{Reservation, ReserveOutcome, SingleUse, SingleUseError, StepRecord};
use mrtr_state::{AnswersDigest, Refusal, TokenUse};
use tokio::sync::Notify;

use super::Watch;
use super::call_tool::Call;
use crate::clock::Clock;
use crate::dispatch::{Request, internal_error};
use crate::notify::Notifier;
use crate::run::{Entry, JournalSink, SinkError};
use crate::shed::Running;
use crate::tool::Guard;
use crate::{Context, ProtocolError, Server, metrics};

/// How long a claim stands unless it is renewed, and how long a retry waits for one that runs.
const LEASE: Duration = Duration::from_secs(30);

/// Redeems the state of a request, away from its connection: a step that has begun is finished and recorded whether
/// or not anybody still listens.
pub(super) async fn redeem(server: &Server, request: &Request<'_>) -> Result<String, ErrorObject> {
    let gone = Gone::default();
    let listener = gone.clone();
    let (server, body, context) = (server.clone(), request.body.clone(), request.context.clone().into_owned());
    let notifier = request.notifier.clone();
    let running = tokio::spawn(async move {
        let _detached = Running::begin(&server.0.shared.detached);
        redeem_detached(&server, &body, &context, notifier, &listener).await
    });
    let _listening = Listening(gone);
    match running.await {
        Ok(answer) => answer,
        Err(error) => {
            tracing::error!(%error, "a guarded round did not end as it should");
            Err(internal_error())
        }
    }
}

/// Whether nobody waits for the reply any more.
#[derive(Clone, Default)]
struct Gone {
    flag: Arc<AtomicBool>,
    noticed: Arc<Notify>,
}

/// Says so when it is dropped.
struct Listening(Gone);

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.flag.store(true, Ordering::Release);
        self.0.noticed.notify_one();
    }
}

async fn redeem_detached(
    server: &Server,
    body: &Bytes,
    context: &Context<'_>,
    notifier: Option<Notifier>,
    gone: &Gone,
) -> Result<String, ErrorObject> {
    let Ok(Envelope::Request { method, params, .. }) = Envelope::parse(body) else { return Err(internal_error()) };
    let request = Request { body, method, params, context, notifier };
    let capabilities = request.declared()?.capabilities;
    let name = request.params.text("name").ok().flatten().unwrap_or_default();
    let tool = server.0.tools.get(&*name).ok_or_else(internal_error)?;
    let guard = tool.settings.guard.as_ref().ok_or_else(internal_error)?;
    let call = Call::read(server, tool, &request, &capabilities)?;
    let redemption = call.redemption()?;
    let clock = &*server.0.shared.clock;
    match claim(guard, &redemption, clock, gone).await? {
        Redeemed::Mine(holder, records) => call.hold(guard, holder, records, gone).await,
        Redeemed::Before(result) if !guard.refuse_replays => {
            metrics::replayed();
            Ok(result)
        }
        Redeemed::Before(_) | Redeemed::Otherwise => Err(replayed()),
    }
}

/// The one error for a state that will not do.
fn replayed() -> ErrorObject {
    metrics::refused("replayed");
    tracing::info!(reason = "replayed", "a request state was refused");
    Refusal::Forged.to_error()
}

enum Redeemed {
    Mine(Reservation, Vec<StepRecord>),
    Before(String),
    Otherwise,
}

/// Claims, and waits for the round that has the claim, unless the client is gone: then nothing has begun, and nothing
/// need be finished.
async fn claim(guard: &Guard, redemption: &TokenUse, clock: &dyn Clock, gone: &Gone) -> Result<Redeemed, ErrorObject> {
    let deadline = clock.now() + LEASE;
    loop {
        if gone.flag.load(Ordering::Acquire) {
            return Err(internal_error());
        }
        let now = clock.now();
        // To the end, also when the client goes: a claim that was dropped half-way may stand, and keep retries waiting.
        let claimed = in_time(clock, guard.store.reserve(redemption, LEASE, now)).await;
        let claimed = claimed.map_err(|error| unguarded(&error))?;
        let running = match claimed {
            ReserveOutcome::Reserved(holder, records) => return Ok(Redeemed::Mine(holder, records)),
            ReserveOutcome::Committed(result) => {
                return String::from_utf8(result).map(Redeemed::Before).map_err(|_| internal_error());
            }
            ReserveOutcome::OtherAnswers => return Ok(Redeemed::Otherwise),
            ReserveOutcome::InProgress(running) => running,
        };
        if now >= deadline {
            let message = "The same request is still being worked on; try again later";
            return Err(ProtocolError::new(mrtr_schema::ErrorCode::INTERNAL_ERROR, message).into_object());
        }
        let lapse = running.lapses().min(deadline).since(now);
        tokio::select! {
            ended = guard.store.ended(&running) => ended.map_err(|error| unguarded(&error))?,
            () = clock.sleep(lapse) => {}
            () = gone.noticed.notified() => {}
        }
    }
}

/// What a store says, unless it takes longer than a claim stands: a store that hangs must not keep the round, and the
/// client's request with it.
async fn in_time<T>(
    clock: &dyn Clock,
    verb: impl Future<Output = Result<T, SingleUseError>>,
) -> Result<T, SingleUseError> {
    tokio::select! {
        biased;
        done = verb => done,
        () = clock.sleep(LEASE) => Err(SingleUseError::Store(format!("the store took longer than {LEASE:?}").into())),
    }
}

fn unguarded(error: &SingleUseError) -> ErrorObject {
    match error {
        SingleUseError::BeforeMemory => {
            tracing::info!(reason = "before_memory", "a request state was refused");
            Refusal::Expired.to_error()
        }
        SingleUseError::Full { .. } => {
            tracing::error!(%error, "a request was turned away");
            let message = "The server has no room for this request now; try again later";
            ProtocolError::new(mrtr_schema::ErrorCode::INTERNAL_ERROR, message).into_object()
        }
        error => {
            tracing::error!(error = crate::failure::with_causes(error), "the store for single use failed");
            internal_error()
        }
    }
}

impl Call<'_> {
    fn redemption(&self) -> Result<TokenUse, ErrorObject> {
        let round = &self.round;
        let now = round.server.0.shared.clock.now();
        let binding = round.binding()?;
        let opened = round.open(&binding, now)?.ok_or_else(internal_error)?;
        let answers = AnswersDigest::of(round.answers.as_ref());
        let answers = answers.map_err(|error| ProtocolError::invalid_params(error.to_string()).into_object())?;
        Ok(opened.token_use(answers))
    }

    /// Runs the round under a claim, which is renewed as long as it lasts.
    async fn hold(
        &self,
        guard: &Guard,
        holder: Reservation,
        records: Vec<StepRecord>,
        gone: &Gone,
    ) -> Result<String, ErrorObject> {
        let clock = Arc::clone(&self.round.server.0.shared.clock);
        let sink =
            Arc::new(ClaimSink { store: Arc::clone(&guard.store), holder: holder.clone(), clock: Arc::clone(&clock) });
        let replayed: Vec<_> = records
            .into_iter()
            .map(|StepRecord { name, outcome, .. }| (name, outcome.and_then(|bytes| String::from_utf8(bytes).ok())))
            .collect();
        let watch = Watch { sink, gone: Arc::clone(&gone.flag), replayed };
        let answer = {
            let mut round = std::pin::pin!(self.play(Some(watch)));
            let mut renewing = std::pin::pin!(renew(guard, &holder, &*clock, gone));
            // The run has a deadline of its own; this one is for what is around it, such as extensions.
            let deadline = self.round.settings.run_deadline.unwrap_or(self.round.server.0.shared.deadline);
            let mut limit = clock.sleep(deadline + LEASE);
            loop {
                tokio::select! {
                    answer = &mut round => break answer,
                    () = gone.noticed.notified() => {}
                    () = &mut renewing => {}
                    () = &mut limit => {
                        tracing::error!(name = self.round.name, "a guarded round took longer than it may, and was ended");
                        break Err(internal_error());
                    }
                }
            }
        };
        // An error is no reply to keep: whoever comes again goes on from the record, if there is one.
        let kept = match &answer {
            Ok(result) => in_time(&*clock, guard.store.commit(&holder, result.as_bytes(), clock.now())).await,
            Err(_) => in_time(&*clock, guard.store.release(&holder, clock.now())).await.map(drop),
        };
        if let Err(error) = kept {
            return Err(unguarded(&error));
        }
        answer
    }
}

/// Renews a claim for as long as this is polled.
async fn renew(guard: &Guard, holder: &Reservation, clock: &dyn Clock, gone: &Gone) {
    loop {
        clock.sleep(LEASE / 3).await;
        match guard.store.renew(holder, LEASE, clock.now()).await {
            Ok(()) => {}
            Err(SingleUseError::Lost) => {
                tracing::error!("a claim was lost while its round ran; the round stops at its next call on the flow");
                gone.flag.store(true, Ordering::Release);
                gone.noticed.notify_one();
                return std::future::pending().await;
            }
            Err(error) => {
                let error = crate::failure::with_causes(&error);
                tracing::error!(error, "a claim could not be renewed; it lapses unless the next renewal succeeds");
            }
        }
    }
}

/// Records steps with the claim.
struct ClaimSink {
    store: Arc<dyn SingleUse>,
    holder: Reservation,
    clock: Arc<dyn Clock>,
}

#[async_trait]
impl JournalSink for ClaimSink {
    async fn record(&self, entry: Entry<'_>) -> Result<(), SinkError> {
        let now = self.clock.now();
        let recorded = match entry {
            Entry::StepStarted { step } => self.store.mark_started(&self.holder, step, now).await,
            Entry::StepFinished { step, outcome } => {
                self.store.record(&self.holder, step, outcome.as_bytes(), now).await
            }
        };
        recorded.map_err(|error| match error {
            SingleUseError::Lost => SinkError::Lost,
            error => SinkError::Store(Box::new(error)),
        })
    }
}
