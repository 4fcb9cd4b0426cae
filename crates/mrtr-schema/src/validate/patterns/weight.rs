//! Estimates, from the text of a pattern, how large it is once compiled: each part counts as often as it is repeated.

/// Returns the estimate, in units of one plain character.
pub(super) fn weight(pattern: &str) -> usize {
    let mut groups = vec![Group::default()];
    let mut rest = pattern;
    while let Some(first) = rest.chars().next() {
        rest = &rest[first.len_utf8()..];
        match first {
            '(' => groups.push(Group::default()),
            ')' => {
                let inner = groups.pop().unwrap_or_default().weight();
                innermost(&mut groups).push(inner.saturating_add(1));
            }
            '{' => match count(rest) {
                Some((times, behind)) => {
                    innermost(&mut groups).repeat(times);
                    rest = behind;
                }
                None => innermost(&mut groups).push(1),
            },
            '[' => {
                let (class, behind) = class(rest);
                innermost(&mut groups).push(class);
                rest = behind;
            }
            '\\' => {
                let (escape, behind) = escape(rest);
                innermost(&mut groups).push(escape);
                rest = behind;
            }
            '.' => innermost(&mut groups).push(ANY),
            _ => innermost(&mut groups).push(1),
        }
    }
    groups.iter().fold(0, |weight, group| weight.saturating_add(group.weight()))
}

/// The weight of what stands between two parentheses.
#[derive(Default)]
struct Group {
    before: usize,
    /// The weight that a count that follows would repeat.
    last: usize,
}

impl Group {
    fn push(&mut self, weight: usize) {
        self.before = self.weight();
        self.last = weight;
    }

    fn repeat(&mut self, times: usize) {
        self.last = self.last.saturating_mul(times);
    }

    fn weight(&self) -> usize {
        self.before.saturating_add(self.last)
    }
}

/// Returns the innermost group. A parenthesis too many is not ours to refuse.
fn innermost(groups: &mut Vec<Group>) -> &mut Group {
    if groups.is_empty() {
        groups.push(Group::default());
    }
    let last = groups.len() - 1;
    &mut groups[last]
}

/// Reads a count behind a brace, if it is one. Returns the most repetitions, and the text behind the count.
fn count(text: &str) -> Option<(usize, &str)> {
    let (counts, behind) = text.split_once('}')?;
    let (least, most) = counts.split_once(',').unwrap_or((counts, counts));
    let number = |text: &str| {
        let text = text.trim();
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse().unwrap_or(usize::MAX))
    };
    let (least, most) = (number(least), number(most));
    // Without an end it is repeated once more, in a loop.
    let times = most.or_else(|| least.map(|least| least.saturating_add(1)))?;
    Some((times.max(1), behind))
}

/// Reads a class of characters, up to the bracket that closes it. Returns its weight, and the text behind it.
fn class(text: &str) -> (usize, &str) {
    let (mut weight, mut rest) = (ANY, text);
    while let Some(first) = rest.chars().next() {
        rest = &rest[first.len_utf8()..];
        match first {
            ']' => break,
            '\\' => {
                let (escape, behind) = escape(rest);
                weight += escape;
                rest = behind;
            }
            _ => weight += 1,
        }
    }
    (weight, rest)
}

/// Reads the characters behind a backslash, with a name in braces. Returns their weight, and the text behind them.
fn escape(text: &str) -> (usize, &str) {
    let Some(first) = text.chars().next() else { return (1, text) };
    let rest = &text[first.len_utf8()..];
    let weight = match first {
        'p' | 'P' => PROPERTY,
        'W' | 'D' | 'S' => ANY,
        _ => 1,
    };
    let named = rest.strip_prefix('{').filter(|_| matches!(first, 'p' | 'P' | 'u' | 'x'));
    (weight, named.and_then(|named| named.split_once('}')).map_or(rest, |(_, behind)| behind))
}

/// Any character, of up to four bytes.
const ANY: usize = 8;
/// A property of characters, such as `\p{L}`: hundreds of ranges.
const PROPERTY: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_weighs_as_often() {
        for (pattern, expected) in [
            ("", 0),
            ("abc", 3),
            ("^a{3}$", 5),
            ("a{2,5}", 5),
            ("a{4,}", 5),
            ("a{0}", 1),
            ("(ab){10}", 30),
            ("((a{10}b){10}c){10}", 1220),
            (r"\d{4}-\d{2}", 7),
            (".{10}", 80),
            (r"\W{2}\D{2}\S{2}", 48),
            (r"\p{L}{10}", 5120),
            (r"\u{1000}", 1),
            (r"\{4}", 3),
            (r"[a-z]{10}", 110),
            (r"[\]\p{L}]{2}", 1042),
            ("x{", 2),
            ("{2}", 0),
            ("x{,7}", 7),
            ("x{y}", 4),
            (")){7}", 14),
            ("(((", 0),
        ] {
            assert_eq!(weight(pattern), expected, "{pattern}");
        }
        assert_eq!(weight("(((a{999999999}){999999999}){99999999999999999999}){9}"), usize::MAX);
    }
}
