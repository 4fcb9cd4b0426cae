//! Single use in a handler by hand: it does its work for a state once, however often the client sends the state.

use std::convert::Infallible;
use std::slice;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use mrtr_server::extend::{HeldLease, LeaseThread, Renewal};
use mrtr_state::single_use::{LeaseKeeper, Reservation, ReserveOutcome, SingleUse, SingleUseError};
use mrtr_state::{Refusal, Timestamp};
use rmcp::ErrorData;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{RetryRound, refused};

/// The time for which a reservation holds unless it is renewed, and for which a retry waits for a running one.
const LEASE: Duration = Duration::from_secs(30);

/// The name of the step in the store's record, which has no other step.
const WORK: &str = "work";

/// The outcome of the work, as the store keeps it.
#[derive(Serialize, Deserialize)]
enum Kept<T> {
    Done(T),
    Failed(ErrorData),
}

impl<P> RetryRound<P> {
    /// Does this work once for the state that the round brought. If the client sends the state several times, one round
    /// does the work, and the others wait for its outcome and return the same. Errors are outcomes too. A state that
    /// comes back with other answers is refused.
    ///
    /// If the work began and was dropped, or the process died during it, the store cannot tell how far it came. The
    /// work does not begin again, and retries get an error that says so.
    ///
    /// ```
    /// use mrtr_rmcp::state::RetryRound;
    /// use mrtr_state::SingleUse;
    /// use rmcp::ErrorData;
    /// use rmcp::model::{CallToolResult, ContentBlock};
    ///
    /// async fn pay(round: RetryRound<u64>, store: &dyn SingleUse) -> Result<CallToolResult, ErrorData> {
    ///     let euros = *round.state();
    ///     round.once(store, async {
    ///         // Here the money leaves.
    ///         Ok(CallToolResult::success(vec![ContentBlock::text(format!("{euros} euros are paid"))]))
    ///     }).await
    /// }
    /// ```
    pub async fn once<T: Serialize + DeserializeOwned>(
        &self,
        store: &dyn SingleUse,
        work: impl Future<Output = Result<T, ErrorData>>,
    ) -> Result<T, ErrorData> {
        match self.reserve(store).await? {
            Reserved::Mine(reservation) => run(store, &reservation, work).await,
            Reserved::Before(outcome) => read(&outcome),
        }
    }

    /// Reserves the state, or waits for the round that has it.
    async fn reserve(&self, store: &dyn SingleUse) -> Result<Reserved, ErrorData> {
        let deadline = now() + LEASE;
        loop {
            let reserved = store.reserve(&self.token_use, LEASE, now()).await.map_err(|error| failed(&error))?;
            let running = match reserved {
                ReserveOutcome::Reserved(reservation, records) if records.is_empty() => {
                    return Ok(Reserved::Mine(reservation));
                }
                ReserveOutcome::Reserved(reservation, _) => {
                    store.release(&reservation, now()).await.map_err(|error| failed(&error))?;
                    return Err(in_doubt());
                }
                ReserveOutcome::Committed(outcome) => return Ok(Reserved::Before(outcome)),
                ReserveOutcome::OtherAnswers => {
                    return Err(refused(Refusal::Forged, "replayed", "it was used before, with other answers"));
                }
                ReserveOutcome::InProgress(running) => running,
            };
            if now() >= deadline {
                let message = "The same request is still being worked on; try again later";
                return Err(ErrorData::internal_error(message, None));
            }
            let lapse = running.lapses().min(deadline).since(now());
            tokio::select! {
                ended = store.ended(&running) => ended.map_err(|error| failed(&error))?,
                () = tokio::time::sleep(lapse) => {}
            }
        }
    }
}

enum Reserved {
    Mine(Reservation),
    Before(Vec<u8>),
}

/// Does the work under a reservation, which is renewed as long as it lasts, and keeps the outcome.
async fn run<T: Serialize>(
    store: &dyn SingleUse,
    reservation: &Reservation,
    work: impl Future<Output = Result<T, ErrorData>>,
) -> Result<T, ErrorData> {
    let held = hold(store, reservation);
    store.mark_started(reservation, WORK, now()).await.map_err(|error| failed(&error))?;
    let outcome = {
        let (mut work, mut renewing) = (std::pin::pin!(work), std::pin::pin!(renew(store, reservation, &held)));
        tokio::select! {
            biased;
            outcome = &mut work => outcome,
            never = &mut renewing => match never {},
        }
    };
    let kept = match &outcome {
        Ok(done) => serde_json::to_vec(&Kept::Done(done)),
        Err(error) => serde_json::to_vec(&Kept::<T>::Failed(error.clone())),
    };
    let kept = kept.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    store.commit(reservation, &kept, now()).await.map_err(|error| failed(&error))?;
    outcome
}

/// Renews a reservation for as long as this is polled, whenever the thread has not done so.
async fn renew(store: &dyn SingleUse, reservation: &Reservation, held: &HeldLease<Held>) -> Infallible {
    loop {
        tokio::time::sleep(LEASE / 3).await;
        if held.confirmed().is_some_and(|moment| moment.elapsed() < LEASE / 3) {
            continue;
        }
        let asked = Instant::now();
        match store.renew(reservation, LEASE, now()).await {
            Ok(()) => held.was_renewed(asked),
            Err(error) => not_renewed(&error),
        }
    }
}

/// Has a thread renew a reservation for as long as the returned value lives: the work may block its own thread.
fn hold(store: &dyn SingleUse, reservation: &Reservation) -> HeldLease<Held> {
    let keeper = Arc::new(Mutex::new(store.lease_keeper()));
    let held = Held { keeper, reservation: reservation.clone() };
    RENEWALS.hold(held, Instant::now(), |_| {
        tracing::error!("a reservation was lost while its work ran: the same state may be used again beside it");
    })
}

/// A reservation that a round of this process holds.
#[derive(Clone)]
struct Held {
    keeper: Arc<Mutex<Box<dyn LeaseKeeper>>>,
    reservation: Reservation,
}

impl Held {
    fn renew(&self) -> Renewal {
        let mut keeper = self.keeper.lock().unwrap_or_else(PoisonError::into_inner);
        match keeper.renew(slice::from_ref(&self.reservation), LEASE, now()).pop() {
            Some(Ok(())) => Renewal::Renewed,
            Some(Err(SingleUseError::Lost)) => Renewal::Lost,
            Some(Err(error)) => {
                not_renewed(&error);
                Renewal::Failed
            }
            None => Renewal::Failed,
        }
    }
}

fn not_renewed(error: &SingleUseError) {
    tracing::error!(%error, "a reservation could not be renewed; it lapses unless the next renewal succeeds");
}

static RENEWALS: LazyLock<LeaseThread<Held>> = LazyLock::new(|| {
    LeaseThread::new("mrtr-rmcp-renewals", LEASE, || Box::new(|held: &[Held]| held.iter().map(Held::renew).collect()))
});

fn read<T: DeserializeOwned>(outcome: &[u8]) -> Result<T, ErrorData> {
    match serde_json::from_slice(outcome) {
        Ok(Kept::Done(done)) => Ok(done),
        Ok(Kept::Failed(error)) => Err(error),
        Err(error) => {
            tracing::error!(%error, "the store for single use holds an outcome of another type");
            Err(ErrorData::internal_error("The server cannot read the outcome of this request", None))
        }
    }
}

fn in_doubt() -> ErrorData {
    let message = "This request was begun before, and how far it came is not known: it is not begun again";
    ErrorData::internal_error(message, None)
}

fn failed(error: &SingleUseError) -> ErrorData {
    if matches!(error, SingleUseError::BeforeMemory) {
        return refused(Refusal::Expired, "before_memory", BEFORE_MEMORY);
    }
    tracing::error!(%error, "the store for single use failed");
    ErrorData::internal_error("The server cannot tell whether this request was made before; try again later", None)
}

/// The reason why a state is refused that the store may have forgotten.
const BEFORE_MEMORY: &str = "the store for single use does not remember as far back, and cannot tell whether it was \
                             used: a store in memory remembers nothing from before its process began, and \
                             `SqliteSingleUse` keeps it";

fn now() -> Timestamp {
    SystemTime::now().into()
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use mrtr_schema::{RawMembers, Revision};
    use mrtr_state::single_use::MemorySingleUse;
    use mrtr_state::{AnswersDigest, Binding, JsonPayload, Sealer};

    use super::*;

    #[derive(Serialize, Deserialize)]
    struct Cart;

    impl JsonPayload for Cart {
        const KIND: &'static str = "com.example/cart";
    }

    #[tokio::test(start_paused = true)]
    async fn what_the_thread_has_renewed_a_moment_ago_is_not_renewed_beside_it() {
        let store = MemorySingleUse::new(now());
        let sealer = Sealer::this_process_only();
        let params = RawMembers::parse(r#"{"name": "pay"}"#).unwrap();
        let binding = Binding::new(Revision::V2026_07_28, "tools/call", &params).unwrap();
        let state = sealer.seal(&Cart, &binding, now()).unwrap();
        let opened = sealer.open::<Cart>(&state, &binding, now()).unwrap();
        let token_use = opened.token_use(AnswersDigest::of(None).unwrap());
        // A renewal would have it stand for longer.
        let reserved = store.reserve(&token_use, LEASE / 2, now()).await.unwrap();
        let ReserveOutcome::Reserved(reservation, _) = reserved else { panic!("it is new") };
        let lapses = async || match store.reserve(&token_use, LEASE, now()).await.unwrap() {
            ReserveOutcome::InProgress(running) => running.lapses(),
            other => panic!("{other:?}"),
        };
        let before = lapses().await;

        let thread = LeaseThread::new("test-renewals", Duration::from_millis(40), || {
            Box::new(|held: &[Held]| vec![Renewal::Renewed; held.len()])
        });
        let keeper = Arc::new(Mutex::new(store.lease_keeper()));
        let held = thread.hold(Held { keeper, reservation: reservation.clone() }, Instant::now(), |_| {});
        while held.confirmed().is_none() {
            std::thread::yield_now();
        }
        let renewing = pin!(renew(&store, &reservation, &held));
        tokio::time::timeout(LEASE, renewing).await.unwrap_err();
        assert_eq!(lapses().await, before, "it was renewed at the store too");
    }
}
