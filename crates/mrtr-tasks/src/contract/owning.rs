//! Owners of tasks: the store tells any other owner that there is no such task.

use std::time::Duration;

use mrtr_state::ProcessRandom;

use super::trial::{NOON, Trial, ann, answer, new_task, owner};
use crate::store::{Place, Run, StoreError};
use crate::{Owner, TaskId};

pub(super) async fn another_owner_finds_no_task(trial: &Trial) {
    let id = trial.asking(&["name"]).await;
    let before = trial.get(id).await;
    let bob = owner("bob");
    let nameless = Owner::new("tracker", None, None);
    for stranger in [&bob, &nameless] {
        let answers = || vec![answer("name", "Bob")];
        expect_not_found("get", &trial.store.get(id, Some(stranger)).await.map(drop));
        expect_not_found("answer", &trial.store.answer(id, stranger, answers()).await.map(drop));
        expect_not_found("answer with nothing", &trial.store.answer(id, stranger, Vec::new()).await.map(drop));
        expect_not_found("cancel", &trial.store.cancel(id, Some(stranger)).await);
        assert_eq!(trial.store.list(Some(stranger), None, 9).await.expect("it lists"), [], "a list is an owner's own");
    }
    assert_eq!(trial.get(id).await, before, "what a stranger tries changes nothing");
    trial.store.get(id, None).await.expect("the operator has no owner");
    trial.store.cancel(id, None).await.expect("the operator has no owner");
    expect_not_found("cancel once it has ended", &trial.store.cancel(id, Some(&bob)).await);

    let unknown = TaskId::random(&ProcessRandom::new());
    for (verb, outcome) in trial.every_verb_of(Run { id: unknown, fence: 1 }).await {
        expect_not_found(verb, &outcome);
    }
    expect_not_found("get", &trial.store.get(unknown, None).await.map(drop));
    expect_not_found("answer", &trial.store.answer(unknown, &ann(), Vec::new()).await.map(drop));
    expect_not_found("cancel", &trial.store.cancel(unknown, None).await);
    expect_not_found("wake", &trial.store.wake(unknown).await);
    expect_not_found("retry", &trial.store.retry(unknown).await);
}

pub(super) async fn a_list_goes_on_after_a_place(trial: &Trial) {
    let (ann, bob) = (ann(), owner("bob"));
    let mut all = Vec::new();
    for number in 0..7 {
        let owner = if number % 3 == 2 { &bob } else { &ann };
        all.push(trial.create(new_task(owner)).await);
        // The order is that of creation, whatever the clock says.
        trial.clock.set(NOON + Duration::from_secs(60 - number));
    }
    let expected = async |owner: Option<&Owner>, after: &mut Option<Place>, most| {
        let page = trial.store.list(owner, *after, most).await.expect("it lists");
        *after = page.last().map(|task| task.place).or(*after);
        page.into_iter().map(|task| task.record).collect::<Vec<_>>()
    };
    let mut after = None;
    assert_eq!(expected(None, &mut after, 3).await, all[..3], "the operator's list has the tasks of all");
    assert_eq!(expected(None, &mut after, 9).await, all[3..], "a page goes on where the last one ended");
    assert_eq!(expected(None, &mut after, 9).await, [], "after the last there is none");
    let mine: Vec<_> = all.iter().filter(|task| task.owner == ann).cloned().collect();
    let mut after = None;
    assert_eq!(expected(Some(&ann), &mut after, 2).await, mine[..2]);
    assert_eq!(expected(Some(&ann), &mut after, 0).await, []);
    let new = trial.create(new_task(&ann)).await;
    assert_eq!(expected(Some(&ann), &mut after, 9).await, [&mine[2..], &[new]].concat(), "a new task is the last");
}

fn expect_not_found(verb: &str, outcome: &Result<(), StoreError>) {
    assert!(matches!(outcome, Err(StoreError::NotFound)), "{verb}: there is no such task, not {outcome:?}");
}
