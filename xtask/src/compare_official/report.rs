//! The report: each cause with what it explains, then what nothing explains.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::comparison::{Difference, Occurrences, Stricter, Tally};
use crate::workspace;

/// The findings, held against the rules.
pub(crate) struct Report<'a> {
    found: &'a Tally,
    explained: Vec<(&'a Rule, Vec<&'a Difference>)>,
    unlisted: Vec<(&'a Difference, &'a Occurrences)>,
}

impl<'a> Report<'a> {
    pub(crate) fn new(found: &'a Tally, rules: &'a [Rule]) -> Self {
        let explained_by = |rule: &'a Rule| found.differences.keys().filter(|found| rule.explains(found)).collect();
        let is_unlisted = |(found, _): &(&Difference, &Occurrences)| !rules.iter().any(|rule| rule.explains(found));
        Self {
            found,
            explained: rules.iter().map(|rule| (rule, explained_by(rule))).collect(),
            unlisted: found.differences.iter().filter(is_unlisted).collect(),
        }
    }

    /// Returns true if every difference has its rule, and every rule its differences.
    pub(crate) fn is_clean(&self) -> bool {
        self.unlisted.is_empty() && self.stale().next().is_none()
    }

    pub(crate) fn as_text(&self) -> String {
        let causes = self.explained.iter().map(|(rule, differences)| cause(rule, differences));
        let unlisted = self.unlisted.iter().map(|(difference, occurrences)| unlisted(difference, occurrences));
        let stale = self.stale().map(|(rule, unused)| stale(rule, &unused));
        causes
            .chain(unlisted)
            .chain(stale)
            .chain(self.unseen())
            .chain([self.summary()])
            .collect::<Vec<_>>()
            .join("\n\n")
    }

    pub(crate) fn as_json(&self) -> Result<String> {
        let causes = self.explained.iter().map(|(rule, found)| json!({ "rule": rule, "differences": found }));
        let unlisted = self.unlisted.iter().map(|(found, met)| json!({ "difference": found, "met": met }));
        let stale = self.stale().map(|(rule, unused)| json!({ "rule": rule, "unused": unused }));
        let report = json!({
            "causes": causes.collect::<Vec<_>>(),
            "unlisted": unlisted.collect::<Vec<_>>(),
            "stale": stale.collect::<Vec<_>>(),
            "withoutExample": self.found.without_example,
            "totals": self.totals(),
        });
        Ok(serde_json::to_string_pretty(&report)?)
    }

    fn stale(&self) -> impl Iterator<Item = (&'a Rule, Vec<&'a str>)> {
        let unused = self.explained.iter().map(|(rule, differences)| (*rule, rule.unused(differences)));
        unused.filter(|(_, unused)| !unused.is_empty())
    }

    fn unseen(&self) -> impl Iterator<Item = String> {
        let sources = self.found.without_example.iter().filter(|(_, types)| !types.is_empty());
        sources.map(|(source, types)| format!("Not compared in {source}, for want of an example: {}", types.join(", ")))
    }

    fn summary(&self) -> String {
        let Tally { examples, variants, differences, .. } = self.found;
        let (found, unlisted) = (differences.len(), self.unlisted.len());
        let (rules, stale) = (self.explained.len(), self.stale().count());
        format!(
            "{variants} variants of {examples} examples were judged by both; {found} differences, {unlisted} of them \
             not listed; {rules} rules, {stale} of them stale"
        )
    }

    fn totals(&self) -> Value {
        json!({
            "examples": self.found.examples,
            "variants": self.found.variants,
            "differences": self.found.differences.len(),
            "unlisted": self.unlisted.len(),
            "stale": self.stale().count(),
        })
    }
}

/// A rule's reason, and below it, a line a member, the changes on which the verdicts differ.
fn cause(rule: &Rule, differences: &[&Difference]) -> String {
    let mut members: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for found in differences {
        members.entry((&found.type_name, &found.path)).or_default().insert(found.mutation.as_str());
    }
    let lines = members.iter().map(|((type_name, path), mutations)| {
        let mutations: Vec<_> = mutations.iter().copied().collect();
        format!("    {type_name}, {path}: {}", mutations.join(", "))
    });
    let heading = format!("Explained ({}): {}", differences.len(), rule.reason);
    std::iter::once(heading).chain(lines).collect::<Vec<_>>().join("\n")
}

fn unlisted(difference: &Difference, occurrences: &Occurrences) -> String {
    let Difference { revision, type_name, path, mutation, stricter } = difference;
    let Occurrences { variants, first } = occurrences;
    let who = match stricter {
        Stricter::Ours => "only ours refuses it",
        Stricter::Official => "only the official one refuses it",
    };
    let file = first.strip_prefix(workspace::root()).unwrap_or(first).display();
    format!("NOT LISTED: {type_name} of {revision}, {path} {mutation}: {who} ({variants} times, first in {file})")
}

fn stale(rule: &Rule, unused: &[&str]) -> String {
    format!("STALE: the rule for {}: there is no such difference for {}", rule.subject(), unused.join(", "))
}

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

/// A pattern of texts: `*` stands for any text, and `|` between two patterns for either.
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
