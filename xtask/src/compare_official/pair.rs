//! Two schema documents that are to agree: ours and the official one.

use anyhow::{Context, Result};
use jsonschema::ValidatorMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The validators of every definition, and of every part of one, of both documents.
pub(crate) struct Pair {
    ours: ValidatorMap,
    official: ValidatorMap,
}

/// Who refuses what the other accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Stricter {
    Ours,
    Official,
}

impl Pair {
    pub(crate) fn new(ours: &Value, official: &Value) -> Result<Self> {
        Ok(Self {
            ours: compile(ours).context("our schema")?,
            official: compile(official).context("the official schema")?,
        })
    }

    /// Whether both documents define a type.
    pub(crate) fn defines(&self, type_name: &str) -> bool {
        let pointer = definition(type_name);
        self.ours.contains_key(&pointer) && self.official.contains_key(&pointer)
    }

    /// Who alone refuses an instance; `None` where both say the same, or one does not define the type.
    pub(crate) fn stricter(&self, type_name: &str, instance: &Value) -> Option<Stricter> {
        let pointer = definition(type_name);
        let ours = self.ours.get(&pointer)?.is_valid(instance);
        let official = self.official.get(&pointer)?.is_valid(instance);
        match (ours, official) {
            (false, true) => Some(Stricter::Ours),
            (true, false) => Some(Stricter::Official),
            _ => None,
        }
    }

    /// Whether a part of our document accepts an instance.
    pub(crate) fn ours_accepts(&self, part: &str, instance: &Value) -> bool {
        self.ours.get(&format!("#{part}")).is_some_and(|validator| validator.is_valid(instance))
    }
}

/// Formats are annotations, as 2020-12 has them by default.
fn compile(document: &Value) -> Result<ValidatorMap> {
    let options = jsonschema::draft202012::options().should_validate_formats(false).offline();
    options.build_map(document).map_err(|error| anyhow::anyhow!("{error}"))
}

fn definition(type_name: &str) -> String {
    format!("#/$defs/{type_name}")
}
