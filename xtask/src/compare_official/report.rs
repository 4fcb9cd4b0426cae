//! The report: each cause with what it explains, then what nothing explains.

use std::collections::{BTreeMap, BTreeSet};

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

    /// Whether every difference has its rule, and every rule its differences.
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
