//! A state lives as long as it was given, and neither begins early nor ends late.

use std::time::Duration;

use mrtr_state::{ALLOWED_SKEW, FlowProgress, Lifetimes, Refusal, SealError, SealOptions, Sealer, Timestamp};

use crate::common::{CALL, NOON, note, ring, sealers};

const HOUR: Duration = Duration::from_hours(1);
const DAY: Duration = Duration::from_hours(24);
const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

fn before(moment: Timestamp, duration: Duration) -> Timestamp {
    Timestamp::from_millis(moment.as_millis() - u64::try_from(duration.as_millis()).unwrap())
}

#[test]
fn a_state_opens_until_its_hour_is_over_and_not_after() {
    for sealer in sealers() {
        let state = CALL.seal(&sealer, NOON);
        let end = NOON + HOUR;
        assert!(CALL.open(&sealer, &state, before(end, MS)).is_ok());
        for late in [end, end + MS, end + SECOND, before(NOON + DAY, MS)] {
            CALL.refuses(&sealer, state.untrusted_text(), late, Refusal::Expired);
        }
    }
}

#[test]
fn no_state_outlives_its_flow() {
    for sealer in sealers() {
        let flow = sealer.begin(NOON);
        let end = NOON + DAY;
        let late = before(end, SECOND);
        let state = CALL.bind(|binding| sealer.seal_as(&note(), binding, SealOptions::new(flow), late)).unwrap();
        assert_eq!(CALL.open(&sealer, &state, before(end, MS)).unwrap().expires(), end);
        for too_late in [end, end + MS, end + SECOND, Timestamp::from_millis(u64::MAX)] {
            CALL.refuses(&sealer, state.untrusted_text(), too_late, Refusal::FlowEnded);
        }
    }
}

#[test]
fn nor_does_asking_for_longer_help() {
    for sealer in sealers() {
        let options = SealOptions::new(sealer.begin(NOON)).valid_for(30 * DAY);
        let state = CALL.bind(|binding| sealer.seal_as(&note(), binding, options, NOON)).unwrap();
        assert!(CALL.open(&sealer, &state, before(NOON + DAY, MS)).is_ok());
        CALL.refuses(&sealer, state.untrusted_text(), NOON + DAY, Refusal::FlowEnded);
    }
}

/// The server may give a flow more time when it seals; the client cannot.
#[test]
fn a_flow_that_was_given_longer_lives_longer() {
    for sealer in sealers() {
        let longer = sealer.begin(NOON).lasting_until(NOON + 7 * DAY);
        let state = CALL
            .bind(|binding| sealer.seal_as(&note(), binding, SealOptions::new(longer).valid_for(7 * DAY), NOON))
            .unwrap();
        assert!(CALL.open(&sealer, &state, before(NOON + 7 * DAY, MS)).is_ok());
        CALL.refuses(&sealer, state.untrusted_text(), NOON + 7 * DAY, Refusal::FlowEnded);
    }
}

#[test]
fn lifetimes_may_be_as_long_as_durations_are() {
    let for_ever = Lifetimes { round: Duration::MAX, flow: Duration::MAX, ..Lifetimes::default() };
    for sealer in sealers() {
        let sealer = sealer.lifetimes(for_ever);
        let state = CALL.seal(&sealer, NOON);
        assert!(CALL.open(&sealer, &state, NOON + 365_000 * DAY).is_ok());
        CALL.refuses(&sealer, state.untrusted_text(), Timestamp::from_millis(u64::MAX), Refusal::FlowEnded);
    }
}

#[test]
fn a_clock_may_be_a_minute_ahead_and_no_more() {
    assert_eq!(ALLOWED_SKEW, Duration::from_mins(1));
    for sealer in sealers() {
        let state = CALL.seal(&sealer, NOON);
        assert!(CALL.open(&sealer, &state, before(NOON, ALLOWED_SKEW)).is_ok());
        for early in [before(NOON, ALLOWED_SKEW + MS), before(NOON, DAY), Timestamp::from_millis(0)] {
            CALL.refuses(&sealer, state.untrusted_text(), early, Refusal::FromTheFuture);
        }
    }
}

#[test]
fn what_was_issued_before_the_cut_off_is_refused_whatever_its_key() {
    for sealer in sealers() {
        let state = CALL.seal(&sealer, NOON);
        sealer.replace_keys(ring().reject_issued_before(NOON));
        assert!(CALL.open(&sealer, &state, NOON).is_ok());
        sealer.replace_keys(ring().reject_issued_before(NOON + MS));
        CALL.refuses(&sealer, state.untrusted_text(), NOON, Refusal::BeforeCutOff);
        CALL.refuses(&sealer, state.untrusted_text(), NOON + HOUR, Refusal::BeforeCutOff);
        let newer = CALL.seal(&sealer, NOON + MS);
        assert!(CALL.open(&sealer, &newer, NOON + MS).is_ok());
    }
}

#[test]
fn nothing_is_sealed_for_a_flow_that_has_ended() {
    for sealer in sealers() {
        let flow = sealer.begin(NOON);
        let seal = |now| CALL.bind(|binding| sealer.seal_as(&note(), binding, SealOptions::new(flow), now));
        assert!(seal(before(NOON + DAY, MS)).is_ok());
        assert!(matches!(seal(NOON + DAY), Err(SealError::FlowEnded)));
        assert!(matches!(seal(NOON + 2 * DAY), Err(SealError::FlowEnded)));
    }
}

/// Seals a round, and opens it for the next.
fn next_round(sealer: &Sealer, flow: FlowProgress) -> Result<FlowProgress, SealError> {
    let state = CALL.bind(|binding| sealer.seal_as(&note(), binding, SealOptions::new(flow), NOON))?;
    Ok(CALL.open(sealer, &state, NOON).unwrap().next_round())
}

#[test]
fn a_flow_goes_round_32_times_and_no_more() {
    for sealer in sealers() {
        let first = sealer.begin(NOON);
        let mut flow = first;
        for round in 1..=32 {
            assert_eq!((flow.round(), flow.flow(), flow.started()), (round, first.flow(), NOON));
            flow = next_round(&sealer, flow).unwrap();
        }
        let error = next_round(&sealer, flow).unwrap_err();
        assert!(matches!(error, SealError::TooManyRounds { round: 33, limit: 32 }), "{error}");
    }
}

#[test]
fn another_number_of_rounds_can_be_set() {
    let twice = Lifetimes { rounds: 2, ..Lifetimes::default() };
    for sealer in sealers() {
        let sealer = sealer.lifetimes(twice);
        let second = next_round(&sealer, sealer.begin(NOON)).unwrap();
        let third = next_round(&sealer, second).unwrap();
        assert!(matches!(next_round(&sealer, third), Err(SealError::TooManyRounds { round: 3, limit: 2 })));
    }
}
