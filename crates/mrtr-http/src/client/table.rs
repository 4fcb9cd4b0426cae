//! The tools whose arguments are mirrored, as lists of tools said: bounded, and the oldest go first.

use std::collections::HashSet;

use indexmap::IndexMap;

use super::annotations::HeaderAnnotations;

/// What is known of tools, those learned of last at the end.
#[derive(Debug, Default)]
pub(super) struct AnnotationTable(IndexMap<String, HeaderAnnotations>);

impl AnnotationTable {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn get(&self, tool: &str) -> Option<&HeaderAnnotations> {
        self.0.get(tool)
    }

    /// Takes over what a list says of its tools, and forgets what was learned first if it gets more than `most` bytes.
    pub(super) fn learn(&mut self, listed: Vec<(String, HeaderAnnotations)>, most: usize) {
        let names: HashSet<_> = listed.iter().map(|(tool, _)| tool).collect();
        self.0.retain(|tool, _| !names.contains(tool));
        self.0.extend(listed.into_iter().filter(|(_, annotated)| !annotated.is_empty()));
        let mut bytes: usize = self.0.iter().map(entry_bytes).sum();
        let too_many = self.0.iter().take_while(|entry| {
            let is_too_many = bytes > most;
            bytes -= if is_too_many { entry_bytes(*entry) } else { 0 };
            is_too_many
        });
        let too_many = too_many.count();
        if too_many > 0 {
            tracing::warn!(
                too_many,
                "the headers that a server wants for its tools are too many to keep: some are forgotten"
            );
            self.0.drain(..too_many);
            self.0.shrink_to_fit();
        }
    }
}

fn entry_bytes((tool, annotated): (&String, &HeaderAnnotations)) -> usize {
    size_of::<(String, HeaderAnnotations)>() + tool.len() + annotated.bytes()
}
