//! Acquiring tasks: which runner gets one, when, and under which fence.

use std::time::Duration;

use futures_util::future::{join, join_all};

use super::trial::{
    LEASE, NOON, TOOL, Trial, account, ann, anonymous_task, entry, flow, just_before, new_task, opening, owner, run_of,
    task_of,
};
use crate::record::TransitionError;
use crate::store::{AcquiredTask, Recorded, Run, StoreError, Trials, Turns, Wanted};
use crate::{Account, End, Owner};

pub(super) async fn those_that_waited_longest_come_first(trial: &Trial) {
    let mut created = Vec::new();
    for _ in 0..5 {
        created.push(trial.create(new_task(&ann())).await.id);
        trial.clock.pass(Duration::from_secs(1));
    }
    let (first, second) = (trial.acquire(2).await, trial.acquire(9).await);
    assert_eq!(first.next, Some(Duration::ZERO), "there is more at once");
    let taken: Vec<_> = first.tasks.iter().chain(&second.tasks).map(|task| task.record.id).collect();
    assert_eq!(taken, created, "each is taken once, and those that waited longest first");
    assert!(first.tasks.iter().all(|task| task.record.fence == 1), "the first run has the first fence");
    let none = trial.acquire(9).await;
    assert_eq!((none.tasks.len(), none.next), (0, Some(LEASE)), "there may be more when a lease ends");
}

pub(super) async fn only_tools_that_are_wanted_are_taken(trial: &Trial) {
    for tool in ["index", "post", "charge"] {
        trial.create(task_of(&ann(), flow(), tool)).await;
    }
    let nothing = trial.acquire_of(&[], 9).await;
    assert_eq!((nothing.tasks.len(), nothing.next), (0, None), "an instance without tools takes nothing");
    assert_eq!(trial.acquire_of(&["other"], 9).await.next, None, "what it does not serve is no work to come");
    let acquired = trial.acquire_of(&["charge", "index", "charge"], 9).await;
    let mut tools: Vec<_> = acquired.tasks.iter().map(|task| task.record.tool.as_str()).collect();
    tools.sort_unstable();
    assert_eq!(tools, ["charge", "index"], "tasks of tools that are served are taken, and no others");
    assert_eq!(trial.acquire_of(&["post"], 0).await.next, Some(Duration::ZERO), "asked for none, it says what is due");
}

pub(super) async fn of_twenty_runners_at_once_one_has_a_task(trial: &Trial) {
    trial.create(new_task(&ann())).await;
    let acquired = join_all((0..20).map(|_| trial.acquire(3))).await;
    assert_eq!(acquired.iter().map(|acquired| acquired.tasks.len()).sum::<usize>(), 1, "one runner has the task");
}

pub(super) async fn of_two_instances_at_once_one_has_a_task(here: &Trial, there: &Trial) {
    for _ in 0..20 {
        here.create(new_task(&ann())).await;
        let (one, other) = join(here.acquire(1), there.acquire(1)).await;
        let taken: Vec<_> = one.tasks.iter().chain(&other.tasks).map(|task| task.record.fence).collect();
        assert_eq!(taken, [1], "one instance has the task");
    }
}

pub(super) async fn a_task_that_waits_is_not_taken(trial: &Trial) {
    let id = trial.asking(&["name"]).await;
    let nothing = trial.acquire(9).await;
    assert_eq!((nothing.tasks.len(), nothing.next), (0, None), "a task that waits for an answer is no work to come");
    trial.clock.pass(LEASE * 10);
    trial.expect_nothing_due().await;
    trial.store.wake(id).await.expect("it has not ended");
    let taken = trial.take().await;
    assert_eq!((taken.record.fence, taken.open), (2, opening(&["name"]).opened), "it is woken, and its question stays");
}

pub(super) async fn a_task_is_looked_at_again_when_its_run_said_so(trial: &Trial) {
    let run = trial.running().await;
    let soon = Duration::from_secs(2);
    trial.store.park(run, Recorded::default(), Some(soon)).await.expect("the run has the task");
    let nothing = trial.acquire(9).await;
    assert_eq!((nothing.tasks.len(), nothing.next), (0, Some(soon)), "it is told how soon there is work");
    trial.clock.pass(soon);
    trial.take().await;
}

pub(super) async fn a_lapsed_lease_is_taken_over_with_all_that_was_recorded(trial: &Trial) {
    let run = trial.running().await;
    let recorded = Recorded { opened: opening(&["name", "role"]).opened, ..entry("one") };
    trial.store.record(run, recorded).await.expect("the run has the task");
    trial.answer(run.id, &[("name", "Ann")]).await;
    trial.clock.set(just_before(NOON + LEASE));
    trial.expect_nothing_due().await;
    trial.clock.set(NOON + LEASE);
    let taken = trial.take().await;
    assert_eq!(taken.record.fence, run.fence + 1, "each run has a fence of its own");
    assert_eq!(taken.record.lost_runs, 0, "a run that recorded something new was not lost");
    assert_eq!(taken.entries, [b"one".to_vec(), b"Ann".to_vec()], "what was recorded and answered is there");
    assert_eq!((taken.open, taken.used), (opening(&["role"]).opened, vec!["name".to_owned()]));
}

pub(super) async fn a_renewed_lease_does_not_lapse(trial: &Trial) {
    let run = trial.running().await;
    for _ in 0..3 {
        trial.clock.pass(LEASE / 2);
        trial.store.renew(run, LEASE, None).await.expect("the run has the task");
        trial.expect_nothing_due().await;
    }
    trial.store.renew(run, Duration::ZERO, None).await.expect("the run has the task");
    trial.clock.set(just_before(NOON + LEASE * 5 / 2));
    trial.expect_nothing_due().await;
}

pub(super) async fn a_keeper_renews_many_while_the_runtime_is_blocked(trial: &Trial) {
    let (one, two, over) = (trial.running().await, trial.running().await, trial.running().await);
    trial.store.finish(over, End::Completed { is_error: false }, Vec::new()).await.expect("the run has the task");
    let (stranger, unknown) = (Run { fence: 7, ..one }, Run { id: new_task(&ann()).record.id, fence: 1 });
    for _ in 0..3 {
        trial.clock.pass(LEASE / 2);
        let mut keeper = trial.store.lease_keeper();
        let runs = [one, over, stranger, unknown, two];
        // This thread, which may be the only one of its runtime, does nothing else meanwhile.
        let renewed = std::thread::scope(|scope| scope.spawn(|| keeper.renew(&runs, LEASE)).join());
        let renewed = renewed.expect("a keeper does not panic");
        let expected = [
            None,
            Some(StoreError::Refused(TransitionError::Ended)),
            Some(StoreError::Refused(TransitionError::Lost)),
            Some(StoreError::NotFound),
            None,
        ];
        let texts = |error: Option<&StoreError>| error.map(ToString::to_string);
        let renewed: Vec<_> = renewed.iter().map(|renewed| texts(renewed.as_ref().err())).collect();
        let expected: Vec<_> = expected.iter().map(|expected| texts(expected.as_ref())).collect();
        assert_eq!(renewed, expected, "what came of each is told in their order");
        trial.expect_nothing_due().await;
    }
    trial.store.record(two, entry("one")).await.expect("the run has the task");
    trial.clock.pass(LEASE);
    assert_eq!(
        trial.acquire(9).await.tasks.len(),
        1,
        "the one that recorded something is taken, and the other put off"
    );
}

/// A second run beside one that is only late would repeat what that one does.
pub(super) async fn what_runs_in_the_instance_is_left_out(trial: &Trial) {
    let (late, soon) = (trial.running().await, Duration::from_secs(2));
    let other = trial.running().await;
    trial.store.hand_over(other, LEASE + soon).await.expect("the run has the task");
    trial.clock.pass(LEASE);
    let wanted = |running| Wanted {
        tools: vec![TOOL.to_owned()],
        lease: LEASE,
        most: 9,
        trials: Trials::Busy,
        running,
        turns: Turns::default(),
    };
    let acquire = async |running| trial.store.acquire(&wanted(running)).await.expect("a store that works gives work");
    let left_out = acquire(vec![late.id]).await;
    assert_eq!(
        (left_out.tasks, left_out.next),
        (Vec::new(), Some(soon)),
        "what runs here is neither taken nor to come"
    );
    trial.store.record(late, entry("late")).await.expect("none has taken it over");
    trial.clock.pass(soon);
    let taken = acquire(vec![late.id]).await.tasks;
    assert_eq!(taken.iter().map(|task| task.record.id).collect::<Vec<_>>(), [other.id], "the others are taken");
    let taken = acquire(vec![other.id]).await.tasks;
    assert_eq!(
        taken.iter().map(|task| task.record.id).collect::<Vec<_>>(),
        [late.id],
        "another instance takes it over"
    );
}

pub(super) async fn a_retry_forgets_lost_runs(trial: &Trial) {
    let run = trial.running().await;
    trial.clock.pass(LEASE);
    trial.expect_nothing_due().await;
    trial.store.retry(run.id).await.expect("it has not ended");
    let taken = trial.take().await;
    assert_eq!(taken.record.lost_runs, 0, "the operator's retry runs at once, whatever became of earlier runs");
}

pub(super) async fn what_is_handed_over_goes_on_after_a_pause(trial: &Trial) {
    let run = trial.running().await;
    let pause = Duration::from_secs(3);
    trial.store.record(run, entry("one")).await.expect("the run has the task");
    trial.store.hand_over(run, pause).await.expect("the run has the task");
    let nothing = trial.acquire(9).await;
    assert_eq!((nothing.tasks.len(), nothing.next), (0, Some(pause)));
    trial.expect_refused(run, TransitionError::Lost).await;
    trial.clock.pass(pause);
    let taken = trial.take().await;
    let found = (taken.record.lost_runs, taken.record.fence, taken.entries.len());
    assert_eq!(found, (0, run.fence + 1, 1), "a run that hands over is not lost, and neither is what it recorded");
    trial.store.hand_over(run_of(&taken), Duration::ZERO).await.expect("the run has the task");
    let again = trial.acquire(1).await;
    assert_eq!(again.tasks.len(), 1, "without a pause it goes on at once");
}

/// An owner with many tasks keeps no other waiting: each gets one before any gets its second.
pub(super) async fn owners_come_in_turns(trial: &Trial) {
    let names = ["ann", "bob", "carl"];
    for (name, number) in names.into_iter().zip([9, 2, 1]) {
        for _ in 0..number {
            trial.create(new_task(&owner(name))).await;
        }
    }
    let mut turn = None;
    let mut one_by_one = Vec::new();
    for _ in 0..3 {
        let acquired = trial.ask_in_turns(1, Turns::new(turn, 16, [])).await;
        turn = acquired.turn;
        one_by_one.extend(owners(&acquired.tasks));
    }
    one_by_one.sort_unstable();
    assert_eq!(one_by_one, names.map(owner), "each has its turn");
    let acquired = trial.ask_in_turns(4, Turns::new(turn, 16, [])).await;
    let count = |name| owners(&acquired.tasks).iter().filter(|taken| **taken == owner(name)).count();
    assert_eq!((count("ann"), count("bob"), count("carl")), (3, 1, 0), "those who have no more give their turns up");
    assert_eq!(trial.ask_in_turns(99, Turns::default()).await.tasks.len(), 5, "and the rest is given in any case");
}

/// The turns name what each owner runs. Its other tasks wait, and do not count as work to come.
pub(super) async fn owners_that_have_enough_are_left_out(trial: &Trial) {
    for _ in 0..20 {
        trial.create(new_task(&ann())).await;
    }
    let first = trial.ask_in_turns(16, Turns::new(None, 16, [])).await;
    assert_eq!(first.tasks.len(), 12, "the last quarter of the workers is for others");
    let running = || first.tasks.iter().map(|task| task.record.account.clone());
    let nothing = trial.ask_in_turns(4, Turns::new(first.turn, 16, running())).await;
    assert_eq!((nothing.tasks.len(), nothing.next), (0, None), "what waits for a worker is no work to come");
    for _ in 0..5 {
        trial.create(new_task(&owner("bob"))).await;
    }
    let others = trial.ask_in_turns(4, Turns::new(nothing.turn, 16, running())).await;
    assert_eq!(owners(&others.tasks), vec![owner("bob"); 2], "another has half of what is left");
    let again = trial.ask_in_turns(3, Turns::new(others.turn, 16, running().take(3))).await;
    assert_eq!(again.tasks.len(), 3, "who has few gets more");
}

/// Owners whose tasks are not due delay another owner's due task only for as long as it takes to pass them.
pub(super) async fn owners_beyond_those_that_are_looked_at_come_in_their_turn(trial: &Trial) {
    let owners = (0..150).map(|number| owner(&format!("owner {number}")));
    for owner in owners.clone() {
        trial.create(new_task(&owner)).await;
    }
    let (mut taken, mut turn) = (0, None);
    while taken < 150 {
        let acquired = trial.ask_in_turns(150, Turns::new(turn, usize::MAX, [])).await;
        assert_ne!(acquired.tasks, [], "all of them are due");
        (taken, turn) = (taken + acquired.tasks.len(), acquired.turn);
    }
    for owner in owners.step_by(37) {
        trial.create(new_task(&owner)).await;
        let mut turn = None;
        let mut looks = 0;
        loop {
            let acquired = trial.ask_in_turns(1, Turns::new(turn, 16, [Account::from(&ann())])).await;
            turn = acquired.turn;
            looks += 1;
            if acquired.tasks.len() == 1 {
                break;
            }
            assert!(looks < 4, "{owner} comes within as many looks as pass all owners");
        }
    }
}

/// Accounts of one owner come in turns, as owners do, and the runs of one leave the other its part.
pub(super) async fn accounts_of_one_owner_come_in_turns(trial: &Trial) {
    for (address, number) in [("192.0.2.1", 20), ("192.0.2.2", 2)] {
        for _ in 0..number {
            trial.create(anonymous_task(address)).await;
        }
    }
    let accounts = |tasks: &[AcquiredTask]| tasks.iter().map(|task| task.record.account.clone()).collect::<Vec<_>>();
    let first = trial.ask_in_turns(2, Turns::new(None, 16, [])).await;
    let mut taken = accounts(&first.tasks);
    taken.sort_unstable();
    assert_eq!(taken, ["192.0.2.1", "192.0.2.2"].map(account), "each has its turn");
    let running = vec![account("192.0.2.1"); 12];
    let others = trial.ask_in_turns(4, Turns::new(first.turn, 16, running)).await;
    assert_eq!(accounts(&others.tasks), [account("192.0.2.2")], "the last quarter of the workers is for others");
}

fn owners(tasks: &[AcquiredTask]) -> Vec<Owner> {
    tasks.iter().map(|task| task.record.owner.clone()).collect()
}
