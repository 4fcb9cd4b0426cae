//! The two tools of the bench on other servers, each written as that server's own documentation shows.

pub(crate) mod neva_server;
pub(crate) mod rmcp_server;

use serde::{Deserialize, Serialize};

/// The answer to the first question.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Resolution {
    Fixed,
    #[serde(rename = "Won't Fix")]
    WontFix,
    Duplicate,
    #[serde(rename = "By Design")]
    ByDesign,
}

#[derive(Deserialize)]
struct Resolved {
    resolution: Resolution,
}

/// The answer to the second question.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Original {
    duplicate_of_id: u64,
}

fn resolutions() -> Vec<String> {
    ["Fixed", "Won't Fix", "Duplicate", "By Design"].map(String::from).into()
}

fn closed(work_item: u64, fields: usize) -> String {
    format!("Bug #{work_item} resolved, {fields} fields set")
}

fn closed_as_duplicate(work_item: u64, original: u64) -> String {
    format!("Bug #{work_item} resolved as duplicate of #{original}")
}

const HOW: &str = "How was this bug resolved?";
const WHICH: &str = "Which work item is the original?";
const SECRET: [u8; 32] = [7; 32];
