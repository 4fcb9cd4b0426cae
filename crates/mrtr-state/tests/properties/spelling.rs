//! Honest spellings of a JSON value: other spaces, another order of keys, other escapes, other numerals.

use std::fmt::Write;

use crate::tree::{Decimal, Tree};

/// Makes choices. The same seed makes the same ones, so that a failure can be repeated.
pub(crate) struct Scribe(fastrand::Rng);

impl Scribe {
    pub(crate) fn new(seed: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed))
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0.usize(..bound)
    }

    fn one_in(&mut self, many: usize) -> bool {
        self.below(many) == 0
    }

    fn pick(&mut self, among: &[&'static str]) -> &'static str {
        among[self.below(among.len())]
    }

    fn space(&mut self) -> &'static str {
        self.pick(&["", "", "", " ", "\n", "\t", "\r\n  "])
    }

    pub(crate) fn value(&mut self, tree: &Tree) -> String {
        let text = match tree {
            Tree::Null => "null".to_owned(),
            Tree::Bool(bool) => bool.to_string(),
            Tree::Number(number) => self.number(number),
            Tree::Beyond(text) => text.clone(),
            Tree::Text(text) => self.text(text),
            Tree::Array(elements) => {
                let elements: Vec<_> = elements.iter().map(|element| self.value(element)).collect();
                format!("[{}{}]", self.space(), elements.join(","))
            }
            Tree::Object(members) => self.object(members.iter().map(|(key, value)| (&**key, value)).collect()),
        };
        format!("{}{text}{}", self.space(), self.space())
    }

    /// Members in any order.
    pub(crate) fn object(&mut self, mut members: Vec<(&str, &Tree)>) -> String {
        let mut written = Vec::new();
        while !members.is_empty() {
            let (key, value) = members.swap_remove(self.below(members.len()));
            written.push(format!("{}{}{}:{}", self.space(), self.text(key), self.space(), self.value(value)));
        }
        format!("{{{}{}}}", self.space(), written.join(","))
    }

    fn text(&mut self, text: &str) -> String {
        let mut quoted = String::from("\"");
        for character in text.chars() {
            let must = character < ' ' || "\"\\".contains(character);
            let short = "\"\\/\u{8}\u{c}\n\r\t".chars().zip(r#""\/bfnrt"#.chars()).find(|(long, _)| *long == character);
            match short {
                Some((_, letter)) if self.one_in(2) => quoted.extend(['\\', letter]),
                _ if must || self.one_in(4) => self.escape(character, &mut quoted),
                _ => quoted.push(character),
            }
        }
        quoted.push('"');
        quoted
    }

    fn escape(&mut self, character: char, out: &mut String) {
        for unit in character.encode_utf16(&mut [0; 2]) {
            let _ = if self.one_in(2) { write!(out, "\\u{unit:04x}") } else { write!(out, "\\u{unit:04X}") };
        }
    }

    fn number(&mut self, Decimal { negative, digits, exponent }: &Decimal) -> String {
        let sign = if *negative { "-" } else { "" };
        if digits == "0" {
            return self.pick(&["0", "-0", "0.0", "-0.00", "0e7", "0E-3", "-0.0e+2"]).to_owned();
        }
        // Zeros after the digits, and then the point anywhere among them, or zeros between the point and the digits.
        let zeros = self.below(4);
        let digits = format!("{digits}{}", "0".repeat(zeros));
        let before_point = self.below(digits.len() + 1);
        let (whole, fraction) = digits.split_at(before_point);
        let after_point = if whole.is_empty() { self.below(3) } else { 0 };
        let shift = i64::try_from(fraction.len() + after_point).unwrap() - i64::try_from(zeros).unwrap();
        let whole = if whole.is_empty() { "0" } else { whole };
        let fraction = format!("{}{fraction}", "0".repeat(after_point));
        let point = if fraction.is_empty() { "" } else { "." };
        format!("{sign}{whole}{point}{fraction}{}", self.exponent(exponent + shift))
    }

    fn exponent(&mut self, exponent: i64) -> String {
        if exponent == 0 && self.one_in(2) {
            return String::new();
        }
        let sign = if exponent < 0 { "-" } else { self.pick(&["", "+"]) };
        format!("{}{sign}{}{}", self.pick(&["e", "E"]), self.pick(&["", "0", "00"]), exponent.unsigned_abs())
    }
}
