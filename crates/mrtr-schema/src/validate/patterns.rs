//! Bounds the work that a schema can ask for with its patterns: to compile one may take a thousand times its text.

mod weight;

use std::collections::HashSet;

use jsonschema::{FancyRegex, PatternOptions};
use serde_json::Value;

use weight::weight;

/// Returns the options to compile the patterns of a schema with, if they are few and short enough.
///
/// The patterns that are heavy by their text share the room for what is compiled, so that a single one may be large.
/// The weight is only an estimate, so there is at least one share for each sixteen patterns, whatever they weigh.
pub(super) fn options(schema: &Value) -> Result<PatternOptions<FancyRegex>, String> {
    let mut patterns = HashSet::new();
    collect(schema, &mut patterns);
    if patterns.len() > MOST {
        return Err(format!("it has {} patterns, and {MOST} are allowed", patterns.len()));
    }
    if let Some(long) = patterns.iter().find(|pattern| pattern.len() > LONGEST) {
        return Err(format!("it has a pattern of {} bytes, and {LONGEST} are allowed", long.len()));
    }
    let length: usize = patterns.iter().map(|pattern| pattern.len()).sum();
    if length > LONGEST_TOGETHER {
        return Err(format!("its patterns have {length} bytes, and {LONGEST_TOGETHER} are allowed together"));
    }
    let heavy: usize = patterns.iter().filter(|pattern| weight(pattern) > LIGHT).map(|pattern| parts(pattern)).sum();
    let all: usize = patterns.iter().map(|pattern| parts(pattern)).sum();
    let room = ROOM / heavy.max(all.div_ceil(16)).max(1);
    Ok(PatternOptions::fancy_regex().backtrack_limit(MOST_BACKTRACKING).size_limit(room).dfa_size_limit(room))
}

/// Collects the texts that may be patterns, each once: equal ones are compiled once.
fn collect<'a>(schema: &'a Value, patterns: &mut HashSet<&'a str>) {
    match schema {
        Value::Object(members) => {
            for (key, value) in members {
                match (key.as_str(), value) {
                    ("pattern", Value::String(pattern)) => drop(patterns.insert(pattern)),
                    ("patternProperties", Value::Object(properties)) => {
                        patterns.extend(properties.keys().map(String::as_str));
                    }
                    _ => {}
                }
                collect(value, patterns);
            }
        }
        Value::Array(elements) => elements.iter().for_each(|element| collect(element, patterns)),
        _ => {}
    }
}

/// Returns the most programs that are made of a pattern. One is enough, unless the pattern looks around or refers back:
/// then each such place has its own, and so has the text between two of them.
fn parts(pattern: &str) -> usize {
    let looks_around = |start: &str| LOOKS.iter().any(|look| start.starts_with(look));
    let refers_back = |start: &str| {
        start.strip_prefix('\\').is_some_and(|rest| rest.starts_with(|next: char| next == 'k' || next.is_ascii_digit()))
    };
    let places = pattern.char_indices().map(|(at, _)| &pattern[at..]);
    1 + 2 * places.filter(|start| looks_around(start) || refers_back(start)).count()
}

const LOOKS: [&str; 4] = ["(?=", "(?!", "(?<=", "(?<!"];

const MOST: usize = 256;
const LONGEST: usize = 2 << 10;
const LONGEST_TOGETHER: usize = 16 << 10;
/// The room for all that is compiled, in bytes as the compiler of patterns counts them.
const ROOM: usize = 16 << 20;
/// The weight up to which a pattern compiles to so little that it needs no share of the room.
const LIGHT: usize = 4096;
/// The most steps back while a pattern is matched. It may come from the peer, who must not be able to keep us busy.
const MOST_BACKTRACKING: usize = 100_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_that_looks_around_or_back_is_of_several_parts() {
        for (pattern, expected) in [
            ("a+", 1),
            ("(?=a)b", 3),
            ("(?!a)(?<=b)c(?<!d)", 7),
            (r"(a)\1", 3),
            (r"(?<n>a)\k<n>\1", 5),
            (r"\d\w(?:a)", 1),
        ] {
            assert_eq!(parts(pattern), expected, "{pattern}");
        }
    }
}
