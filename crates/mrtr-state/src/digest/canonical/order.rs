//! Which objects came unsorted, and the digest that takes their members in order.

use std::cmp::Ordering;
use std::ops::Range;

use sha2::{Digest, Sha256};

use crate::DigestError;

/// The members of objects, as places in what has been written.
///
/// Moving the bytes of each unsorted object when it ends would move the innermost ones once for each level around
/// them. So they stay where they are until all is written, and are then hashed in order, each once.
pub(super) struct Order {
    /// Members of the objects that are still open, those of the innermost last.
    open: Vec<Member>,
    /// The objects that ended unsorted.
    unsorted: Vec<Unsorted>,
    /// Their members, in order.
    members: Vec<Member>,
}

/// An object that is being written.
pub(super) struct Object {
    brace: usize,
    /// Where its members begin among those of all open objects.
    first: usize,
    sorted: bool,
}

/// The key of a member: where its text is written, and its first bytes, which tell most keys apart.
#[derive(Clone, Copy)]
pub(super) struct Key {
    first: u64,
    start: usize,
    end: usize,
}

#[derive(Clone, Copy)]
struct Member {
    start: usize,
    end: usize,
    key: Key,
}

struct Unsorted {
    brace: usize,
    /// Where its last member ends.
    end: usize,
    members: Range<usize>,
}

impl Key {
    /// A key whose text was just written, up to there.
    pub(super) fn new(text: &[u8], end: usize) -> Self {
        let byte = |at| text.get(at).map_or(0, |byte| u64::from(*byte));
        let first = match text.first_chunk() {
            Some(eight) => u64::from_be_bytes(*eight),
            None => (0..8).fold(0, |first, at| first << 8 | byte(at)),
        };
        Self { first, start: end - text.len(), end }
    }

    fn cmp(&self, other: &Self, out: &[u8]) -> Ordering {
        self.first.cmp(&other.first).then_with(|| out[self.start..self.end].cmp(&out[other.start..other.end]))
    }
}

impl Order {
    pub(super) fn new() -> Self {
        Self { open: Vec::with_capacity(USUAL), unsorted: Vec::new(), members: Vec::new() }
    }

    /// Begins an object whose brace is written there.
    pub(super) fn begin(&self, brace: usize) -> Object {
        Object { brace, first: self.open.len(), sorted: true }
    }

    /// Notes a member that has just been written.
    pub(super) fn member(&mut self, object: &mut Object, start: usize, key: Key, out: &[u8]) {
        if self.open.len() > object.first
            && let Some(last) = self.open.last()
        {
            object.sorted &= last.key.cmp(&key, out).is_lt();
        }
        self.open.push(Member { start, end: out.len(), key });
    }

    /// Ends an object of which all but the closing brace is written.
    pub(super) fn end(&mut self, object: &Object, out: &[u8]) -> Result<(), DigestError> {
        if !object.sorted {
            let members = &mut self.open[object.first..];
            members.sort_unstable_by(|left, right| left.key.cmp(&right.key, out));
            if members.windows(2).any(|pair| pair[0].key.cmp(&pair[1].key, out).is_eq()) {
                return Err(DigestError::DuplicateKey);
            }
            let first = self.members.len();
            self.members.extend_from_slice(members);
            self.unsorted.push(Unsorted { brace: object.brace, end: out.len(), members: first..self.members.len() });
        }
        self.open.truncate(object.first);
        Ok(())
    }

    /// Digests what has been written, with every object in order.
    pub(super) fn digest(&mut self, out: &[u8]) -> [u8; 32] {
        if self.unsorted.is_empty() {
            return Sha256::digest(out).into();
        }
        // They ended from the inside out; the way through them is from the outside in.
        self.unsorted.sort_unstable_by_key(|object| object.brace);
        let mut hash = Sha256::new();
        self.hash(0..out.len(), &self.unsorted, out, &mut hash);
        hash.finalize().into()
    }

    /// Takes in a part, in which these objects are unsorted.
    fn hash(&self, part: Range<usize>, mut unsorted: &[Unsorted], out: &[u8], hash: &mut Sha256) {
        let mut at = part.start;
        while let [object, others @ ..] = unsorted {
            hash.update(&out[at..=object.brace]);
            let (inner, later) = split(others, object.end);
            for member in &self.members[object.members.clone()] {
                let (_, inner) = split(inner, member.start);
                let (inner, _) = split(inner, member.end);
                self.hash(member.start..member.end, inner, out, hash);
            }
            at = object.end;
            unsorted = later;
        }
        hash.update(&out[at..part.end]);
    }
}

/// Those that begin before that place, and the others.
fn split(unsorted: &[Unsorted], place: usize) -> (&[Unsorted], &[Unsorted]) {
    unsorted.split_at(unsorted.partition_point(|object| object.brace < place))
}

/// Room for the members of most calls.
const USUAL: usize = 16;
