//! The report: each cause with what it explains, then what nothing explains.

use anyhow::Result;
use serde_json::{Value, json};

use super::difference::{Difference, Occurrences, Tally};
use super::pair::Stricter;
use super::rule::Rule;
use crate::workspace;

/// What was found, held against the rules.
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

    /// Whether every difference has its rule, and every rule its difference.
    pub(crate) fn is_clean(&self) -> bool {
        self.unlisted.is_empty() && self.stale().next().is_none()
    }

    pub(crate) fn as_text(&self) -> String {
        let causes = self.explained.iter().map(|(rule, differences)| cause(rule, differences));
        let unlisted = self.unlisted.iter().map(|(difference, occurrences)| unlisted(difference, occurrences));
        let stale = self
            .stale()
            .map(|(rule, unused)| format!("STALE: {}: nothing to explain for {}", rule.subject(), unused.join(", ")));
        causes.chain(unlisted).chain(stale).chain([self.summary()]).collect::<Vec<_>>().join("\n")
    }

    pub(crate) fn as_json(&self) -> Result<String> {
        let causes: Vec<_> =
            self.explained.iter().map(|(rule, found)| json!({ "rule": rule, "explains": found })).collect();
        let unlisted: Vec<_> =
            self.unlisted.iter().map(|(found, met)| json!({ "difference": found, "met": met })).collect();
        let stale: Vec<_> = self.stale().map(|(rule, unused)| json!({ "rule": rule, "unused": unused })).collect();
        let report = json!({
            "causes": causes, "unlisted": unlisted, "stale": stale, "totals": self.totals(),
        });
        Ok(serde_json::to_string_pretty(&report)?)
    }

    fn stale(&self) -> impl Iterator<Item = (&'a Rule, Vec<String>)> {
        let unused = self.explained.iter().map(|(rule, differences)| (*rule, rule.unused(differences)));
        unused.filter(|(_, unused)| !unused.is_empty())
    }

    fn summary(&self) -> String {
        let Tally { examples, variants, differences } = self.found;
        format!(
            "{variants} variants of {examples} examples judged by both; {} differences, {} of them not listed; \
             {} rules, {} of them stale",
            differences.len(),
            self.unlisted.len(),
            self.explained.len(),
            self.stale().count(),
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

fn cause(rule: &Rule, differences: &[&Difference]) -> String {
    let mut types: Vec<_> = differences.iter().map(|found| found.type_name.as_str()).collect();
    types.sort_unstable();
    types.dedup();
    format!("{} ({}): {}", types.join(", "), differences.len(), rule.reason)
}

fn unlisted(difference: &Difference, occurrences: &Occurrences) -> String {
    let Difference { revision, type_name, path, mutation, stricter } = difference;
    let who = match stricter {
        Stricter::Ours => "only ours refuses it",
        Stricter::Official => "only the official one refuses it",
    };
    let file = occurrences.first.strip_prefix(workspace::root()).unwrap_or(&occurrences.first).display();
    format!(
        "NOT LISTED: {type_name} of {revision}, {path} {mutation}: {who} ({} times, first in {file})",
        occurrences.variants
    )
}
