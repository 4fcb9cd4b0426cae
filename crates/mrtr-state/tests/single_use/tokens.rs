//! Tokens by their text, which any process with the key can open.

use std::time::Duration;

use mrtr_schema::{RawMembers, RequestState, Revision};
use mrtr_state::{AnswersDigest, Binding, JsonPayload, Key, KeyRing, SealOptions, Sealer, Timestamp, TokenUse};

pub(crate) const NOON: Timestamp = Timestamp::from_millis(1_785_240_000_000);

pub(crate) fn seal(issued: Timestamp) -> String {
    seal_for(Duration::from_hours(1), issued)
}

/// A token that lives so long.
pub(crate) fn seal_for(life: Duration, issued: Timestamp) -> String {
    let sealer = sealer();
    let options = SealOptions::new(sealer.begin(issued)).valid_for(life);
    with_binding(|binding| sealer.seal_as(&Nothing, binding, options, issued).unwrap().untrusted_text().to_owned())
}

pub(crate) fn use_of(token: &str, answer: &str) -> TokenUse {
    use_of_at(token, answer, NOON)
}

pub(crate) fn use_of_at(token: &str, answer: &str, now: Timestamp) -> TokenUse {
    let state = RequestState::new(token);
    let answers = format!(r#"{{"how": {{"action": "{answer}"}}}}"#);
    let answers = AnswersDigest::of(Some(&RawMembers::parse(&answers).unwrap())).unwrap();
    with_binding(|binding| sealer().open::<Nothing>(&state, binding, now).unwrap().token_use(answers))
}

fn sealer() -> Sealer {
    Sealer::new(KeyRing::new(Key::new("test", [3; 32]).unwrap()), "shop").unwrap()
}

fn with_binding<T>(run: impl FnOnce(&Binding<'_>) -> T) -> T {
    let params = RawMembers::parse(r#"{"name": "pay"}"#).unwrap();
    run(&Binding::new(Revision::V2026_07_28, "tools/call", &params).unwrap())
}

#[derive(serde::Serialize, serde::Deserialize)]
struct Nothing;

impl JsonPayload for Nothing {
    const KIND: &'static str = "test/nothing";
}
