//! Questions and their answers.

use std::time::Duration;

use futures_util::future::join_all;
use mrtr_schema::tasks::TaskStatus;

use super::trial::{LEASE, NOON, Trial, ann, answer, opening, run_of};
use crate::store::{Recorded, StoreError};

pub(super) async fn a_question_is_shown_until_it_is_answered(trial: &Trial) {
    let id = trial.asking(&["role", "name", "age"]).await;
    let shown = trial.get(id).await;
    assert_eq!(shown.open, opening(&["role", "name", "age"]).opened, "questions are in the order in which they opened");
    assert_eq!((shown.record.open.len(), shown.record.status(NOON)), (3, TaskStatus::InputRequired));
    trial.clock.pass(LEASE);
    assert_eq!(trial.answer(id, &[("name", "Ann")]).await, ["name"]);
    let shown = trial.get(id).await;
    assert_eq!(shown.open, opening(&["role", "age"]).opened, "the others stay open");
    let found = (shown.record.status(NOON), shown.record.updated);
    assert_eq!(found, (TaskStatus::InputRequired, NOON + LEASE), "a partial answer is a change, and leaves it waiting");
    let taken = trial.take().await;
    assert_eq!(taken.open, opening(&["role", "age"]).opened, "an answer starts a run at once");
    let mut answered = trial.answer(id, &[("age", "7"), ("role", "cook")]).await;
    answered.sort_unstable();
    assert_eq!(answered, ["age", "role"]);
    let record = trial.get(id).await.record;
    assert_eq!((record.open.len(), record.status(NOON)), (0, TaskStatus::Working));
}

pub(super) async fn the_first_answer_to_a_key_stands(trial: &Trial) {
    let id = trial.asking(&["name", "role"]).await;
    assert_eq!(trial.answer(id, &[("name", "Ann"), ("name", "Bob")]).await, ["name"], "the first of one delivery");
    assert_eq!(trial.answer(id, &[("name", "Carl"), ("role", "cook")]).await, ["role"], "the first of two deliveries");
    let taken = trial.take().await;
    assert_eq!(taken.entries, [b"Ann".to_vec(), b"cook".to_vec()], "an answer is kept once");
}

pub(super) async fn answers_to_other_keys_change_nothing(trial: &Trial) {
    let id = trial.asking(&["name", "role", "age"]).await;
    trial.answer(id, &[("name", "Ann")]).await;
    let run = run_of(&trial.take().await);
    let retired = Recorded { retired: vec!["age".to_owned()], ..Recorded::default() };
    trial.store.park(run, retired, None).await.expect("the run has the task");
    let before = trial.get(id).await;
    assert_eq!(before.open, opening(&["role"]).opened, "a question that is not asked any more is not shown");
    trial.clock.pass(Duration::from_secs(1));
    let unknown = trial.answer(id, &[("name", "Bob"), ("age", "7"), ("", ""), ("Role", "cook")]).await;
    assert_eq!(unknown, Vec::<String>::new(), "answered, retired and unknown keys are none of the answers");
    assert_eq!(trial.answer(id, &[]).await, Vec::<String>::new());
    let after = trial.get(id).await;
    assert_eq!((after.record, after.open), (before.record, before.open), "such answers change nothing");
    trial.expect_nothing_due().await;
    trial.store.wake(id).await.expect("it has not ended");
    assert_eq!(trial.take().await.entries, [b"Ann".to_vec()], "and nothing of them is kept");
}

pub(super) async fn what_was_answered_badly_is_asked_anew_under_a_key_of_its_own(trial: &Trial) {
    let id = trial.asking(&["name", "role"]).await;
    let fresh = |key: &str| opening(&[key]).opened.remove(0);
    trial.clock.pass(Duration::from_secs(1));
    assert!(trial.store.ask_anew(id, &ann(), "name", fresh("name.2")).await.expect("it has not ended"));
    let shown = trial.get(id).await;
    assert_eq!(shown.record.open, ["name.2", "role"], "in the place of the other");
    assert_eq!(shown.open, opening(&["name.2", "role"]).opened, "and shown there");
    let found = (shown.record.status(NOON), shown.record.updated);
    assert_eq!(found, (TaskStatus::InputRequired, NOON + Duration::from_secs(1)), "it never left its status");
    trial.expect_nothing_due().await;
    assert!(!trial.store.ask_anew(id, &ann(), "name", fresh("name.3")).await.expect("it has not ended"), "once");
    assert_eq!(trial.get(id).await, shown, "a key that is not open changes nothing");
    let used = trial.store.ask_anew(id, &ann(), "role", fresh("name")).await;
    assert!(matches!(&used, Err(StoreError::KeyUsed(key)) if key == "name"), "a used key is refused, not {used:?}");
    assert_eq!(trial.answer(id, &[("name", "Bob"), ("name.2", "Ann")]).await, ["name.2"]);
    let taken = trial.take().await;
    assert_eq!((taken.entries, taken.open), (vec![b"Ann".to_vec()], opening(&["role"]).opened));
}

/// A client shows each key once: a second question under it would be answered with the answer to the first.
pub(super) async fn a_task_uses_a_key_once(trial: &Trial) {
    let run = trial.running().await;
    trial.store.record(run, opening(&["open", "answered", "retired"])).await.expect("the run has the task");
    trial.answer(run.id, &[("answered", "yes")]).await;
    let retired = Recorded { retired: vec!["retired".to_owned()], ..Recorded::default() };
    trial.store.record(run, retired).await.expect("the run has the task");
    let before = trial.get(run.id).await;
    let again = [&["open"][..], &["answered"], &["retired"], &["new", "answered"], &["twice", "twice"]];
    for keys in again {
        let recorded =
            || Recorded { entries: Some(b"kept".to_vec()), message: Some(b"said".to_vec()), ..opening(keys) };
        let outcomes =
            [trial.store.record(run, recorded()).await, trial.store.park(run, recorded(), Some(LEASE)).await];
        for outcome in outcomes {
            let used = matches!(&outcome, Err(StoreError::KeyUsed(key)) if key == keys[keys.len() - 1]);
            assert!(used, "a key that the task has used is refused, not {outcome:?}");
        }
    }
    assert_eq!(trial.get(run.id).await, before, "nothing that came with a used key is kept");
    trial.store.record(run, opening(&["new", "twice"])).await.expect("these were never used");
    trial.store.hand_over(run, Duration::ZERO).await.expect("the run has the task");
    let mut taken = trial.take().await;
    taken.used.sort_unstable();
    assert_eq!(taken.used, ["answered", "retired"], "a run is told which keys stand for nothing any more");
    assert_eq!(taken.entries, [b"yes".to_vec()], "nothing that came with a used key is kept");
    let other = trial.running().await;
    trial.store.record(other, opening(&["open"])).await.expect("another task's keys are its own");
}

pub(super) async fn of_twenty_answers_at_once_one_counts(trial: &Trial) {
    let id = trial.asking(&["name"]).await;
    let answers = (0..20).map(|number| {
        let answers = vec![answer("name", &number.to_string())];
        async move { (number, trial.store.answer(id, &ann(), answers).await.expect("it has not ended")) }
    });
    let answered = join_all(answers).await;
    let counted: Vec<_> = answered.iter().filter(|(_, keys)| !keys.is_empty()).map(|(number, _)| number).collect();
    assert_eq!(counted.len(), 1, "one of them is told that it counts");
    assert_eq!(trial.take().await.entries, [counted[0].to_string().into_bytes()], "and that one is kept");
}
