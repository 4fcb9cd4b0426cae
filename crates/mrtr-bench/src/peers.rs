//! The software of others: the two tools of the bench on their servers, and their programs of the interop matrix, each
//! written as its own documentation shows.

pub(crate) mod interop;
pub(crate) mod neva_server;
#[cfg(test)]
mod rmcp_inline_await;
pub(crate) mod rmcp_server;

use crate::tracker::{Original, Resolution, Resolved};

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
