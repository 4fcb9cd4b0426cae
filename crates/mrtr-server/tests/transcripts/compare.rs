//! Compares a reply with the one that a script expects, member by member.

use serde_json::Value;

/// A value of which only its presence matters.
const ANY: &str = "$any";
/// A state, whose text is the server's own business.
pub(crate) const STATE: &str = "$state";

/// Lists the places where a value is not what is expected: a line each, with a JSON pointer.
pub(crate) fn differences(expected: &Value, found: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    compare(expected, found, "", &mut lines);
    lines
}

fn compare(expected: &Value, found: &Value, at: &str, lines: &mut Vec<String>) {
    match (expected, found) {
        (Value::String(marker), _) if marker == ANY => {}
        (Value::String(marker), Value::String(state)) if marker == STATE && !state.is_empty() => {}
        (Value::Object(expected), Value::Object(found)) => {
            for (name, value) in expected {
                match found.get(name) {
                    Some(found) => compare(value, found, &format!("{at}/{name}"), lines),
                    None => lines.push(format!("{at}/{name}: {value} is missing")),
                }
            }
            let added = found.iter().filter(|(name, _)| !expected.contains_key(*name));
            lines.extend(added.map(|(name, value)| format!("{at}/{name}: {value} is too much")));
        }
        (Value::Array(expected), Value::Array(found)) if expected.len() == found.len() => {
            for (place, (expected, found)) in expected.iter().zip(found).enumerate() {
                compare(expected, found, &format!("{at}/{place}"), lines);
            }
        }
        (expected, found) if expected == found => {}
        (expected, found) => lines.push(format!("{at}: {found} in place of {expected}")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_order_of_members_does_not_matter() {
        let (one, other) = (r#"{"a": 1, "b": [2]}"#, r#"{"b": [2], "a": 1}"#);
        let (one, other) = (serde_json::from_str(one).unwrap(), serde_json::from_str(other).unwrap());
        assert_eq!(differences(&one, &other), [""; 0]);
    }

    #[test]
    fn what_is_missing_too_much_or_another_value_is_found_where_it_is() {
        let expected = json!({ "result": { "isError": false, "content": [{ "text": "a" }] } });
        let found = json!({ "result": { "content": [{ "text": "b" }], "_meta": {} } });
        let lines = [
            "/result/isError: false is missing",
            r#"/result/content/0/text: "b" in place of "a""#,
            "/result/_meta: {} is too much",
        ];
        let mut differences = differences(&expected, &found);
        differences.sort_by_key(|line| lines.iter().position(|expected| expected == line));
        assert_eq!(differences, lines);
    }

    #[test]
    fn lists_of_other_lengths_differ_as_a_whole() {
        assert_eq!(differences(&json!([1]), &json!([1, 2])), [": [1,2] in place of [1]"]);
    }

    #[test]
    fn a_marked_value_must_be_there_and_a_state_must_be_one() {
        let expected = json!({ "message": ANY, "requestState": STATE });
        assert_eq!(differences(&expected, &json!({ "message": 1, "requestState": "v1.x" })), [""; 0]);
        assert_eq!(differences(&expected, &json!({ "requestState": "" })).len(), 2);
    }
}
