//! Judges one block of a document: names its type, finds its faults and their lines, and compares them with the errata.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use mrtr_schema::Json;
use serde::{Deserialize, Serialize};

use super::blocks::{Block, Notation};
use super::recognise::{Part, Recognised, Recogniser};
use super::relaxed::{Blanked, Kind, Places, Plain, plain};
use crate::judge::Judge;
use crate::schema::Fault;

/// The verdict on one block.
#[derive(Debug, Clone)]
pub(crate) struct Judged {
    /// The number of the block.
    pub(crate) block: usize,
    pub(crate) line: usize,
    /// The type that the block was recognised as.
    pub(crate) type_name: String,
    /// The types that the block should have been checked against.
    pub(crate) not_defined: Vec<&'static str>,
    pub(crate) findings: Vec<Finding>,
}

/// One mistake.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Finding {
    pub(crate) line: usize,
    pub(crate) path: String,
    pub(crate) reason: String,
    /// The reason why the mistake is known, if it is.
    pub(crate) erratum: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Status {
    Passed,
    /// All faults of the block are known.
    Erratum,
    /// The block is of a type that we do not have, and has no other fault.
    NotDefined,
    Failed,
}

impl Judged {
    pub(crate) fn of(block: &Block, judge: &Judge, recogniser: &mut Recogniser) -> Self {
        let text = Text::of(block);
        let tree = match serde_json::from_str(&text.plain.text) {
            Ok(tree) => tree,
            Err(error) => return Self::not_json(block, &error),
        };
        let known = if text.is_fragment { recogniser.fragment(&tree) } else { recogniser.recognise(&tree) };
        let type_name = known.name();
        let mut faults = known.faults;
        let mut not_defined = Vec::new();
        for part in known.parts {
            match judge.faults(part.type_name, &part.value) {
                Some(found) => faults.extend(found.into_iter().map(|fault| part.seen_from_outside(fault))),
                None => not_defined.push(part.type_name),
            }
        }
        let findings = text.findings(block, faults);
        Self { block: block.number, line: block.line, type_name, not_defined, findings }
    }

    fn not_json(block: &Block, error: &serde_json::Error) -> Self {
        let line = block.line + error.line().saturating_sub(1);
        let finding = Finding { line, path: "$".to_owned(), reason: format!("not JSON: {error}"), erratum: None };
        let type_name = UNRECOGNISED.to_owned();
        Self { block: block.number, line: block.line, type_name, not_defined: Vec::new(), findings: vec![finding] }
    }

    pub(crate) fn status(&self) -> Status {
        if self.findings.iter().any(|finding| finding.erratum.is_none()) {
            Status::Failed
        } else if !self.not_defined.is_empty() {
            Status::NotDefined
        } else if self.findings.is_empty() {
            Status::Passed
        } else {
            Status::Erratum
        }
    }
}

/// A block's text as JSON.
struct Text {
    plain: Plain,
    /// The text before comments were blanked.
    written: String,
    /// True if we added the braces around the text.
    is_fragment: bool,
}

impl Text {
    fn of(block: &Block) -> Self {
        let is_fragment = plain(&block.text).text.trim_start().starts_with('"');
        // The brace is on a line of its own, so that a comment on the last line does not swallow it.
        let written = if is_fragment { format!("{{{}\n}}", block.text) } else { block.text.clone() };
        Self { plain: plain(&written), written, is_fragment }
    }

    /// All that is wrong with a block, in the order of its lines.
    fn findings(&self, block: &Block, faults: Vec<Fault>) -> Vec<Finding> {
        let Ok(places) = Places::of(&self.plain.text) else { return Vec::new() };
        let twice = Json::parse(&self.plain.text).err();
        let twice = twice.map(|error| Fault { path: error.path().to_string(), reason: error.problem().to_string() });
        let faults = faults.into_iter().chain(twice).map(|fault| (places.line(&fault.path), fault));
        let foreign = self.plain.blanked.iter().filter(|_| block.notation == Notation::Json);
        let foreign = foreign.map(|blanked| (self.line(blanked), self.foreign(blanked, &places)));
        let finding = |(line, Fault { path, reason })| Finding { line: block.line + line, path, reason, erratum: None };
        let mut findings: Vec<_> = faults.chain(foreign).map(finding).collect();
        findings.sort();
        findings.dedup();
        findings
    }

    fn line(&self, blanked: &Blanked) -> usize {
        self.written[..blanked.range.start].matches('\n').count()
    }

    /// Describes a comment or a trailing comma in a block that says it is JSON.
    fn foreign(&self, blanked: &Blanked, places: &Places<'_>) -> Fault {
        match blanked.kind {
            Kind::Comment => {
                let reason = format!("JSON has no comments: {}", &self.written[blanked.range.clone()]);
                Fault { path: "$".to_owned(), reason }
            }
            Kind::TrailingComma => {
                let path = places.path_before(blanked.range.start).unwrap_or("$").to_owned();
                Fault { path, reason: "a trailing comma follows it, which JSON does not have".to_owned() }
            }
        }
    }
}

impl Recognised {
    fn name(&self) -> String {
        self.parts.first().map_or(UNRECOGNISED, |part| part.type_name).to_owned()
    }
}

impl Part {
    /// A fault of this part, with its path in the whole block.
    fn seen_from_outside(&self, fault: Fault) -> Fault {
        let within = fault.path.strip_prefix('$').unwrap_or(&fault.path);
        Fault { path: format!("{}{within}", self.path), ..fault }
    }
}

/// A known mistake of a document.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum Erratum {
    /// A mistake of a block: the findings at a path, or those that say something, or both.
    Json { block: usize, path: Option<String>, says: Option<String>, reason: String },
    /// A mistake of the text, quoted word for word; the erratum stands as long as the text does.
    Prose { text: String, reason: String },
}

/// A mistake of the text that is still there.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ProseErratum {
    pub(crate) line: usize,
    pub(crate) text: String,
    pub(crate) reason: String,
}

/// The errata of a document, applied to its findings.
#[derive(Debug, Default)]
pub(crate) struct Applied {
    pub(crate) prose: Vec<ProseErratum>,
    /// The errata that match nothing any more.
    pub(crate) stale: Vec<String>,
    /// The errata of blocks with a type that is not defined here, so that they cannot be confirmed.
    pub(crate) unconfirmed: Vec<String>,
}

/// The errata of a document, if there is a file of them.
pub(crate) fn load_errata(file: Option<&Path>) -> Result<Vec<Erratum>> {
    let Some(path) = file else { return Ok(Vec::new()) };
    let text = fs::read_to_string(path).with_context(|| format!("could not read the errata {}", path.display()))?;
    let errata: Vec<Erratum> =
        serde_json::from_str(&text).with_context(|| format!("in the errata {}", path.display()))?;
    if let Some(vague) = errata.iter().find(|erratum| erratum.is_vague()) {
        bail!("in the errata {}: {vague} names neither a path nor what the finding says", path.display());
    }
    Ok(errata)
}

/// Marks the findings that are known, and reports on each erratum.
pub(crate) fn apply_errata(errata: &[Erratum], document: &str, blocks: &mut [Judged]) -> Applied {
    let mut applied = Applied::default();
    for erratum in errata {
        match erratum {
            Erratum::Prose { text, reason } => match line_of(document, text) {
                Some(line) => applied.prose.push(ProseErratum { line, text: text.clone(), reason: reason.clone() }),
                None => applied.stale.push(erratum.to_string()),
            },
            Erratum::Json { block, reason, .. } => {
                let block = blocks.iter_mut().find(|judged| judged.block == *block);
                match block.map(|block| erratum.mark(reason, block)) {
                    Some(Match::Found) => {}
                    Some(Match::Unknown) => applied.unconfirmed.push(erratum.to_string()),
                    Some(Match::Nothing) | None => applied.stale.push(erratum.to_string()),
                }
            }
        }
    }
    applied
}

enum Match {
    Found,
    Nothing,
    /// Nothing was found, but a type of the block is not defined here.
    Unknown,
}

impl Erratum {
    fn is_vague(&self) -> bool {
        matches!(self, Self::Json { path: None, says: None, .. })
    }

    /// Marks the findings of a block that match this erratum with its reason, and returns whether there were any.
    fn mark(&self, reason: &str, block: &mut Judged) -> Match {
        let mut found = if block.not_defined.is_empty() { Match::Nothing } else { Match::Unknown };
        for finding in block.findings.iter_mut().filter(|finding| self.matches(finding)) {
            finding.erratum = Some(reason.to_owned());
            found = Match::Found;
        }
        found
    }

    fn matches(&self, finding: &Finding) -> bool {
        match self {
            Self::Prose { .. } => false,
            Self::Json { path, says, .. } => {
                path.as_ref().is_none_or(|path| finding.path == *path)
                    && says.as_ref().is_none_or(|says| finding.reason.contains(says))
            }
        }
    }
}

impl std::fmt::Display for Erratum {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Prose { text, .. } => write!(f, "prose, {text:?}"),
            Self::Json { block, path, says, .. } => {
                write!(f, "block {block}")?;
                path.iter().try_for_each(|path| write!(f, ", {path}"))?;
                says.iter().try_for_each(|says| write!(f, ", {says:?}"))
            }
        }
    }
}

/// The line on which a quotation begins.
fn line_of(document: &str, quotation: &str) -> Option<usize> {
    document.find(quotation).map(|at| document[..at].matches('\n').count() + 1)
}

const UNRECOGNISED: &str = "not recognised";
