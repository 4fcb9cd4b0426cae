//! The stateless transcripts of the founding documents, played in their revisions against servers built for them.
//!
//! Each `*.json` beside this file is a script: which document and section it is from, the servers that answer, and the
//! exchanges. Ids are the documents' own, since a reply repeats the id of its request. The text of a state is not:
//! `$state` stands for one, in a request for that of the last reply. `$any` stands for any value. Where the reply is
//! not the document's, `differs` says where, what the document has there, and why.
//!
//! Not played here:
//!
//! - the persistent workflow, with all messages of the note on tasks and the unexpected answer to a task: `mrtr-tasks`
//!   plays them;
//! - `prompts/get` and `resources/read`: the documents name them, and show no message of theirs;
//! - text that is not JSON, which no script can hold.
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

mod compare;
mod handlers;
mod player;
mod script;

use std::collections::BTreeSet;

use player::Failed;
use script::Script;

#[tokio::test]
async fn every_reply_is_the_documents() {
    let mut failures = Vec::new();
    for script in Script::all() {
        if let Err(Failed(report)) = player::play(&script).await {
            failures.push(report);
        }
    }
    assert!(failures.is_empty(), "\n{}\n", failures.join("\n\n"));
}

#[test]
fn every_handler_is_named_by_a_script() {
    let scripts = Script::all();
    let named: BTreeSet<_> = scripts.iter().flat_map(Script::handlers).collect();
    let unnamed: Vec<_> = handlers::names().filter(|name| !named.contains(name)).collect();
    assert!(unnamed.is_empty(), "no script needs {unnamed:?}");
}
