//! A genuine state that comes with another request, or at another time.

use std::time::Duration;

use mrtr_schema::{RawMembers, Revision};
use mrtr_state::{Binding, Principal, Timestamp};

use super::fixture::{GENUINE, Journal, METHOD, NOW, PARAMS, PRINCIPAL, SEALER, TENANT};

/// Each byte says whether one thing about the request is as it was, and what it is if not.
pub(super) fn changed(input: &[u8]) {
    let mut choices = input.iter().copied().chain(std::iter::repeat(0));
    let mut choose = |count: u8| usize::from(choices.next().unwrap_or_default() % count);
    let state = &GENUINE[choose(2)];

    let chosen = [choose(3), choose(3), choose(4), choose(4), choose(4), choose(4)];
    let [revision, method, params, principal, tenant, time] = chosen;
    let params = [
        PARAMS,
        r#"{"name":"pay","arguments":{"to":"Bob","amount":12.50}}"#,
        r#"{"name":"cancel","arguments":{"to":"Ann","amount":12.50}}"#,
        "{}",
    ][params];
    let params = RawMembers::parse(params).expect("JSON");
    let principal = [
        Some(PRINCIPAL),
        Some(Principal { subject: "bob", ..PRINCIPAL }),
        Some(Principal { issuer: "https://id.example.co", subject: "mann" }),
        None,
    ][principal];
    let binding = Binding::new(
        [Revision::V2026_07_28, Revision::Sep2322, Revision::Draft202602][revision],
        [METHOD, "tools/cal", "prompts/get"][method],
        &params,
    );
    let binding =
        binding.expect("a name").principal(principal).tenant([Some(TENANT), Some("acm"), Some(""), None][tenant]);
    let now = [NOW, NOW + Duration::from_hours(1), NOW + Duration::from_hours(24), A_DAY_BEFORE][time];

    let opened = SEALER.open::<Journal>(state, &binding, now);
    assert_eq!(opened.is_ok(), chosen == [0; 6], "{chosen:?}: {opened:?}");
}

const A_DAY_BEFORE: Timestamp = Timestamp::from_millis(NOW.as_millis() - 24 * 60 * 60 * 1000);

pub(super) fn seeds() -> Vec<Vec<u8>> {
    (0..6).map(|place| (0..7).map(|at| u8::from(at == place + 1)).collect()).chain([vec![0; 7], vec![1]]).collect()
}
