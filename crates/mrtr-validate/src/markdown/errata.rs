//! The known mistakes of a document, listed in a file, each with its reason.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use super::judged::{Finding, Judged};

/// One known mistake.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum Erratum {
    /// Of a block: the findings at a path, or those that say something, or both.
    Json { block: usize, path: Option<String>, says: Option<String>, reason: String },
    /// Of the text, quoted word for word; it stands as long as the text does.
    Prose { text: String, reason: String },
}

/// A mistake of the text that is still there.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ProseErratum {
    pub(crate) line: usize,
    pub(crate) text: String,
    pub(crate) reason: String,
}

/// What became of the errata of a document.
#[derive(Debug, Default)]
pub(crate) struct Applied {
    pub(crate) prose: Vec<ProseErratum>,
    /// Those that match nothing any more.
    pub(crate) stale: Vec<String>,
    /// Those of blocks with a type that is not defined here, so that they cannot be confirmed.
    pub(crate) unconfirmed: Vec<String>,
}

/// The errata of a document, if there is a file of them.
pub(crate) fn load(file: Option<&Path>) -> Result<Vec<Erratum>> {
    let Some(path) = file else { return Ok(Vec::new()) };
    let text = fs::read_to_string(path).with_context(|| format!("could not read the errata {}", path.display()))?;
    let errata: Vec<Erratum> =
        serde_json::from_str(&text).with_context(|| format!("in the errata {}", path.display()))?;
    if let Some(vague) = errata.iter().find(|erratum| erratum.is_vague()) {
        bail!("in the errata {}: {vague} names neither a path nor what the finding says", path.display());
    }
    Ok(errata)
}

/// Marks the findings that are known, and says what became of each erratum.
pub(crate) fn apply(errata: &[Erratum], document: &str, blocks: &mut [Judged]) -> Applied {
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

    /// Marks the findings of a block that this is about.
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
