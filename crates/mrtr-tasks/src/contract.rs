//! A suite that tests what every store of tasks promises. The author of a store runs it (feature `contract`).
//!
//! The suite gives the store a clock and moves it, so it needs no particular runtime and never sleeps: a store that
//! forgets to wake its waiting callers makes it hang. Where the store breaks a promise, the suite panics and says
//! which.
//!
//! A wrong `Ok` comes from a verb that had to refuse, or that has not done its work. It costs, verb by verb:
//!
//! | wrong `Ok` of | costs |
//! |---|---|
//! | `create` | a task whose handle a client has is lost, or a call runs twice |
//! | `acquire` | a task runs twice at once |
//! | `renew` | a run that was replaced continues beside the one that replaced it |
//! | `accompany` | a task that did nothing wrong is set aside |
//! | `record`, `park` | an effect is repeated, or a question is shown whose answer goes nowhere |
//! | `finish` | a result is lost, or a client gets the result of a task that it was told is cancelled |
//! | `answer` | an answer that a person gave is lost |
//! | `cancel` | work continues though a client was told that it has stopped |
//! | `get`, `list` | a stranger sees a task |
//! | `changed` that leaves a task out | a client waits for ever, and a cancelled run continues until its lease ends |

mod acquiring;
mod asking;
mod changing;
mod creating;
mod ending;
mod keeping;
mod losing;
mod owning;
mod running;
mod trial;
mod waiting;

use std::sync::Arc;

use mrtr_flow::Clock;

use crate::store::TaskStore;
use trial::Trial;

/// Checks everything that a store promises.
///
/// Before each promise it calls `make` for an empty store, which goes by the clock that it is given.
///
/// ```
/// use mrtr_tasks::contract;
/// use mrtr_tasks::store::MemoryTaskStore;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// contract::check(async |clock| MemoryTaskStore::new(clock)).await;
/// # }
/// ```
///
/// # Panics
///
/// Panics where the store breaks a promise.
pub async fn check<S: TaskStore>(make: impl AsyncFn(Arc<dyn Clock>) -> S) {
    let trial = async || Trial::of(async |clock| Arc::new(make(clock).await) as Arc<dyn TaskStore>).await;
    creating::a_task_is_kept_as_it_was_given_and_stamped_with_the_time_of_the_store(&trial().await).await;
    creating::an_owner_has_one_task_for_a_flow(&trial().await).await;
    let alone = trial().await;
    creating::of_twenty_creations_at_once_one_is_kept(&alone, &alone).await;
    creating::a_task_whose_time_is_over_is_not_open_though_none_has_noticed(&trial().await).await;
    creating::an_owner_and_a_store_keep_no_more_bytes_than_they_may(&trial().await).await;
    creating::an_owner_has_no_more_open_tasks_than_it_may(&trial().await).await;
    acquiring::those_that_waited_longest_come_first(&trial().await).await;
    creating::accounts_of_one_owner_count_apart(&trial().await).await;
    acquiring::owners_come_in_turns(&trial().await).await;
    acquiring::accounts_of_one_owner_come_in_turns(&trial().await).await;
    acquiring::owners_that_have_enough_are_left_out(&trial().await).await;
    acquiring::owners_beyond_those_that_are_looked_at_come_in_their_turn(&trial().await).await;
    acquiring::only_tools_that_are_wanted_are_taken(&trial().await).await;
    acquiring::of_twenty_runners_at_once_one_has_a_task(&trial().await).await;
    acquiring::a_task_that_waits_is_not_taken(&trial().await).await;
    acquiring::a_task_is_looked_at_again_when_its_run_said_so(&trial().await).await;
    acquiring::a_lapsed_lease_is_taken_over_with_all_that_was_recorded(&trial().await).await;
    acquiring::a_renewed_lease_does_not_lapse(&trial().await).await;
    acquiring::a_keeper_renews_many_while_the_runtime_is_blocked(&trial().await).await;
    acquiring::what_runs_in_the_instance_is_left_out(&trial().await).await;
    acquiring::a_retry_forgets_lost_runs(&trial().await).await;
    acquiring::what_is_handed_over_goes_on_after_a_pause(&trial().await).await;
    losing::a_task_that_ends_its_runners_is_set_aside_with_all_it_holds(&trial().await).await;
    losing::runs_that_had_company_are_lost_twenty_times(&trial().await).await;
    losing::a_run_that_recorded_something_is_on_trial_no_more(&trial().await).await;
    losing::one_on_trial_is_taken_at_a_time_by_a_runner_without_another(&trial().await).await;
    losing::those_on_trial_and_the_others_come_in_their_turn(&trial().await).await;
    losing::tasks_come_in_the_order_in_which_they_became_due(&trial().await).await;
    losing::one_runner_makes_room_for_what_waits_too_long(&trial().await).await;
    losing::a_task_without_a_ttl_has_its_retention_once_it_is_set_aside(&trial().await).await;
    running::a_run_that_was_replaced_changes_nothing(&trial().await).await;
    running::a_run_that_gave_its_task_up_changes_nothing(&trial().await).await;
    running::a_late_run_that_none_replaced_may_still_say_what_it_did(&trial().await).await;
    running::entries_come_back_in_their_order_with_answers_between_them(&trial().await).await;
    running::entries_that_say_no_more_than_others_make_room_for_them(&trial().await).await;
    running::large_and_empty_bytes_come_back_as_they_were(&trial().await).await;
    running::what_came_while_a_run_had_the_task_starts_another(&trial().await).await;
    running::the_last_message_stands(&trial().await).await;
    running::a_task_lasts_as_long_as_its_run_asks(&trial().await).await;
    asking::a_question_is_shown_until_it_is_answered(&trial().await).await;
    asking::the_first_answer_to_a_key_stands(&trial().await).await;
    asking::answers_to_other_keys_change_nothing(&trial().await).await;
    asking::a_task_uses_a_key_once(&trial().await).await;
    asking::what_was_answered_badly_is_asked_anew_under_a_key_of_its_own(&trial().await).await;
    asking::of_twenty_answers_at_once_one_counts(&trial().await).await;
    ending::a_task_ends_once_by_cancel_or_by_finish(&trial().await).await;
    ending::of_cancel_and_finish_at_once_one_wins(&trial().await).await;
    ending::nothing_happens_to_a_task_that_has_ended(&trial().await).await;
    ending::what_a_task_held_is_erased_when_it_ends(&trial().await).await;
    ending::a_task_whose_time_is_over_does_nothing_more(&trial().await).await;
    owning::another_owner_finds_no_task(&trial().await).await;
    owning::a_list_goes_on_after_a_place(&trial().await).await;
    keeping::a_task_whose_time_is_over_is_ended(&trial().await).await;
    keeping::a_task_is_removed_when_it_is_not_kept_any_longer(&trial().await).await;
    keeping::tasks_whose_time_is_over_stand_in_no_others_way(&trial().await).await;
    keeping::a_clock_set_back_sets_no_task_back(&trial().await).await;
    changing::every_change_after_a_cursor_is_told(&trial().await).await;
    changing::waiting_ends_with_a_change(&trial().await).await;
    changing::more_changes_than_a_store_names_leave_none_out(&trial().await).await;
}

/// Checks the further promises of a store that goes by the clock of its machine, which may be set back.
///
/// ```
/// use mrtr_tasks::contract;
/// use mrtr_tasks::store::MemoryTaskStore;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// contract::check_set_back(async |clock| MemoryTaskStore::new(clock)).await;
/// # }
/// ```
///
/// # Panics
///
/// Panics where the store breaks a promise.
pub async fn check_set_back<S: TaskStore>(make: impl AsyncFn(Arc<dyn Clock>) -> S) {
    let trial = async || Trial::of(async |clock| Arc::new(make(clock).await) as Arc<dyn TaskStore>).await;
    waiting::what_is_new_does_not_wait_for_the_clock(&trial().await).await;
    waiting::a_pause_is_no_longer_than_it_was_to_be(&trial().await).await;
    waiting::a_lost_run_delays_the_next_no_longer(&trial().await).await;
    waiting::a_lease_of_a_dead_run_ends_and_that_of_a_live_one_does_not(&trial().await).await;
    waiting::room_is_not_made_for_ever(&trial().await).await;
}

/// Checks the further promises of two values that share their tasks, such as those of two processes.
///
/// ```
/// use std::sync::Arc;
/// use mrtr_flow::Clock;
/// use mrtr_tasks::{TaskStore, contract};
///
/// /// For a store on a file: gives what opens a new one, and tries two values over it.
/// async fn two_over_one_file_are_one_store<S: TaskStore, Open: Fn() -> S>(new_file: impl Fn(Arc<dyn Clock>) -> Open) {
///     contract::check_shared(async |clock| {
///         let open = new_file(clock);
///         (open(), open())
///     })
///     .await;
/// }
/// ```
///
/// # Panics
///
/// Panics where the stores break a promise.
pub async fn check_shared<S: TaskStore>(make: impl AsyncFn(Arc<dyn Clock>) -> (S, S)) {
    let trials = async || {
        let shared = async |clock| {
            let (here, there) = make(clock).await;
            (Arc::new(here) as Arc<dyn TaskStore>, Arc::new(there) as Arc<dyn TaskStore>)
        };
        Trial::shared(shared).await
    };
    let (here, there) = trials().await;
    creating::of_twenty_creations_at_once_one_is_kept(&here, &there).await;
    let (here, there) = trials().await;
    acquiring::of_two_instances_at_once_one_has_a_task(&here, &there).await;
    let (here, there) = trials().await;
    running::what_was_done_elsewhere_is_known_here(&here, &there).await;
    let (here, there) = trials().await;
    ending::of_cancel_here_and_finish_there_one_wins(&here, &there).await;
    let (here, there) = trials().await;
    changing::waiting_here_ends_with_a_change_elsewhere(&here, &there).await;
}
