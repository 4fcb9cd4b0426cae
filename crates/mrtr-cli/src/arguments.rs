//! Arguments of a tool on a command line: `name=value`, made into JSON by the tool's schema.

mod wanted;

use anyhow::{Result, bail};
use mrtr::schema::{Json, Printable, Tool};
use mrtr_schema::SchemaCheck;
use serde_json::{Map, Value};

use crate::failure::Failure;
use wanted::Wanted;

/// The arguments of a call: each `name=value` as the tool wants it.
pub(crate) fn from_pairs(tool: &Tool, pairs: &[String]) -> Result<Map<String, Value>> {
    let schema = Schema::of(tool);
    let mut arguments = Map::new();
    for pair in pairs {
        let Some((name, text)) = pair.split_once('=') else {
            let first = schema.names().next().unwrap_or("name").to_owned();
            bail!(Failure::usage(format!("`{pair}` is not an argument")).next(format!(
                "write name=value, such as {}, or all of them as --json '{{…}}'",
                schema.example(&first)
            )));
        };
        let value = schema.value(name, text)?;
        if arguments.insert(name.to_owned(), value).is_some() {
            bail!(Failure::usage(format!("the argument `{name}` is given twice")).next("give it once"));
        }
    }
    schema.check(&arguments)?;
    Ok(arguments)
}

/// The arguments of a call, as JSON.
pub(crate) fn from_json(tool: &Tool, text: &str) -> Result<Map<String, Value>> {
    match serde_json::from_str(text) {
        Ok(Value::Object(arguments)) => {
            Schema::of(tool).check(&arguments)?;
            Ok(arguments)
        }
        Ok(_) => bail!(Failure::usage("--json takes an object").next("such as --json '{\"name\": \"value\"}'")),
        Err(error) => bail!(
            Failure::usage(format!("the value of --json is not JSON: {error}"))
                .next("quote it for your shell, such as --json '{\"name\": \"value\"}'")
        ),
    }
}

/// The names of arguments that are sent to a tool which declares none, in words, if there are any.
pub(crate) fn undeclared(tool: &Tool, arguments: &Map<String, Value>) -> Option<String> {
    let names: Vec<_> = arguments.keys().map(|name| format!("`{}`", Printable::line(name))).collect();
    let is_silent = || Schema::of(tool).names().next().is_none();
    (!names.is_empty() && is_silent()).then(|| names.join(", "))
}

/// Keywords by which a schema names arguments in other places than its own `properties`.
const NAMES_ELSEWHERE: [&str; 6] = ["$ref", "allOf", "anyOf", "oneOf", "if", "patternProperties"];

/// The arguments that a tool takes.
struct Schema<'a> {
    tool: &'a Tool,
    root: Value,
}

impl<'a> Schema<'a> {
    fn of(tool: &'a Tool) -> Self {
        Self { tool, root: serde_json::from_str(tool.input_schema.as_object().as_str()).unwrap_or_default() }
    }

    fn properties(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.root.get("properties").and_then(Value::as_object).into_iter().flatten()
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.properties().map(|(name, _)| name.as_str())
    }

    fn wanted(&self, name: &str) -> Option<Wanted<'_>> {
        self.properties().find(|(known, _)| *known == name).map(|(_, schema)| Wanted::of(schema, &self.root))
    }

    /// Reads a text as the value that the tool wants under this name.
    fn value(&self, name: &str, text: &str) -> Result<Value> {
        match self.wanted(name) {
            Some(wanted) => wanted.value(text).ok_or_else(|| {
                let shown = Printable::line(text);
                let what = match wanted.json_error(text) {
                    Some(error) => format!("`{shown}`, for the argument `{name}`, is not JSON: {error}"),
                    None => format!("`{shown}` does not fit the argument `{name}`"),
                };
                self.mistake(what, name).into()
            }),
            None if !self.takes_others() => Err(self.unknown(name)),
            // The tool says nothing about this argument: a text that reads as JSON is JSON.
            None => Ok(serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))),
        }
    }

    /// Returns true if the tool may take arguments besides those that it names at the top of its schema.
    fn takes_others(&self) -> bool {
        let has = |keyword: &&str| self.root.get(*keyword).is_some();
        match self.root.get("additionalProperties") {
            Some(others) => others != &Value::Bool(false) || has(&"patternProperties"),
            None => self.names().next().is_none() || NAMES_ELSEWHERE.iter().any(has),
        }
    }

    /// Checks all arguments together: that the tool takes each, that none is missing, and that each is within its
    /// bounds.
    fn check(&self, arguments: &Map<String, Value>) -> Result<()> {
        let is_unknown = |name: &&String| self.wanted(name).is_none() && !self.takes_others();
        if let Some(name) = arguments.keys().find(is_unknown) {
            return Err(self.unknown(name));
        }
        let required = self.root.get("required").and_then(Value::as_array).into_iter().flatten();
        if let Some(name) = required.filter_map(Value::as_str).find(|name| !arguments.contains_key(*name)) {
            return Err(self.mistake(format!("the argument `{}` is missing", Printable::line(name)), name).into());
        }
        // Only the server can mend a schema that cannot be used; it checks the arguments itself.
        let Ok(check) = SchemaCheck::new(self.tool.input_schema.as_object().as_raw()) else { return Ok(()) };
        let value = Json::from(Value::Object(arguments.clone()));
        let Err(violations) = check.check(value.as_raw()) else { return Ok(()) };
        let Some(first) = violations.iter().next() else { return Ok(()) };
        let path = first.path.to_string();
        let name = path.trim_start_matches("$.").split(['.', '[']).next().unwrap_or_default().to_owned();
        let reason = Printable::line(&first.reason).to_string();
        Err(match self.wanted(&name) {
            Some(_) => self.mistake(format!("the argument `{name}` does not fit: {reason}"), &name),
            None => Failure::usage(format!("the arguments do not fit: {reason}")).next(self.how_to_list()),
        }
        .into())
    }

    fn unknown(&self, name: &str) -> anyhow::Error {
        let what =
            format!("the tool `{}` takes no argument `{}`", Printable::line(&self.tool.name), Printable::line(name));
        let failure = Failure::usage(what);
        match nearest(name, self.names()) {
            Some(near) => failure.next(format!("did you mean {}?", self.example(near))),
            None => failure.next(
                match self.names().map(|name| format!("`{}`", Printable::line(name))).collect::<Vec<_>>() {
                    none if none.is_empty() => "it takes none".to_owned(),
                    names => format!("it takes {}", names.join(", ")),
                },
            ),
        }
        .into()
    }

    fn mistake(&self, what: String, name: &str) -> Failure {
        let failure = Failure::usage(what);
        match self.wanted(name) {
            Some(wanted) => failure.next(format!("wanted is {wanted}, such as {}", self.example(name))),
            None => failure.next(self.how_to_list()),
        }
    }

    fn example(&self, name: &str) -> String {
        let value = self.wanted(name).map_or("value".to_owned(), |wanted| wanted.example());
        format!("{}={value}", Printable::line(name))
    }

    fn how_to_list(&self) -> String {
        format!("`mrtr tools … --json` shows what `{}` takes", Printable::line(&self.tool.name))
    }
}

/// The name that may have been meant, if one is near enough.
pub(crate) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let near = known.map(|known| (strsim::damerau_levenshtein(&name.to_lowercase(), &known.to_lowercase()), known));
    near.min().filter(|(distance, known)| *distance <= 1 + known.len().min(name.len()) / 3).map(|(_, known)| known)
}
