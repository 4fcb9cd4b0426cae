//! Judges one example: checks it against the schemas and the types, and checks that it comes back as it went in.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result as AnyResult};
use jsonschema::{Validator, ValidatorMap};
use mrtr_schema::error::JsonPath;
use mrtr_schema::registry::{TypeVisitor, visit_types};
use mrtr_schema::{Dialect, Json, ReadError, Revision, Wire, json_schema};
use serde::Serialize;
use serde_json::Value;

use crate::folder::{self, Example, Kind};
use crate::schema::{Fault, closed, faults};

/// Judges the examples of one revision.
pub struct Judge {
    revision: Revision,
    types: BTreeMap<&'static str, Rewrite>,
    strict: ValidatorMap,
    lenient: ValidatorMap,
    closed: ValidatorMap,
    /// Tells what to do with a member that no type names. In our own examples it can only be a mistake.
    unknown_members: UnknownMembers,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum UnknownMembers {
    Refused,
    Noted,
}

/// The checks that an example of one type must pass.
struct Checks<'a> {
    strict: &'a Validator,
    lenient: &'a Validator,
    closed: &'a Validator,
    rewrite: Rewrite,
}

/// Reads a text as some type, and writes it again.
type Rewrite = fn(&str, Dialect) -> Result<String, ReadError>;

/// The verdict on one file.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Verdict {
    /// The revision that the file was judged in.
    #[serde(serialize_with = "as_text")]
    pub revision: Revision,
    /// The type that the file was judged as.
    pub type_name: String,
    /// The file.
    pub file: PathBuf,
    /// The kind of the file.
    pub kind: Kind,
    /// The verdict in a word.
    pub status: Status,
    /// The mistakes, and notes.
    pub remarks: Vec<String>,
}

/// The verdict on a file, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[expect(clippy::exhaustive_enums, reason = "reports have a place for each")]
pub enum Status {
    /// The example is as it should be.
    Passed,
    /// Refused strictly and accepted leniently: the example lacks a member whose absence has a meaning.
    LenientOnly,
    /// We have no such type in this revision.
    NotDefined,
    /// The example is not as it should be.
    Failed,
}

impl Verdict {
    /// Returns true if the verdict is [`Status::Failed`].
    pub fn is_failure(&self) -> bool {
        self.status == Status::Failed
    }
}

impl Judge {
    /// Makes a judge for the project's own examples: strict, and closed to members that no type names.
    pub fn of_our_own(revision: Revision) -> Self {
        Self::new(revision, UnknownMembers::Refused)
    }

    /// Makes a judge for a specification's examples, which may say more than our types do.
    pub fn of_strangers(revision: Revision) -> Self {
        Self::new(revision, UnknownMembers::Noted)
    }

    fn new(revision: Revision, unknown_members: UnknownMembers) -> Self {
        let strict = json_schema::document(revision.strict());
        let mut rewrites = Rewrites(BTreeMap::new());
        visit_types(revision, &mut rewrites);
        Self {
            revision,
            types: rewrites.0,
            closed: compile(&closed(&strict)),
            strict: compile(&strict),
            lenient: compile(&json_schema::document(revision.lenient())),
            unknown_members,
        }
    }

    fn checks(&self, type_name: &str) -> Option<Checks<'_>> {
        let pointer = format!("#/$defs/{type_name}");
        Some(Checks {
            strict: self.strict.get(&pointer)?,
            lenient: self.lenient.get(&pointer)?,
            closed: self.closed.get(&pointer)?,
            rewrite: *self.types.get(type_name)?,
        })
    }

    /// Judges all examples of a folder, laid out as `<Type>/*.json`.
    pub fn folder(&self, folder: &Path, kind: Kind) -> AnyResult<Vec<Verdict>> {
        let examples = folder::examples(folder, kind).with_context(|| format!("in {}", folder.display()))?;
        Ok(examples.iter().map(|example| self.judge(example)).collect())
    }

    /// Judges one example.
    pub fn judge(&self, example: &Example) -> Verdict {
        let mut remarks = Vec::new();
        let status = match self.checks(&example.type_name) {
            None if example.kind == Kind::CounterExample || self.unknown_members == UnknownMembers::Refused => {
                remarks.push("there is no such type in this revision".to_owned());
                Status::Failed
            }
            None => Status::NotDefined,
            Some(checks) => match (Json::parse(&example.text), serde_json::from_str(&example.text)) {
                (Ok(json), Ok(tree)) if example.kind == Kind::Example => {
                    self.example(&checks, &json, &tree, &mut remarks)
                }
                (Ok(json), Ok(tree)) => self.counter_example(&checks, &json, &tree, &mut remarks),
                (Err(error), _) => {
                    remarks.push(error.to_string());
                    Status::Failed
                }
                (_, Err(error)) => {
                    remarks.push(error.to_string());
                    Status::Failed
                }
            },
        };
        Verdict {
            revision: self.revision,
            type_name: example.type_name.clone(),
            file: example.path.clone(),
            kind: example.kind,
            status,
            remarks,
        }
    }

    /// Returns the mistakes of a value, each once and at its path; `None` where we have no such type.
    ///
    /// Schema and parser mostly find the same faults; then the parser's words are plainer.
    pub(crate) fn faults(&self, type_name: &str, value: &Value) -> Option<Vec<Fault>> {
        let checks = self.checks(type_name)?;
        let mut faults = faults(checks.closed.iter_errors(value));
        if let Some(fault) = self.fault_of_parser(&checks, &value.to_string()) {
            faults.retain(|other| other.path != fault.path);
            faults.push(fault);
        }
        Some(faults)
    }

    fn fault_of_parser(&self, checks: &Checks<'_>, text: &str) -> Option<Fault> {
        let dialect = self.revision.strict();
        let read = Json::parse(text).and_then(|json| Ok((json, (checks.rewrite)(text, dialect)?)));
        match read {
            Ok((json, written)) => {
                let reason = self.way_back(checks, &json, &written, dialect)?;
                Some(Fault { path: JsonPath::default().to_string(), reason })
            }
            Err(error) => Some(Fault { path: error.path().to_string(), reason: error.problem().to_string() }),
        }
    }

    fn example(&self, checks: &Checks<'_>, json: &Json, tree: &Value, remarks: &mut Vec<String>) -> Status {
        let strict = self.problems(checks.strict, checks, json, tree, self.revision.strict());
        if !strict.is_empty() {
            let lenient = self.problems(checks.lenient, checks, json, tree, self.revision.lenient());
            remarks.extend(strict);
            let accepted = lenient.is_empty() && self.unknown_members == UnknownMembers::Noted;
            return if accepted { Status::LenientOnly } else { Status::Failed };
        }
        for error in checks.closed.iter_errors(tree) {
            remarks
                .push(format!("unknown member: {}: {error}", JsonPath::from_pointer(error.instance_path().as_str())));
        }
        if remarks.is_empty() || self.unknown_members == UnknownMembers::Noted {
            Status::Passed
        } else {
            Status::Failed
        }
    }

    /// Returns the mistakes of an example in one dialect: those that the schema finds, those that the parser finds, and
    /// any difference after parsing and writing it.
    fn problems(
        &self,
        schema: &Validator,
        checks: &Checks<'_>,
        json: &Json,
        tree: &Value,
        dialect: Dialect,
    ) -> Vec<String> {
        let mut problems: Vec<_> = schema
            .iter_errors(tree)
            .map(|error| format!("schema: {}: {error}", JsonPath::from_pointer(error.instance_path().as_str())))
            .collect();
        match (checks.rewrite)(json.as_str(), dialect) {
            Err(error) => problems.push(format!("parser: {error}")),
            Ok(text) => problems.extend(self.way_back(checks, json, &text, dialect)),
        }
        problems
    }

    /// Compares the written text with the example. Read strictly, they must be equal. Read leniently, the text may only
    /// have the members that lenience filled in, and must stay the same when it is read strictly.
    fn way_back(&self, checks: &Checks<'_>, json: &Json, text: &str, dialect: Dialect) -> Option<String> {
        let same = if dialect.strict {
            Json::parse(text).is_ok_and(|written| written == *json)
        } else {
            let keeps_all = json.to().is_ok_and(|read| serde_json::from_str(text).is_ok_and(|all| holds(&all, &read)));
            keeps_all && (checks.rewrite)(text, self.revision.strict()).is_ok_and(|again| again == text)
        };
        (!same).then(|| format!("comes back as {text}"))
    }

    fn counter_example(&self, checks: &Checks<'_>, json: &Json, tree: &Value, remarks: &mut Vec<String>) -> Status {
        if checks.strict.is_valid(tree) {
            remarks.push("the schema accepts it".to_owned());
        }
        if (checks.rewrite)(json.as_str(), self.revision.strict()).is_ok() {
            remarks.push("the parser accepts it".to_owned());
        }
        if remarks.is_empty() { Status::Passed } else { Status::Failed }
    }
}

impl fmt::Debug for Judge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Judge({})", self.revision)
    }
}

struct Rewrites(BTreeMap<&'static str, Rewrite>);

impl TypeVisitor for Rewrites {
    fn visit<T: Wire>(&mut self, name: &'static str) {
        self.0.insert(name, |text, dialect| {
            let value = T::from_json(text, dialect)?;
            value.to_json(dialect.revision).map_err(|error| ReadError::refused(error.to_string()))
        });
    }
}

/// Compiles the validators of every definition of a document, and of every part of one. Formats are notes to the
/// reader.
pub fn compile(document: &Value) -> ValidatorMap {
    let options = jsonschema::draft202012::options().should_validate_formats(false).offline();
    options.build_map(document).expect("generated schemas are schemas")
}

/// Returns true if `all` has everything that `part` has; it may have further members.
fn holds(all: &Value, part: &Value) -> bool {
    match (all, part) {
        (Value::Object(all), Value::Object(part)) => {
            part.iter().all(|(key, value)| all.get(key).is_some_and(|other| holds(other, value)))
        }
        (Value::Array(all), Value::Array(part)) => {
            all.len() == part.len() && all.iter().zip(part).all(|(all, part)| holds(all, part))
        }
        (all, part) => all == part,
    }
}

/// Serializes a revision by its name, as reports show it: for serde's `serialize_with`.
pub fn as_text<S: serde::Serializer>(revision: &Revision, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(revision)
}
