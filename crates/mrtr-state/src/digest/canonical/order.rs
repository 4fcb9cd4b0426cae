//! The objects that came unsorted, and the bytes with their members in order.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Range;

use crate::DigestError;

/// The members of objects, as places in what has been written.
///
/// Moving the bytes of each unsorted object when it ends moves the innermost ones once for each level around them. So
/// only short objects, into which few levels fit, are put in order where they stand. Longer ones stay as they are until
/// all is written, and are then copied in order, each once.
pub(super) struct Order {
    /// Members of the objects that are still open, those of the innermost last.
    open: Vec<Member>,
    /// The long objects that ended unsorted.
    unsorted: Vec<Unsorted>,
    /// Their members, in order.
    members: Vec<Member>,
}

/// An object that is being written.
pub(super) struct Object {
    brace: usize,
    /// The place where its members begin among those of all open objects.
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
    /// The place where its last member ends.
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
    pub(super) fn end(&mut self, object: &Object, out: &mut [u8]) -> Result<(), DigestError> {
        if !object.sorted {
            let members = &mut self.open[object.first..];
            members.sort_unstable_by(|left, right| left.key.cmp(&right.key, out));
            if members.windows(2).any(|pair| pair[0].key.cmp(&pair[1].key, out).is_eq()) {
                return Err(DigestError::DuplicateKey);
            }
            let first = object.brace + 1;
            if out.len() - first <= SHORT {
                put_in_order(members, &mut out[first..], first);
            } else {
                let place = self.members.len();
                self.members.extend_from_slice(members);
                let members = place..self.members.len();
                self.unsorted.push(Unsorted { brace: object.brace, end: out.len(), members });
            }
        }
        self.open.truncate(object.first);
        Ok(())
    }

    /// The bytes that were written, with every object in order.
    pub(super) fn in_order<'a>(&mut self, out: &'a [u8]) -> Cow<'a, [u8]> {
        if self.unsorted.is_empty() {
            return Cow::Borrowed(out);
        }
        // They ended from the inside out; the way through them is from the outside in.
        self.unsorted.sort_unstable_by_key(|object| object.brace);
        let mut ordered = Vec::with_capacity(out.len());
        self.copy(0..out.len(), &self.unsorted, out, &mut ordered);
        Cow::Owned(ordered)
    }

    /// Copies a part of `out` to the end of `ordered`, and puts the `unsorted` objects in it in order.
    fn copy(&self, part: Range<usize>, mut unsorted: &[Unsorted], out: &[u8], ordered: &mut Vec<u8>) {
        let mut at = part.start;
        while let [object, others @ ..] = unsorted {
            ordered.extend_from_slice(&out[at..=object.brace]);
            let (inner, later) = split(others, object.end);
            for member in &self.members[object.members.clone()] {
                let (_, inner) = split(inner, member.start);
                let (inner, _) = split(inner, member.end);
                self.copy(member.start..member.end, inner, out, ordered);
            }
            at = object.end;
            unsorted = later;
        }
        ordered.extend_from_slice(&out[at..part.end]);
    }
}

/// Puts the members of a short object in order; `first` is the place of its first byte in the whole text.
fn put_in_order(members: &[Member], bytes: &mut [u8], first: usize) {
    let mut before = [0; SHORT];
    let before = &mut before[..bytes.len()];
    before.copy_from_slice(bytes);
    let mut at = 0;
    for member in members {
        let member = &before[member.start - first..member.end - first];
        bytes[at..at + member.len()].copy_from_slice(member);
        at += member.len();
    }
}

/// Splits the objects into those that begin before `place` and the others.
fn split(unsorted: &[Unsorted], place: usize) -> (&[Unsorted], &[Unsorted]) {
    unsorted.split_at(unsorted.partition_point(|object| object.brace < place))
}

/// A capacity that the members of most calls do not exceed.
const USUAL: usize = 16;

/// The length up to which the bytes of an object are moved to put its members in order.
const SHORT: usize = 256;
