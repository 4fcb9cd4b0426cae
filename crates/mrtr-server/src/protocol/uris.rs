//! Many URIs in little room: one text, and where each of them ends in it.

use mrtr_schema::HeapSize;

/// A set of URIs. A list of texts would take sixty bytes for each, which for short ones is most of it.
#[derive(Debug, Default)]
pub(super) struct Uris {
    /// All of them, one after the other, in order.
    text: Box<str>,
    /// Where each ends.
    ends: Box<[u32]>,
}

impl Uris {
    /// Takes in those that are not longer together than can be counted, which no message is.
    pub(super) fn new(uris: &[String]) -> Self {
        let mut sorted: Vec<&str> = uris.iter().map(String::as_str).collect();
        sorted.sort_unstable();
        sorted.dedup();
        let mut end = 0_usize;
        let ends = sorted.iter().map_while(|uri| {
            end += uri.len();
            u32::try_from(end).ok()
        });
        let ends: Box<[u32]> = ends.collect();
        Self { text: sorted[..ends.len()].concat().into(), ends }
    }

    pub(super) fn contains(&self, uri: &str) -> bool {
        let (mut low, mut high) = (0, self.ends.len());
        while low < high {
            let middle = low.midpoint(high);
            match self.at(middle).cmp(uri) {
                std::cmp::Ordering::Equal => return true,
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        false
    }

    fn at(&self, place: usize) -> &str {
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        &self.text[start..self.ends[place] as usize]
    }
}

impl HeapSize for Uris {
    fn heap_bytes(&self) -> usize {
        self.text.heap_bytes() + size_of_val(&*self.ends)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_what_was_put_in_and_nothing_else() {
        let uris = ["b", "a", "", "abc", "a"].map(str::to_owned);
        let set = Uris::new(&uris);
        assert!(uris.iter().all(|uri| set.contains(uri)));
        assert!(["ab", "c", "ba", "aabcb"].iter().all(|uri| !set.contains(uri)));
        assert!(!Uris::default().contains(""));
        assert_eq!(&*set.text, "aabcb", "each is there once");
    }
}
