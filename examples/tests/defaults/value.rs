//! A default's value, and the ways in which a document may spell it.

use std::fmt;
use std::time::Duration;

/// An amount, a time or a number.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Value {
    Count(u64),
    Bytes(u64),
    Time(Duration),
}

pub(crate) fn count(count: impl TryInto<u64, Error: fmt::Debug>) -> Value {
    Value::Count(count.try_into().unwrap())
}

pub(crate) fn bytes(bytes: impl TryInto<u64, Error: fmt::Debug>) -> Value {
    Value::Bytes(bytes.try_into().unwrap())
}

pub(crate) fn time(time: Duration) -> Value {
    Value::Time(time)
}

impl Value {
    /// The spellings of a value: as the table has it, and in words.
    pub(crate) fn spellings(self) -> Vec<String> {
        let mut spellings = vec![self.to_string()];
        match self {
            Self::Count(count) => spellings.extend(in_words(count)),
            Self::Bytes(bytes) => spellings.push(format!("{} bytes", grouped(bytes))),
            Self::Time(time) => {
                let (number, unit) = in_units(time);
                let (_, singular, article) = UNITS.into_iter().find(|(short, ..)| *short == unit).unwrap();
                let plural = if number == 1 { singular.to_owned() } else { format!("{singular}s") };
                spellings.push(format!("{number} {plural}"));
                spellings.extend(in_words(number).map(|words| format!("{words} {plural}")));
                spellings.extend((number == 1).then(|| format!("{article} {singular}")));
                spellings.extend((time == Duration::from_hours(24)).then(|| "a day".to_owned()));
            }
        }
        let capitals: Vec<_> = spellings.iter().map(|spelling| capitalised(spelling)).collect();
        spellings.extend(capitals);
        spellings
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Count(count) => write!(f, "{count}"),
            Self::Bytes(bytes) => {
                match [(30, "GiB"), (20, "MiB"), (10, "KiB")].into_iter().find(|(bits, _)| bytes % (1 << bits) == 0) {
                    Some((bits, unit)) => write!(f, "{} {unit}", bytes >> bits),
                    None => write!(f, "{bytes} bytes"),
                }
            }
            Self::Time(time) => {
                let (number, unit) = in_units(time);
                write!(f, "{number} {unit}")
            }
        }
    }
}

const UNITS: [(&str, &str, &str); 4] =
    [("ms", "millisecond", "a"), ("s", "second", "a"), ("min", "minute", "a"), ("h", "hour", "an")];

/// The time in the largest unit of which it is a whole number.
fn in_units(time: Duration) -> (u64, &'static str) {
    let (seconds, millis) = (time.as_secs(), time.subsec_millis());
    match () {
        () if millis != 0 => (u64::try_from(time.as_millis()).unwrap(), "ms"),
        () if seconds == 0 => (0, "s"),
        () if seconds % 3600 == 0 => (seconds / 3600, "h"),
        () if seconds % 60 == 0 => (seconds / 60, "min"),
        () => (seconds, "s"),
    }
}

fn in_words(number: u64) -> Option<String> {
    let words = [(1, "one"), (2, "two"), (3, "three"), (8, "eight"), (10, "ten"), (100_000, "a hundred thousand")];
    words.iter().find(|(known, _)| *known == number).map(|(_, words)| (*words).to_owned())
}

/// The number in groups of three digits: `65 536`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(|group| std::str::from_utf8(group).unwrap());
    groups.collect::<Vec<_>>().join(" ")
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
