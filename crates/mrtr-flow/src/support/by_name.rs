//! Maps by names that the author of a server chose.

use foldhash::HashMap;
use indexmap::IndexMap;

/// A map by names that the author chose, in their order. No stranger adds to it, so a quick hash will do.
pub type ByName<V> = IndexMap<String, V, foldhash::fast::RandomState>;

/// A run's values by name, in the order in which they came. Most runs use few names, and a linear scan is faster than
/// hashing: to put one name in and look it up twice takes 500 instructions, and 925 with [`ByName`]; two names take 810
/// and 1,493, five take 2,280 and 4,193 (callgrind). A first round takes 24,500 in all, a final one 43,700.
#[derive(Debug)]
pub(crate) struct Names<V> {
    entries: Vec<(Box<str>, V)>,
    /// The place of each name, once there are more than a few.
    places: Option<Box<HashMap<String, usize>>>,
}

impl<V> Default for Names<V> {
    fn default() -> Self {
        Self { entries: Vec::new(), places: None }
    }
}

impl<V> Names<V> {
    pub(crate) fn contains(&self, name: &str) -> bool {
        self.place(name).is_some()
    }

    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut V> {
        self.place(name).map(|place| &mut self.entries[place].1)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &V)> {
        self.entries.iter().map(|(name, value)| (&**name, value))
    }

    /// Returns the value under a name, after putting this one there if there was none.
    pub(crate) fn get_or_insert(&mut self, name: &str, value: V) -> &mut V {
        let place = self.place(name).unwrap_or_else(|| self.push(name, value));
        &mut self.entries[place].1
    }

    /// Keeps something under a name, and returns true if nothing was there.
    pub(crate) fn insert_new(&mut self, name: &str, value: V) -> bool {
        let is_new = !self.contains(name);
        if is_new {
            self.push(name, value);
        }
        is_new
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|(name, _)| &**name)
    }

    /// Returns the name at this place.
    pub(crate) fn name_at(&self, place: usize) -> Option<&str> {
        self.entries.get(place).map(|(name, _)| &**name)
    }

    /// Returns the place of a name, which never changes.
    pub(crate) fn place(&self, name: &str) -> Option<usize> {
        match &self.places {
            None => self.entries.iter().position(|(other, _)| **other == *name),
            Some(places) => places.get(name).copied(),
        }
    }

    fn push(&mut self, name: &str, value: V) -> usize {
        let place = self.entries.len();
        self.entries.push((name.into(), value));
        if place >= FEW {
            let added = if self.places.is_none() { 0 } else { place };
            let added = self.entries.iter().enumerate().skip(added);
            let added = added.map(|(place, (name, _))| (name.to_string(), place));
            self.places.get_or_insert_default().extend(added);
        }
        place
    }
}

const FEW: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_names_and_many_are_kept_alike() {
        let mut names = Names::default();
        for number in 0..3 * FEW {
            for name in 0..=number {
                let is_new = names.insert_new(&name.to_string().repeat(name + 1), name);
                assert_eq!(is_new, name == number, "{name} of {number}");
            }
            assert!(!names.contains("other"));
        }
        *names.get_or_insert("3333", 0) += 100;
        let long = "20".repeat(21);
        let mut get = |name: &str| names.get_mut(name).copied();
        assert_eq!((get("3333"), get(&long), get("other")), (Some(103), Some(20), None));
        assert_eq!(*names.get_or_insert("other", 7), 7);
        let all: Vec<_> = names.names().collect();
        assert_eq!((all.len(), all[0], all[3 * FEW]), (3 * FEW + 1, "0", "other"));
    }
}
