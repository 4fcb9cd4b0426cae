//! What callgrind wrote of a process: how many instructions it took, and how often functions were called.

use std::collections::HashMap;

/// A profile, as far as it is read.
#[derive(Debug, Default)]
pub(super) struct Profile {
    pub(super) instructions: Option<u64>,
    /// How often each function was called, by its name.
    calls: HashMap<String, u64>,
}

impl Profile {
    /// Names are written out once, with a number that stands for them afterwards.
    pub(super) fn parse(text: &str) -> Self {
        let (mut profile, mut names, mut called) = (Self::default(), HashMap::new(), None);
        for line in text.lines() {
            if let Some((number, name)) = line.strip_prefix("fn=").and_then(numbered) {
                names.entry(number).or_insert(name);
            } else if let Some((number, name)) = line.strip_prefix("cfn=").and_then(numbered) {
                called = Some(*names.entry(number).or_insert(name));
            } else if let (Some(count), Some(name)) = (line.strip_prefix("calls="), called) {
                let count = count.split(' ').next().and_then(|count| count.parse::<u64>().ok());
                *profile.calls.entry(name.to_owned()).or_default() += count.unwrap_or_default();
            } else if let Some(count) = line.strip_prefix("summary: ") {
                profile.instructions = count.trim().parse().ok();
            }
        }
        profile
    }

    /// How often functions were called that this is true of.
    pub(super) fn calls(&self, is_meant: impl Fn(&str) -> bool) -> u64 {
        self.calls.iter().filter(|(name, _)| is_meant(name)).map(|(_, count)| count).sum()
    }
}

/// Such as `(12) main`, or `(12)` alone.
fn numbered(text: &str) -> Option<(&str, &str)> {
    let (number, name) = text.strip_prefix('(')?.split_once(')')?;
    Some((number, name.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_has_its_summary_and_its_calls() {
        let text = "version: 1\nevents: Ir\nsummary: 4522\n\nfn=(1) main\n16 400\ncfn=(2) malloc\ncalls=3 20\n16 30\n\
                    cfn=(3) parse\ncalls=1 8\n17 5\n\nfn=(3)\n18 1\ncfn=(2)\ncalls=4 20\n18 9\ntotals: 4522\n";
        let profile = Profile::parse(text);
        assert_eq!(profile.instructions, Some(4522));
        assert_eq!(profile.calls(|name| name == "malloc"), 7);
        assert_eq!(profile.calls(|name| name.ends_with("parse")), 1);
        assert_eq!(Profile::parse("events: Ir\n").instructions, None);
    }
}
