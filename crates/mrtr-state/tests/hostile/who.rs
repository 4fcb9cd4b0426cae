//! A state belongs to the caller it was sealed for.

use mrtr_schema::RawMembers;
use mrtr_state::{Binding, Principal, Refusal};

use crate::common::{ANN, Asked, CALL, NOON, Note, note, refused, sealers};

/// Principals that all differ; the last is none.
const PEOPLE: [Option<Principal<'_>>; 9] = [
    Some(ANN),
    Some(Principal { issuer: "https://id.example.com", subject: "bob" }),
    Some(Principal { issuer: "https://id.example.com", subject: "Ann" }),
    Some(Principal { issuer: "https://other.example.com", subject: "ann" }),
    // Issuer and subject joined are the same text as the first one's.
    Some(Principal { issuer: "https://id.example.co", subject: "mann" }),
    Some(Principal { issuer: "https://id.example.coma", subject: "nn" }),
    Some(Principal { issuer: "", subject: "https://id.example.comann" }),
    Some(Principal { issuer: "", subject: "" }),
    None,
];

#[test]
fn a_state_opens_for_its_principal_and_for_nobody_else() {
    for sealer in sealers() {
        for (number, principal) in PEOPLE.into_iter().enumerate() {
            let theirs = Asked { principal, ..CALL };
            let state = theirs.seal(&sealer, NOON);
            assert!(theirs.open(&sealer, &state, NOON).is_ok());
            for (other_number, principal) in PEOPLE.into_iter().enumerate() {
                if other_number != number {
                    let other = Asked { principal, ..CALL };
                    other.refuses(&sealer, state.untrusted_text(), NOON, Refusal::OtherPrincipal);
                }
            }
        }
    }
}

/// A binding remembers the digest of its principal; it must forget it with the principal.
#[test]
fn a_binding_that_changes_hands_is_somebody_elses() {
    let params = RawMembers::parse(CALL.params).unwrap();
    for sealer in sealers() {
        let anns = Binding::new(CALL.revision, CALL.method, &params).unwrap().principal(ANN);
        let state = sealer.seal(&note(), &anns, NOON).unwrap();
        assert!(sealer.open::<Note>(&state, &anns, NOON).is_ok());
        let bobs = anns.clone().principal(PEOPLE[1]);
        let opened = sealer.open::<Note>(&state, &bobs, NOON);
        assert_eq!(refused(opened), Refusal::OtherPrincipal);
        let nobodys = bobs.principal(None);
        let opened = sealer.open::<Note>(&state, &nobodys, NOON);
        assert_eq!(refused(opened), Refusal::OtherPrincipal);
    }
}

#[test]
fn a_state_opens_for_its_tenant_and_for_no_other() {
    let tenants = [Some("acme"), Some("acme2"), Some("acm"), Some("Acme"), Some(""), None];
    for sealer in sealers() {
        for tenant in tenants {
            let theirs = Asked { tenant, ..CALL };
            let state = theirs.seal(&sealer, NOON);
            assert!(theirs.open(&sealer, &state, NOON).is_ok());
            for tenant in tenants.into_iter().filter(|other| *other != tenant) {
                let other = Asked { tenant, ..CALL };
                other.refuses(&sealer, state.untrusted_text(), NOON, Refusal::OtherTenant);
            }
        }
    }
}
