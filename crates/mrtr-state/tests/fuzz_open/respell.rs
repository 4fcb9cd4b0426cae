//! Other spellings of the same JSON.

use mrtr_schema::RawMembers;
use serde_json::value::RawValue;

/// With spaces wherever there may be some.
pub(super) fn spaced(text: &str) -> String {
    let mut out = String::new();
    let mut in_string = false;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => in_string = !in_string,
            '\\' => {
                out.push('\\');
                out.extend(characters.next());
                continue;
            }
            '{' | '}' | '[' | ']' | ':' | ',' if !in_string => {
                out.extend([' ', character, '\n', '\t', '\r']);
                continue;
            }
            _ => {}
        }
        out.push(character);
    }
    out
}

/// With keys in reverse, strings all in escapes, numbers with zeros added, and without what belongs to the round.
pub(super) fn respelt(params: &RawMembers<'_>) -> String {
    let mut out = String::new();
    let request = params.iter().filter(|(key, _)| !OF_THE_ROUND.contains(key));
    write_object(request, &mut out);
    out
}

const OF_THE_ROUND: [&str; 4] = ["_meta", "inputResponses", "requestState", "task"];

fn write_object<'a>(members: impl Iterator<Item = (&'a str, &'a RawValue)>, out: &mut String) {
    let mut members: Vec<_> = members.collect();
    members.reverse();
    out.push('{');
    for (index, (key, value)) in members.into_iter().enumerate() {
        out.push_str(if index == 0 { "" } else { "," });
        write_string(key, out);
        out.push(':');
        write_value(value, out);
    }
    out.push('}');
}

fn write_value(value: &RawValue, out: &mut String) {
    match value.get().as_bytes()[0] {
        b'{' => write_object(RawMembers::of(value).expect("it was digested").iter(), out),
        b'[' => {
            let elements: Vec<&RawValue> = serde_json::from_str(value.get()).expect("it is an array");
            out.push('[');
            for (index, element) in elements.into_iter().enumerate() {
                out.push_str(if index == 0 { "" } else { "," });
                write_value(element, out);
            }
            out.push(']');
        }
        b'"' => write_string(&serde_json::from_str::<String>(value.get()).expect("it is text"), out),
        b'-' | b'0'..=b'9' => write_number(value.get(), out),
        _ => out.push_str(value.get()),
    }
}

fn write_string(text: &str, out: &mut String) {
    out.push('"');
    out.extend(text.encode_utf16().map(|unit| format!("\\u{unit:04X}")));
    out.push('"');
}

fn write_number(text: &str, out: &mut String) {
    let (mantissa, exponent) = text.find(['e', 'E']).map_or((text, ""), |at| text.split_at(at));
    // Beyond 64 bits an exponent is compared by its spelling alone.
    let huge = exponent.len() > 18;
    let zeros = match mantissa.contains('.') {
        _ if huge => "",
        true => "000",
        false => ".00",
    };
    out.extend([mantissa, zeros, exponent]);
    out.push_str(if exponent.is_empty() { "e-0" } else { "" });
}
