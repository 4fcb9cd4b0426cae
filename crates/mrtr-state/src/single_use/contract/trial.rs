//! Tools that the promises share: real tokens, verbs with expected answers, the moments at which they are asked, and
//! futures that run at once on whatever runtime the store needs.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use mrtr_schema::{RawMembers, Revision};

use super::super::{InProgress, Reservation, ReserveOutcome, SingleUse, SingleUseError, StepRecord};
use crate::{
    AnswersDigest, Binding, Key, KeyRing, Lifetimes, Opened, Payload, PayloadError, Principal, ProcessRandom, Random,
    Sealer, Timestamp, TokenUse,
};

pub(super) async fn reserve(store: &dyn SingleUse, token: &Token, answer: &str, now: Timestamp) -> ReserveOutcome {
    store.reserve(&token.answered(answer), LEASE, now).await.expect("the token is fresh")
}

pub(super) async fn taken_over(
    store: &dyn SingleUse,
    token: &Token,
    answer: &str,
    now: Timestamp,
) -> (Reservation, Vec<StepRecord>) {
    match reserve(store, token, answer, now).await {
        ReserveOutcome::Reserved(reservation, steps) => (reservation, steps),
        other => panic!("a token that no round holds is reserved, not {other:?}"),
    }
}

pub(super) async fn reserved(store: &dyn SingleUse, token: &Token, answer: &str, now: Timestamp) -> Reservation {
    let (reservation, steps) = taken_over(store, token, answer, now).await;
    assert_eq!(steps, [], "where no step has started there is no record");
    reservation
}

pub(super) async fn in_progress(store: &dyn SingleUse, token: &Token, answer: &str, now: Timestamp) -> InProgress {
    match reserve(store, token, answer, now).await {
        ReserveOutcome::InProgress(in_progress) => in_progress,
        other => panic!("a token that another round holds is in progress, not {other:?}"),
    }
}

/// Marks a step, and records it if it gave something.
pub(super) async fn started(store: &dyn SingleUse, reservation: &Reservation, step: &str, outcome: Option<&[u8]>) {
    store.mark_started(reservation, step, NOON).await.expect("the reservation is held");
    if let Some(outcome) = outcome {
        store.record(reservation, step, outcome, NOON).await.expect("the step has started");
    }
}

/// Renews by a keeper, while this runtime is blocked.
pub(super) fn renewed_by_keeper(
    store: &dyn SingleUse,
    reservations: &[Reservation],
    now: Timestamp,
) -> Vec<Result<(), SingleUseError>> {
    let mut keeper = store.lease_keeper();
    std::thread::scope(|scope| scope.spawn(|| keeper.renew(reservations, LEASE, now)).join())
        .expect("a keeper does not panic")
}

pub(super) async fn every_verb_is_lost(store: &dyn SingleUse, reservation: &Reservation, now: Timestamp) {
    let lost = [
        ("renew", store.renew(reservation, LEASE, now).await),
        ("mark_started", store.mark_started(reservation, "refund", now).await),
        ("record", store.record(reservation, "charge", b"0", now).await),
        ("commit", store.commit(reservation, b"unpaid", now).await),
        ("release", store.release(reservation, now).await.map(drop)),
    ];
    for (verb, outcome) in lost {
        let lost = matches!(outcome, Err(SingleUseError::Lost));
        assert!(lost, "{verb} under a reservation that no longer holds is lost, not {outcome:?}");
    }
}

/// A moment like any other.
pub(super) const NOON: Timestamp = Timestamp::from_millis(1_785_240_000_000);
pub(super) const LEASE: Duration = Duration::from_secs(30);
pub(super) const JUST_BEFORE_IT_LAPSES: Timestamp = Timestamp::from_millis(NOON.as_millis() + 29_999);
/// A time at which a reservation of noon has lapsed, and its token is still good.
pub(super) const LATER: Timestamp = Timestamp::from_millis(NOON.as_millis() + 60_000);

/// A token that was opened, waiting for answers.
pub(super) struct Token(Opened<Nothing>);

impl Token {
    /// A token that no store has seen: its id is random.
    pub(super) fn fresh(issued: Timestamp) -> Self {
        Self::seal(&sealer("shop"), "ann", issued)
    }

    /// A token that no store has seen, and that lives so long instead of an hour.
    pub(super) fn living(life: Duration, issued: Timestamp) -> Self {
        Self::seal(&sealer("shop").lifetimes(Lifetimes { round: life, ..Lifetimes::default() }), "ann", issued)
    }

    /// Tokens that differ in audience or principal, and in nothing else.
    pub(super) fn doubles(issued: Timestamp) -> [Self; 3] {
        let mut bytes = [0; 64];
        ProcessRandom::new().fill(&mut bytes);
        let [shop, bank] = ["shop", "bank"].map(|audience| sealer(audience).random(SameBytes(bytes)));
        [Self::seal(&shop, "ann", issued), Self::seal(&shop, "bob", issued), Self::seal(&bank, "ann", issued)]
    }

    fn seal(sealer: &Sealer, subject: &str, issued: Timestamp) -> Self {
        let params = RawMembers::parse(r#"{"name": "pay"}"#).expect("it is an object");
        let binding = Binding::new(Revision::V2026_07_28, "tools/call", &params)
            .expect("the name is a string")
            .principal(Principal { issuer: "https://id.example.com", subject });
        let state = sealer.seal(&Nothing, &binding, issued).expect("it is small, and its flow begins");
        Self(sealer.open(&state, &binding, issued).expect("it was sealed a moment ago"))
    }

    /// The time at which the token stops opening.
    pub(super) fn expires(&self) -> Timestamp {
        self.0.expires()
    }

    /// The use of the token with one answer.
    pub(super) fn answered(&self, answer: &str) -> TokenUse {
        let answers = format!(r#"{{"how": {{"action": "accept", "content": {{"how": "{answer}"}}}}}}"#);
        let answers = RawMembers::parse(&answers).expect("answers of the contract are plain words");
        self.0.token_use(AnswersDigest::of(Some(&answers)).expect("it is small and in order"))
    }
}

fn sealer(audience: &str) -> Sealer {
    let key = Key::new("contract", [7; 32]).expect("the name and the length are right");
    let lifetimes = Lifetimes { round: Duration::from_hours(1), ..Lifetimes::default() };
    Sealer::new(KeyRing::new(key), audience).expect("the audience is short").lifetimes(lifetimes)
}

/// Always gives the same bytes, so that all tokens have the same id. A real sealer never makes such tokens.
struct SameBytes([u8; 64]);

impl Random for SameBytes {
    fn fill(&self, bytes: &mut [u8]) {
        let length = bytes.len();
        bytes.copy_from_slice(&self.0[..length]);
    }
}

struct Nothing;

impl Payload for Nothing {
    const KIND: &'static str = "mrtr/contract";

    fn write(&self, _: &mut Vec<u8>) -> Result<(), PayloadError> {
        Ok(())
    }

    fn read(_: &[u8]) -> Result<Self, PayloadError> {
        Ok(Self)
    }
}

/// Polls all of them until each has an output.
pub(super) async fn all<T>(futures: impl IntoIterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let mut in_progress: Vec<Pin<Box<_>>> = futures.into_iter().map(Box::pin).collect();
    let mut outputs = Vec::new();
    poll_fn(|context| {
        in_progress.retain_mut(|future| match future.as_mut().poll(context) {
            Poll::Ready(output) => {
                outputs.push(output);
                false
            }
            Poll::Pending => true,
        });
        if in_progress.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    outputs
}

/// Starts `first`, then does `second`, then waits for both.
pub(super) async fn meanwhile<A, B>(first: impl Future<Output = A>, second: impl Future<Output = B>) -> (A, B) {
    let mut first = Box::pin(first);
    let begun = poll_fn(|context| Poll::Ready(first.as_mut().poll(context))).await;
    let second = second.await;
    let first = match begun {
        Poll::Ready(first) => first,
        Poll::Pending => first.await,
    };
    (first, second)
}

/// Starts a future, and drops it wherever it is by then.
pub(super) async fn begin_and_drop(future: impl Future) {
    let mut future = Box::pin(future);
    poll_fn(|context| {
        drop(future.as_mut().poll(context));
        Poll::Ready(())
    })
    .await;
}
