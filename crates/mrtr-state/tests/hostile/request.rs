//! A state belongs to the request it came from: its revision, method, name and parameters.

use mrtr_schema::Revision;
use mrtr_state::Refusal;

use crate::common::{Asked, CALL, NOON, sealers};

#[test]
fn a_state_opens_in_its_own_revision_only() {
    for sealer in sealers() {
        for revision in Revision::MODERN {
            let asked = Asked { revision, ..CALL };
            let state = asked.seal(&sealer, NOON);
            assert!(asked.open(&sealer, &state, NOON).is_ok());
            for revision in Revision::MODERN.into_iter().filter(|other| *other != revision) {
                let other = Asked { revision, ..CALL };
                other.refuses(&sealer, state.untrusted_text(), NOON, Refusal::OtherRevision);
            }
        }
    }
}

#[test]
fn a_state_opens_on_its_own_method_only() {
    for sealer in sealers() {
        let state = CALL.seal(&sealer, NOON);
        for method in ["prompts/get", "resources/read", "tools/cal", "tools/call2", "Tools/call", ""] {
            let other = Asked { method, ..CALL };
            other.refuses(&sealer, state.untrusted_text(), NOON, Refusal::OtherMethod);
        }
    }
}

#[test]
fn a_state_opens_for_its_own_tool_prompt_or_resource_only() {
    let by_name = [r#"{"name": "pay"}"#, r#"{"name": "Pay"}"#, r#"{"name": "pay2"}"#, r#"{"name": ""}"#];
    let by_uri = [r#"{"uri": "file:///a"}"#, r#"{"uri": "file:///b"}"#, r#"{"uri": "file:///a/"}"#];
    for (method, all) in [("tools/call", &by_name[..]), ("prompts/get", &by_name), ("resources/read", &by_uri)] {
        for sealer in sealers() {
            for params in all {
                let asked = Asked { method, params, ..CALL };
                let state = asked.seal(&sealer, NOON);
                assert!(asked.open(&sealer, &state, NOON).is_ok());
                for params in all.iter().filter(|other| *other != params) {
                    let other = Asked { method, params, ..CALL };
                    other.refuses(&sealer, state.untrusted_text(), NOON, Refusal::OtherName);
                }
            }
        }
    }
}

/// The name alone would be the same: the member that it stands in is told apart by the digest.
#[test]
fn a_name_is_no_uri() {
    for sealer in sealers() {
        let by_name = Asked { params: r#"{"name": "file:///a"}"#, ..CALL };
        let by_uri = Asked { params: r#"{"uri": "file:///a"}"#, ..CALL };
        by_uri.refuses(&sealer, by_name.seal(&sealer, NOON).untrusted_text(), NOON, Refusal::OtherParams);
        by_name.refuses(&sealer, by_uri.seal(&sealer, NOON).untrusted_text(), NOON, Refusal::OtherParams);
    }
}
