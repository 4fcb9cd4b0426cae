//! The writes of a run, and what later runs get back of them.

use std::time::Duration;

use super::trial::{LEASE, NOON, TTL, Trial, ann, answer, entry, new_task, opening, run_of};
use crate::End;
use crate::record::TransitionError;
use crate::store::{NewTask, Recorded, Run, StoreError};

pub(super) async fn a_run_that_was_replaced_changes_nothing(trial: &Trial) {
    let slow = trial.running().await;
    trial.store.record(slow, Recorded { opened: opening(&["name"]).opened, ..entry("one") }).await.expect("it runs");
    trial.clock.pass(LEASE);
    let quick = run_of(&trial.take().await);
    trial.expect_refused(slow, TransitionError::Lost).await;
    let used = trial.store.record(slow, opening(&["name"])).await;
    assert!(
        matches!(used, Err(StoreError::Refused(TransitionError::Lost))),
        "it is lost before all else, not {used:?}"
    );
    trial.store.record(quick, entry("two")).await.expect("the run that replaced it has the task");
    trial.store.hand_over(quick, Duration::ZERO).await.expect("the run has the task");
    let taken = trial.take().await;
    assert_eq!(taken.entries, [b"one".to_vec(), b"two".to_vec()], "no entry of a run that was replaced is kept");
    assert_eq!((taken.open, taken.used), (opening(&["name"]).opened, Vec::new()), "and no question");
}

/// Compacting keeps the entries of a flow that repeats itself from growing for ever. It must not lose an answer that
/// comes meanwhile.
pub(super) async fn entries_that_say_no_more_than_others_make_room_for_them(trial: &Trial) {
    let id = trial.asking(&["name"]).await;
    trial.store.wake(id).await.expect("it has not ended");
    let run = run_of(&trial.take().await);
    for entries in ["one", "two"] {
        trial.store.record(run, entry(entries)).await.expect("the run has the task");
    }
    trial.store.hand_over(run, Duration::ZERO).await.expect("the run has the task");
    let taken = trial.take().await;
    trial.answer(id, &[("name", "Ann")]).await;
    let before = trial.get(id).await;
    let compacted = trial.store.compact(run_of(&taken), taken.entries.len(), b"both".to_vec()).await;
    compacted.expect("the run has the task");
    trial.store.compact(run_of(&taken), 0, b"none".to_vec()).await.expect("the run has the task");
    let stale = trial.store.compact(run, 1, b"lost".to_vec()).await;
    assert!(matches!(stale, Err(StoreError::Refused(TransitionError::Lost))), "a run that was replaced, not {stale:?}");
    assert_eq!(trial.get(id).await, before, "nothing of it is seen from outside");
    trial.store.record(run_of(&taken), entry("three")).await.expect("the run has the task");
    trial.store.hand_over(run_of(&taken), Duration::ZERO).await.expect("the run has the task");
    let entries = [&b"both"[..], b"Ann", b"three"].map(<[u8]>::to_vec);
    assert_eq!(trial.take().await.entries, entries, "in their order, with what came since");
}

pub(super) async fn a_run_that_gave_its_task_up_changes_nothing(trial: &Trial) {
    let run = trial.running().await;
    trial.store.park(run, opening(&["name"]), None).await.expect("the run has the task");
    trial.expect_refused(run, TransitionError::Lost).await;
    trial.expect_nothing_due().await;
    let unknown = Run { fence: run.fence + 1, ..run };
    trial.expect_refused(unknown, TransitionError::Lost).await;
}

/// Losing what the run did would leave an effect in doubt for nothing.
pub(super) async fn a_late_run_that_none_replaced_may_still_say_what_it_did(trial: &Trial) {
    let run = trial.running().await;
    trial.clock.pass(LEASE * 2);
    trial.store.record(run, entry("late")).await.expect("no other run has the task");
    trial.store.renew(run, LEASE, None).await.expect("no other run has the task");
    trial.expect_nothing_due().await;
    trial.store.finish(run, End::Completed { is_error: true }, b"late".to_vec()).await.expect("the run has the task");
    trial.expect_end(run.id, End::Completed { is_error: true }, Some(b"late")).await;
}

pub(super) async fn entries_come_back_in_their_order_with_answers_between_them(trial: &Trial) {
    trial.create(NewTask { entries: Some(b"before".to_vec()), ..new_task(&ann()) }).await;
    let run = run_of(&trial.take().await);
    trial.store.record(run, Recorded { opened: opening(&["b", "a"]).opened, ..entry("one") }).await.expect("it runs");
    trial.answer(run.id, &[("a", "A")]).await;
    trial.store.record(run, entry("two")).await.expect("the run has the task");
    trial.answer(run.id, &[("b", "B")]).await;
    trial.store.park(run, entry("three"), None).await.expect("the run has the task");
    let taken = trial.take().await;
    let entries: Vec<_> = taken.entries.iter().map(|entry| String::from_utf8_lossy(entry)).collect();
    assert_eq!(
        entries,
        ["before", "one", "A", "two", "B", "three"],
        "entries are in the order in which they were kept"
    );
}

pub(super) async fn large_and_empty_bytes_come_back_as_they_were(trial: &Trial) {
    let large: Vec<u8> = (0..256 * 1024_u32).map(|number| number.to_le_bytes()[1]).collect();
    for bytes in [large, Vec::new()] {
        let call = NewTask { call: bytes.clone(), entries: Some(bytes.clone()), ..new_task(&ann()) };
        trial.create(call).await;
        let taken = trial.take().await;
        assert!(taken.call == bytes && taken.entries == [bytes.clone()], "what was called and is known comes back");
        let run = run_of(&taken);
        let mut recorded = opening(&["name"]);
        recorded.opened[0].body.clone_from(&bytes);
        (recorded.entries, recorded.message) = (Some(bytes.clone()), Some(bytes.clone()));
        trial.store.record(run, recorded).await.expect("the run has the task");
        let shown = trial.get(run.id).await;
        assert!(shown.open[0].body == bytes && shown.message.as_ref() == Some(&bytes), "what is shown comes back");
        trial.store.hand_over(run, Duration::ZERO).await.expect("the run has the task");
        let taken = trial.take().await;
        assert!(taken.entries == [bytes.clone(), bytes.clone()], "an entry comes back");
        trial.store.finish(run_of(&taken), End::Failed, bytes.clone()).await.expect("the run has the task");
        assert!(trial.get(run.id).await.result == Some(bytes), "a result comes back");
    }
}

pub(super) async fn what_came_while_a_run_had_the_task_starts_another(trial: &Trial) {
    let run = trial.running().await;
    trial.store.record(run, opening(&["name"])).await.expect("the run has the task");
    trial.answer(run.id, &[("name", "Ann")]).await;
    trial.expect_nothing_due().await;
    trial.store.park(run, Recorded::default(), None).await.expect("the run has the task");
    let run = run_of(&trial.take().await);
    trial.store.wake(run.id).await.expect("it has not ended");
    trial.store.park(run, Recorded::default(), Some(LEASE)).await.expect("the run has the task");
    let run = run_of(&trial.take().await);
    trial.store.park(run, Recorded::default(), None).await.expect("the run has the task");
    trial.expect_nothing_due().await;
}

pub(super) async fn the_last_message_stands(trial: &Trial) {
    let run = trial.running().await;
    let saying = |message: Option<&str>| Recorded { message: message.map(Into::into), ..Recorded::default() };
    let message = async || trial.get(run.id).await.message.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    trial.store.record(run, saying(Some("one"))).await.expect("the run has the task");
    trial.store.record(run, saying(None)).await.expect("the run has the task");
    trial.store.renew(run, LEASE, None).await.expect("the run has the task");
    assert_eq!(message().await.as_deref(), Some("one"), "where nothing new is said, the last message stands");
    trial.store.renew(run, LEASE, Some(b"two".to_vec())).await.expect("the run has the task");
    assert_eq!(message().await.as_deref(), Some("two"), "a heartbeat may say something new");
    trial.store.park(run, saying(Some("three")), None).await.expect("the run has the task");
    assert_eq!(message().await.as_deref(), Some("three"));
}

pub(super) async fn a_task_lasts_as_long_as_its_run_asks(trial: &Trial) {
    let run = trial.running().await;
    let lasting = |lasts| Recorded { lasts: Some(lasts), ..Recorded::default() };
    trial.store.record(run, lasting(LEASE)).await.expect("the run has the task");
    assert_eq!(trial.get(run.id).await.record.ttl, Some(TTL), "never shorter than it was");
    trial.clock.pass(LEASE);
    trial.store.park(run, lasting(TTL * 2), None).await.expect("the run has the task");
    let record = trial.get(run.id).await.record;
    assert_eq!(record.expires(), Some(NOON + LEASE + TTL * 2), "from now on for as long as was asked");
    trial.clock.set(NOON + TTL);
    assert_eq!(trial.store.sweep(9).await.expect("it sweeps").expired, 0, "it is kept by its new end");
}

pub(super) async fn what_was_done_elsewhere_is_known_here(here: &Trial, there: &Trial) {
    let run = there.running().await;
    there.store.record(run, Recorded { opened: opening(&["name"]).opened, ..entry("one") }).await.expect("it runs");
    assert_eq!(
        here.get(run.id).await.open,
        opening(&["name"]).opened,
        "a question is shown everywhere once it is kept"
    );
    let answered = here.store.answer(run.id, &ann(), vec![answer("name", "Ann")]).await.expect("it has not ended");
    assert_eq!(answered, ["name"], "it can be answered everywhere");
    assert_eq!(there.get(run.id).await.open, [], "what was answered elsewhere is not shown any more");
    here.clock.pass(LEASE);
    let taken = here.take().await;
    assert_eq!(taken.record.fence, run.fence + 1, "fences go on");
    assert_eq!(taken.entries, [b"one".to_vec(), b"Ann".to_vec()], "and so does the journal");
    there.expect_refused(run, TransitionError::Lost).await;
    there.store.cancel(run.id, None).await.expect("it has not ended");
    here.expect_refused(run_of(&taken), TransitionError::Ended).await;
}
