//! Compares the table of methods with the specification.

use mrtr_schema::registry::method_types;
use mrtr_schema::{MethodInfo, Revision};

/// The names of those methods of a revision for which something holds.
fn methods(revision: Revision, holds: impl Fn(MethodInfo) -> bool) -> Vec<&'static str> {
    let requests = method_types(revision).into_iter().filter(|types| types.response.is_some());
    let mut names: Vec<_> = requests.map(|types| types.method).filter(|name| holds(MethodInfo::of(name))).collect();
    names.dedup();
    names
}

#[test]
fn a_server_may_ask_on_the_methods_of_its_revision() {
    let asked = |revision| methods(revision, |method| method.may_ask_in(revision));
    let always = ["tools/call", "prompts/get", "resources/read"];
    assert_eq!(asked(Revision::V2026_07_28), always);
    assert_eq!(asked(Revision::Sep2322), [&always[..], &["tasks/result"]].concat());
    assert_eq!(asked(Revision::Draft202602), [&always[..], &["completion/complete", "tasks/result"]].concat());
    assert!(!Revision::V2026_07_28.may_ask_on("tasks/result"), "a method that the revision does not have");
}

#[test]
fn every_method_of_a_revision_has_a_row_and_exists_there() {
    for revision in Revision::ALL {
        assert!(methods(revision, |method| method.name.is_none() || !method.exists_in(revision)).is_empty());
    }
    assert!(!MethodInfo::of("server/discover").exists_in(Revision::Sep2322));
    assert!(MethodInfo::of("tasks/get").exists_in(Revision::Sep2322), "a task of the core");
    assert!(MethodInfo::of("tasks/get").exists_in(Revision::V2026_07_28), "one of the extension");
}

#[test]
fn what_runs_a_handler_is_never_sent_again() {
    for revision in Revision::ALL {
        assert!(methods(revision, |method| method.only_reads && method.runs_flow).is_empty());
    }
    let runs_flow = methods(Revision::V2026_07_28, |method| method.runs_flow);
    assert_eq!(runs_flow, ["tools/call", "prompts/get", "resources/read", "completion/complete"]);
}

#[test]
fn requests_about_one_thing_name_it() {
    let named_by = |member| methods(Revision::V2026_07_28, |method| method.named_by == Some(member));
    assert_eq!(named_by("name"), ["tools/call", "prompts/get"]);
    assert_eq!(named_by("uri"), ["resources/read"]);
    assert_eq!(named_by("taskId"), ["tasks/get", "tasks/update", "tasks/cancel"]);
}

#[test]
fn a_method_without_a_row_is_known_by_its_name_alone() {
    let unknown = MethodInfo::of("tasks/pause");
    assert_eq!((unknown.name, unknown.named_by, unknown.only_reads), (None, Some("taskId"), false));
    let unknown = MethodInfo::of("com.example/list");
    assert_eq!((unknown.name, unknown.named_by, unknown.only_reads), (None, None, true));
    assert!(Revision::ALL.iter().all(|revision| !unknown.exists_in(*revision) && !unknown.may_ask_in(*revision)));
}
