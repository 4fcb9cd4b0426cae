//! The rules that say which differences are meant to be there, and why.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use mrtr_schema::Revision;
use serde::{Deserialize, Serialize};

use super::difference::Difference;
use super::pair::Stricter;

/// A cause, and the differences that it explains. In patterns, `*` stands for any text.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rule {
    pub(crate) revisions: Vec<String>,
    pub(crate) types: Vec<String>,
    pub(crate) path: String,
    pub(crate) mutation: String,
    pub(crate) stricter: Stricter,
    pub(crate) reason: String,
}

/// The rules of a file.
pub(crate) fn read(path: &Path) -> Result<Vec<Rule>> {
    let text = fs::read_to_string(path).context("could not read the rules")?;
    serde_json::from_str(&text).context("not a list of rules")
}

impl Rule {
    pub(crate) fn explains(&self, difference: &Difference) -> bool {
        self.revisions.iter().any(|revision| names(revision, difference.revision))
            && self.types.iter().any(|pattern| matches(pattern, &difference.type_name))
            && matches(&self.path, &difference.path)
            && matches(&self.mutation, &difference.mutation)
            && self.stricter == difference.stricter
    }

    /// The revisions and types of the rule for which there is nothing to explain.
    pub(crate) fn unused(&self, explained: &[&Difference]) -> Vec<String> {
        let of_revision = |name: &&String| !explained.iter().any(|found| names(name, found.revision));
        let of_type = |pattern: &&String| !explained.iter().any(|found| matches(pattern, &found.type_name));
        self.revisions.iter().filter(of_revision).chain(self.types.iter().filter(of_type)).cloned().collect()
    }

    pub(crate) fn subject(&self) -> String {
        format!("{}, {}, {}, {}", self.revisions.join(" "), self.types.join(" "), self.path, self.mutation)
    }
}

fn names(name: &str, revision: Revision) -> bool {
    name == revision.as_str()
}

/// Whether a text is what a pattern describes.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(text) = text.strip_prefix(start) else { return false };
    let mut ends = text.char_indices().map(|(index, _)| index).chain([text.len()]);
    ends.any(|index| matches(rest, &text[index..]))
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, text) in [("*", ""), ("*", "Tool"), ("Tool*", "ToolChoice"), ("to *", "to null"), ("*.*", "a.*")]
        {
            assert!(matches(pattern, text), "{pattern} describes {text}");
        }
        for (pattern, text) in [("", "a"), ("Tool", "Tools"), ("*Schema", "Schemas"), ("a*b*c", "acb")] {
            assert!(!matches(pattern, text), "{pattern} does not describe {text}");
        }
    }
}
