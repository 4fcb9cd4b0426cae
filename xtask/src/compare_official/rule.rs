//! The rules that say which differences are meant to be there, and why.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::difference::Difference;
use super::pair::Stricter;

/// A cause, and the differences that it explains.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rule {
    revisions: Vec<String>,
    types: Vec<Pattern>,
    path: Pattern,
    mutation: Pattern,
    stricter: Stricter,
    pub(crate) reason: String,
}

/// What some text looks like: `*` stands for any text, and `|` between two patterns for either.
#[derive(Debug, Deserialize, Serialize)]
#[serde(transparent)]
struct Pattern(String);

/// The rules of a file.
pub(crate) fn read(path: &Path) -> Result<Vec<Rule>> {
    let text = fs::read_to_string(path).context("could not read the rules")?;
    serde_json::from_str(&text).context("not a list of rules")
}

impl Rule {
    pub(crate) fn explains(&self, difference: &Difference) -> bool {
        self.revisions.iter().any(|revision| revision == difference.revision.as_str())
            && self.types.iter().any(|pattern| pattern.describes(&difference.type_name))
            && self.path.describes(&difference.path)
            && self.mutation.describes(&difference.mutation)
            && self.stricter == difference.stricter
    }

    /// The parts of the rule that are of no use, given what it explains. In one that explains nothing, that is all.
    pub(crate) fn unused(&self, explained: &[&Difference]) -> Vec<&str> {
        let revisions = self.revisions.iter().filter(|name| !explained.iter().any(|d| d.revision.as_str() == *name));
        let types = self.types.iter().flat_map(|pattern| pattern.unused(explained, |d| &d.type_name));
        let paths = self.path.unused(explained, |d| &d.path);
        let mutations = self.mutation.unused(explained, |d| &d.mutation);
        revisions.map(String::as_str).chain(types).chain(paths).chain(mutations).collect()
    }

    /// The rule in one line, for a reader who is to find it in its file.
    pub(crate) fn subject(&self) -> String {
        let types: Vec<_> = self.types.iter().map(|pattern| pattern.0.as_str()).collect();
        format!("{} of {}, {} {}", types.join(", "), self.revisions.join(", "), self.path.0, self.mutation.0)
    }
}

impl Pattern {
    fn describes(&self, text: &str) -> bool {
        self.alternatives().any(|pattern| matches(pattern, text))
    }

    fn unused(&self, explained: &[&Difference], part: impl Fn(&Difference) -> &str) -> Vec<&str> {
        self.alternatives().filter(|pattern| !explained.iter().any(|found| matches(pattern, part(found)))).collect()
    }

    fn alternatives(&self) -> impl Iterator<Item = &str> {
        self.0.split('|')
    }
}

fn matches(pattern: &str, text: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(text) = text.strip_prefix(start) else { return false };
    let mut ends = text.char_indices().map(|(index, _)| index).chain([text.len()]);
    ends.any(|index| matches(rest, &text[index..]))
}

#[cfg(test)]
mod tests {
    use super::Pattern;

    #[test]
    fn a_star_stands_for_any_text_and_a_bar_for_either() {
        let right = [("*", ""), ("Tool*", "ToolChoice"), ("*.*", "a.*"), ("removed|to *", "to null"), ("a|b", "b")];
        for (pattern, text) in right {
            assert!(Pattern(pattern.to_owned()).describes(text), "{pattern} describes {text}");
        }
        for (pattern, text) in [("", "a"), ("Tool", "Tools"), ("*Schema", "Schemas"), ("a*b*c", "acb"), ("a|b", "a|b")]
        {
            assert!(!Pattern(pattern.to_owned()).describes(text), "{pattern} does not describe {text}");
        }
    }
}
