//! A round whose state is used once: reserved, recorded step by step, and committed.

use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use mrtr_flow::for_server::internal_error;
use mrtr_flow::{Clock, Entries, EntryKind, JournalSink, ProtocolError, SinkError, StopReason, StopSignal};
use mrtr_schema::ErrorObject;
use mrtr_state::single_use::{Reservation, ReserveOutcome, SingleUse, SingleUseError, StepRecord};
use mrtr_state::{Refusal, TokenUse};

use super::ReservationContext;
use super::request::{CallerContext, OwnedRequest, Request};
use super::tool::ToolRound;
use crate::definition::parts::Parts;
use crate::definition::parts::{Held, LEASE};
use crate::definition::settings::Guard;
use crate::support::lease_thread::{HeldLease, LeaseThread};
use crate::support::metrics;
use crate::support::shed::LoadGuard;

/// Uses the state of a request up, away from its connection: a step that has begun is finished and recorded whether
/// or not the client still listens.
pub(super) async fn run_single_use(
    parts: &Arc<Parts>,
    tool: usize,
    request: &Request<'_>,
) -> Result<String, ErrorObject> {
    let gone = StopSignal::new();
    let listener = gone.clone();
    let context = request.context.clone().into_owned();
    let detached = Detached { parts: Arc::clone(parts), tool, request: request.to_owned()?, context };
    let running = tokio::spawn(async move { detached.run_detached(&listener).await });
    let _listening = Listening(gone);
    match running.await {
        Ok(answer) => answer,
        Err(error) => {
            tracing::error!(%error, "a single-use round panicked or was aborted");
            Err(internal_error())
        }
    }
}

/// Stops the run when it is dropped: the client does not wait for the reply any more.
struct Listening(StopSignal);

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.raise(StopReason::Disconnected);
    }
}

/// A request that continues without its connection.
struct Detached {
    parts: Arc<Parts>,
    /// The place of the tool.
    tool: usize,
    request: OwnedRequest,
    context: CallerContext<'static>,
}

impl Detached {
    async fn run_detached(self, gone: &StopSignal) -> Result<String, ErrorObject> {
        let Self { parts, tool, request, context } = self;
        let _counted = LoadGuard::begin(&parts.shared.detached);
        let request = request.request(&context)?;
        let tool = &parts.tools[tool];
        let guard = tool.settings.guard.as_ref().ok_or_else(internal_error)?;
        let mut call = ToolRound::open(&parts, tool, &request)?;
        let token_use = call.round.token_use.take().ok_or_else(internal_error)?;
        match reserve(guard, &token_use, &*parts.shared.clock, gone).await? {
            Reserved::Mine(reservation, records, asked) => {
                let lease = hold(&parts.reservations, guard, &reservation, asked, gone);
                call.run_reserved(guard, reservation, &records, (gone, &lease)).await
            }
            Reserved::Before(result) if !guard.refuse_replays => {
                metrics::replayed();
                Ok(result)
            }
            Reserved::Before(_) | Reserved::Otherwise => Err(replayed()),
        }
    }
}

/// The one error for a state that will not do.
fn replayed() -> ErrorObject {
    metrics::refused("replayed");
    let why = "it was used before, with other answers";
    tracing::info!(reason = "replayed", why, "a request state was refused");
    Refusal::Forged.to_error()
}

enum Reserved {
    /// Asked for at this moment.
    Mine(Reservation, Vec<StepRecord>, Instant),
    Before(String),
    Otherwise,
}

/// Reserves the token, and waits for the round that has it. Stops if the client is gone: then no work has begun, and
/// none must be finished.
async fn reserve(
    guard: &Guard,
    token_use: &TokenUse,
    clock: &dyn Clock,
    gone: &StopSignal,
) -> Result<Reserved, ErrorObject> {
    let deadline = clock.now() + LEASE;
    loop {
        if gone.raised().is_some() {
            return Err(internal_error());
        }
        let (now, asked) = (clock.now(), Instant::now());
        // Waits for the store even if the client goes: a reservation that was dropped half-way may stand, and keep
        // retries waiting.
        let reserved = in_time(clock, guard.store.reserve(token_use, LEASE, now)).await;
        let reserved = reserved.map_err(|error| unguarded(&error))?;
        let running = match reserved {
            ReserveOutcome::Reserved(reservation, records) => return Ok(Reserved::Mine(reservation, records, asked)),
            ReserveOutcome::Committed(result) => {
                return String::from_utf8(result).map(Reserved::Before).map_err(|_| internal_error());
            }
            ReserveOutcome::OtherAnswers => return Ok(Reserved::Otherwise),
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
            _ = gone.wait() => {}
        }
    }
}

/// Waits for a store's answer, but no longer than a reservation stands: a store that hangs must not keep the round, and
/// the client's request with it.
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
            let why = "the store for single use does not remember as far back, and cannot tell whether it was used: a \
                       store in memory remembers nothing from before its process began, and `SqliteSingleUse` keeps it";
            tracing::info!(reason = "before_memory", why, "a request state was refused");
            Refusal::Expired.to_error()
        }
        SingleUseError::Full { .. } => {
            tracing::error!(%error, "a request was refused: the store has no room or no time for it");
            let message = "The server has no room for this request now; try again later";
            ProtocolError::new(mrtr_schema::ErrorCode::INTERNAL_ERROR, message).into_object()
        }
        SingleUseError::Busy(_) => {
            tracing::warn!(
                error = mrtr_flow::for_server::with_causes(error),
                "a request was refused: the store has no room or no time for it"
            );
            ProtocolError::busy().into_object()
        }
        error => {
            tracing::error!(error = mrtr_flow::for_server::with_causes(error), "the store for single use failed");
            internal_error()
        }
    }
}

impl ToolRound<'_> {
    /// Runs the round under a reservation, which is renewed as long as it lasts.
    async fn run_reserved(
        mut self,
        guard: &Guard,
        reservation: Reservation,
        records: &[StepRecord],
        (gone, lease): (&StopSignal, &HeldLease<Held>),
    ) -> Result<String, ErrorObject> {
        let clock = Arc::clone(&self.round.shared.clock);
        let sink = Arc::new(ReservationSink {
            store: Arc::clone(&guard.store),
            reservation: reservation.clone(),
            clock: Arc::clone(&clock),
        });
        let (name, settings) = (self.round.name, self.round.settings);
        // The run has a deadline of its own; this one is for what is around it, such as extensions.
        let deadline = settings.run_deadline.unwrap_or(self.round.shared.environment.usual_deadline());
        let begun = self.round.reserve(ReservationContext { sink, stop: gone.clone() }, records);
        let answer = {
            let mut round = std::pin::pin!(async {
                begun?;
                self.run_round().await
            });
            let mut renewing = std::pin::pin!(renew(guard, &reservation, &*clock, gone, lease));
            let mut limit = clock.sleep(deadline.saturating_add(LEASE));
            loop {
                tokio::select! {
                    // Most rounds are done when they are first polled, and then need no timer.
                    biased;
                    answer = &mut round => break answer,
                    () = &mut renewing => {}
                    () = &mut limit => {
                        tracing::error!(name, "a single-use round exceeded its time limit and was ended");
                        break Err(internal_error());
                    }
                }
            }
        };
        // An error is no reply to keep: a retry continues from the record, if there is one.
        let kept = match &answer {
            Ok(result) => in_time(&*clock, guard.store.commit(&reservation, result.as_bytes(), clock.now())).await,
            Err(_) => in_time(&*clock, guard.store.release(&reservation, clock.now())).await.map(drop),
        };
        if let Err(error) = kept {
            return Err(unguarded(&error));
        }
        answer
    }
}

/// Renews a reservation for as long as this is polled, if the thread did not: the server's clock may not be the
/// machine's.
async fn renew(
    guard: &Guard,
    reservation: &Reservation,
    clock: &dyn Clock,
    gone: &StopSignal,
    lease: &HeldLease<Held>,
) {
    loop {
        clock.sleep(LEASE / 3).await;
        if lease.confirmed().is_some_and(|moment| moment.elapsed() < LEASE / 3) {
            continue;
        }
        let asked = Instant::now();
        match guard.store.renew(reservation, LEASE, clock.now()).await {
            Ok(()) => lease.was_renewed(asked),
            Err(SingleUseError::Lost) => {
                lost(gone);
                return std::future::pending().await;
            }
            Err(error) => {
                let error = mrtr_flow::for_server::with_causes(&error);
                tracing::error!(
                    error,
                    "a reservation could not be renewed; it lapses unless the next renewal succeeds"
                );
            }
        }
    }
}

fn lost(gone: &StopSignal) {
    tracing::error!("a reservation was lost while its round ran; the round stops at its next call on the flow");
    gone.raise(StopReason::LeaseLost);
}

/// Has the lease thread renew a reservation for as long as the returned value lives.
fn hold(
    thread: &LeaseThread<Held>,
    guard: &Guard,
    reservation: &Reservation,
    asked: Instant,
    gone: &StopSignal,
) -> HeldLease<Held> {
    let gone = gone.clone();
    let held = Held { store: Arc::clone(&guard.store), reservation: reservation.clone() };
    thread.hold(held, asked, move |_| lost(&gone))
}

/// Records steps with the reservation.
struct ReservationSink {
    store: Arc<dyn SingleUse>,
    reservation: Reservation,
    clock: Arc<dyn Clock>,
}

#[async_trait]
impl JournalSink for ReservationSink {
    async fn record(&self, entries: &Entries) -> Result<(), SinkError> {
        for entry in entries.iter() {
            let now = self.clock.now();
            let recorded = match entry.kind() {
                EntryKind::StepStarted => self.store.mark_started(&self.reservation, entry.name(), now).await,
                EntryKind::StepFinished | EntryKind::StepFailed | EntryKind::StepDropped | EntryKind::StepTimedOut => {
                    self.store.record(&self.reservation, entry.name(), entry.as_bytes(), now).await
                }
                // A retry brings the answers again, and finds out the rest anew.
                _ => Ok(()),
            };
            recorded.map_err(|error| match error {
                SingleUseError::Lost => SinkError::Lost,
                error => SinkError::Store(Box::new(error)),
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::time::Duration;

    use mrtr_schema::{RawMembers, Revision};
    use mrtr_state::single_use::MemorySingleUse;
    use mrtr_state::{AnswersDigest, Binding, Sealer, Timestamp};

    use super::*;
    use crate::support::lease_thread::Renewal;
    use crate::testing::FixedClock;
    use mrtr_flow::Journal;

    /// A reservation that no store knows: a renewal finds it lost.
    fn unknown_reservation(now: Timestamp) -> Reservation {
        let sealer = Sealer::this_process_only();
        let params = RawMembers::parse(r#"{"name": "pay"}"#).unwrap();
        let binding = Binding::new(Revision::V2026_07_28, "tools/call", &params).unwrap();
        let state = sealer.seal(&Journal::default(), &binding, now).unwrap();
        let opened = sealer.open::<Journal>(&state, &binding, now).unwrap();
        Reservation::new(opened.token_use(AnswersDigest::of(None).unwrap()).key(), 1)
    }

    #[tokio::test]
    async fn what_the_thread_has_renewed_a_moment_ago_is_not_renewed_beside_it() {
        let (clock, gone) = (FixedClock::default(), StopSignal::new());
        let reservation = unknown_reservation(clock.now());
        let guard = Guard::new(Arc::new(MemorySingleUse::new(clock.now())));
        let thread = LeaseThread::new("test-renewals", Duration::from_millis(40), || {
            Box::new(|held: &[Held]| vec![Renewal::Renewed; held.len()])
        });
        let held = Held { store: Arc::clone(&guard.store), reservation: reservation.clone() };
        let lease = thread.hold(held, Instant::now(), |_| {});
        while lease.confirmed().is_none() {
            std::thread::yield_now();
        }
        let mut renewing = pin!(renew(&guard, &reservation, &clock, &gone, &lease));
        for _ in 0..3 {
            assert!(futures_util::poll!(&mut renewing).is_pending());
            clock.advance(LEASE / 3);
        }
        assert!(futures_util::poll!(&mut renewing).is_pending());
        assert!(gone.raised().is_none(), "it was renewed at the store too");
    }
}
