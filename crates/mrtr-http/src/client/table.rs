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

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use serde_json::{Value, json};

    use super::super::annotations::read_annotations;
    use super::*;

    /// What a list says of these tools, which have one argument each.
    fn listed(tools: Range<usize>, argument: &Value) -> Vec<(String, HeaderAnnotations)> {
        let schema = json!({ "type": "object", "properties": { "item": argument } });
        let tools: Vec<_> =
            tools.map(|number| json!({ "name": format!("tool-{number:03}"), "inputSchema": schema })).collect();
        let reply = json!({ "jsonrpc": "2.0", "id": 1, "result": { "tools": tools } });
        read_annotations(&reply.to_string(), true).expect("it is a list of tools").tools
    }

    #[test]
    fn ht_3_no_more_tools_are_forgotten_than_there_is_no_room_for() {
        let annotated = json!({ "type": "string", "x-mcp-header": "Item" });
        let mut table = AnnotationTable::default();
        table.learn(listed(0..10, &annotated), usize::MAX);
        let room = table.0.iter().map(entry_bytes).sum();
        table.learn(listed(0..10, &annotated), room);
        assert_eq!(table.0.len(), 10, "there is room for just these");
        table.learn(listed(10..13, &annotated), room);
        assert!(table.0.keys().eq(listed(3..13, &annotated).iter().map(|(tool, _)| tool)), "{:?}", table.0.keys());
        table.learn(listed(13..40, &json!({ "type": "string" })), room);
        assert_eq!(table.0.len(), 10, "those without annotations take no room");
    }
}
