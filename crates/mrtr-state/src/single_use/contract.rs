//! The promises of every store for single use, as a suite that its author runs (feature `contract`).
//!
//! It needs no clock and no particular runtime, and it never sleeps: a store that forgets to wake those who wait makes
//! it hang. It panics where a promise is broken, and says which.

mod ends;
mod keeping;
mod reservations;
mod trial;

use std::time::Duration;

use super::SingleUse;
use crate::Timestamp;
use trial::NOON;

/// Checks all that a store promises.
///
/// It calls `make` before each promise, for a store that remembers since the moment it is given or longer. That may be
/// the same store each time. It must be empty when the check begins: a store rightly refuses what an earlier run made
/// it purge.
///
/// ```
/// use mrtr_state::MemorySingleUse;
/// use mrtr_state::single_use::contract;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// contract::check(async |now| MemorySingleUse::new(now)).await;
/// # }
/// ```
///
/// # Panics
///
/// Panics where the store breaks a promise.
pub async fn check<S: SingleUse>(make: impl AsyncFn(Timestamp) -> S) {
    let make = async || make(NOON).await;
    reservations::one_of_twenty_at_once_reserves(&make().await).await;
    reservations::a_reservation_is_seen_whatever_the_answers(&make().await).await;
    ends::a_commit_stands_for_its_answers_and_no_others(&make().await).await;
    ends::a_large_reply_and_an_empty_one_come_back_as_they_were(&make().await).await;
    ends::a_reservation_ends_once(&make().await).await;
    ends::a_release_without_a_step_leaves_nothing(&make().await).await;
    ends::a_release_after_a_step_leaves_its_record(&make().await).await;
    reservations::a_lapsed_reservation_is_taken_over_with_its_record(&make().await).await;
    reservations::a_lapsed_reservation_without_a_step_is_taken_over_with_any_answers(&make().await).await;
    reservations::a_lost_reservation_changes_nothing(&make().await).await;
    reservations::a_lapsed_reservation_that_was_not_taken_over_still_holds(&make().await).await;
    reservations::a_renewed_reservation_does_not_lapse(&make().await).await;
    reservations::a_keeper_renews_many_while_the_runtime_is_blocked(&make().await).await;
    ends::a_recorded_step_does_not_start_again(&make().await).await;
    ends::a_step_may_be_recorded_that_was_not_marked(&make().await).await;
    ends::the_last_record_of_a_step_stands(&make().await).await;
    ends::a_verb_that_was_dropped_half_way_does_not_come_after_the_next(&make().await).await;
    ends::records_are_in_the_order_in_which_steps_started(&make().await).await;
    ends::waiting_ends_with_the_reservation(&make().await).await;
    reservations::principals_and_audiences_are_apart(&make().await).await;
    // These make time pass: on later days, since a store that was made to purge refuses what is as old.
    keeping::an_old_entry_is_gone_and_its_token_refused(&make().await, day(1)).await;
    keeping::a_leased_entry_is_kept(&make().await, day(2)).await;
    keeping::a_purge_refuses_no_token_that_still_lives(&make().await, day(3)).await;
    keeping::a_clock_set_back_revives_no_token(&make().await, day(4)).await;
}

/// Checks the further promises of two values that share their entries, such as those of two processes.
///
/// ```
/// use mrtr_state::single_use::contract;
/// use mrtr_state::{SingleUse, Timestamp};
///
/// /// For a store on a file: gives what opens a new one, and tries two values over it.
/// async fn two_over_one_file_are_one_store<S: SingleUse, Open: Fn() -> S>(new_file: impl Fn(Timestamp) -> Open) {
///     contract::check_shared(async |now| {
///         let open = new_file(now);
///         (open(), open())
///     })
///     .await;
/// }
/// ```
///
/// # Panics
///
/// Panics where the stores break a promise.
pub async fn check_shared<S: SingleUse>(make: impl AsyncFn(Timestamp) -> (S, S)) {
    let (here, there) = make(NOON).await;
    reservations::one_of_twenty_at_once_reserves_in_one_place(&here, &there).await;
    ends::waiting_ends_with_a_reservation_elsewhere(&here, &there).await;
    reservations::what_was_done_elsewhere_is_known_here(&here, &there).await;
    keeping::a_clock_that_is_behind_revives_no_token_purged_elsewhere(&here, &there, day(1)).await;
}

/// Noon, `number` days later.
fn day(number: u64) -> Timestamp {
    NOON + Duration::from_hours(24 * number)
}
