//! Entries by their subject: each takes the place of an earlier one with the same subject.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use foldhash::HashMap;
use mrtr_schema::{HeapSize, allocated};

use super::answers::UnsealedAnswers;
use super::form::{self, Detail, EntryKind, Parts, Space};
use super::leaf::{Leaf, counted_block};

/// The entries of a journal, in their order. Entries that came together stay in the bytes in which they came, and the
/// JSON of each is parsed only when a run looks for it. No library does this. An index by name is made once there are
/// more than 16.
#[derive(Debug, Clone, Default)]
pub(super) struct Slots {
    /// The piece that holds the entries which came together.
    piece: Arc<[u8]>,
    list: Vec<Slot>,
    /// The place of each, by a hash of its subject, once there are more than a few.
    places: Option<Box<Places>>,
    /// Roughly how many bytes the answers take that came since the last run.
    pub(super) new_answers: usize,
    /// Answers that came without a state, until a run has ended.
    pub(super) unsealed: Option<Box<UnsealedAnswers>>,
}

#[derive(Debug, Clone, Default)]
struct Places {
    /// A hasher that is safe, not quick: clients choose some of these names.
    hasher: RandomState,
    by_hash: HashMap<u64, u32>,
    /// True if two of them have one hash: then a search looks through all.
    collided: bool,
}

#[derive(Debug, Clone)]
struct Slot {
    name: Text,
    parts: Parts<Text>,
}

/// A part of the piece, or a text of its own.
#[derive(Debug, Clone)]
enum Text {
    In(u32, u32),
    Own(Leaf),
}

/// An entry, as a run reads it.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    slots: &'a Slots,
    slot: &'a Slot,
}

impl Slots {
    /// Finds the entries in their bytes by their lengths, without parsing what they hold. `None` if one is not whole,
    /// or of a kind that this version does not know.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        // Offsets take four bytes, which no piece outgrows: states and stores are bounded far below.
        u32::try_from(bytes.len()).ok()?;
        let mut slots = Self { piece: bytes.into(), list: Vec::with_capacity(USUAL), ..Self::default() };
        let mut at = 0;
        while at < slots.piece.len() {
            let form::Read { parts: Parts { kind, detail, leaf }, name, end } = form::read(&slots.piece, at)?;
            std::str::from_utf8(&slots.piece[name.0..name.1]).ok()?;
            std::str::from_utf8(&slots.piece[leaf.0..leaf.1]).ok()?;
            let slot = Slot { name: Text::within(name)?, parts: Parts { kind, detail, leaf: Text::within(leaf)? } };
            slots.place_slot(slot);
            at = end;
        }
        Some(slots)
    }

    /// Appends entries.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Option<()> {
        let more = Self::read(bytes)?;
        for entry in more.iter() {
            self.put(entry.name(), Parts { kind: entry.kind(), detail: entry.detail(), leaf: entry.leaf() });
        }
        Some(())
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        for entry in self.iter() {
            let parts = Parts { kind: entry.kind(), detail: entry.detail(), leaf: entry.text() };
            form::write(out, entry.name(), &parts);
        }
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = View<'_>> {
        self.list.iter().map(|slot| View { slots: self, slot })
    }

    pub(super) fn get(&self, space: Space, name: &str) -> Option<View<'_>> {
        self.place(space, name.as_bytes()).map(|place| View { slots: self, slot: &self.list[place] })
    }

    /// Puts an entry in, and returns the length of the leaf whose place it takes.
    pub(super) fn put(&mut self, name: &str, parts: Parts<Leaf>) -> Option<usize> {
        let Parts { kind, detail, leaf } = parts;
        let parts = Parts { kind, detail, leaf: Text::Own(leaf) };
        if let Some(place) = self.place(kind.space(), name.as_bytes()) {
            let before = std::mem::replace(&mut self.list[place].parts, parts);
            return Some(before.leaf.len());
        }
        let name = Text::Own(Leaf::of_text(name));
        self.push(Slot { name, parts });
        None
    }

    /// Takes an entry out, and returns the length of its leaf.
    pub(super) fn remove(&mut self, space: Space, name: &str) -> Option<usize> {
        let place = self.place(space, name.as_bytes())?;
        let slot = self.list.remove(place);
        self.places = None;
        Some(slot.parts.leaf.len())
    }

    /// Settles the open questions: each becomes what `settle` returns, or goes.
    pub(super) fn settle_open(&mut self, mut settle: impl FnMut(Leaf, Detail) -> Option<(EntryKind, Leaf)>) {
        let (piece, mut gone) = (&self.piece, false);
        for slot in self.list.iter_mut().filter(|slot| slot.parts.kind == EntryKind::QuestionOpened) {
            match settle(slot.name.leaf(piece), slot.parts.detail) {
                Some((kind, leaf)) => {
                    slot.parts.kind = kind;
                    slot.parts.leaf = Text::Own(leaf);
                    if kind == EntryKind::Skipped {
                        slot.parts.detail = Detail::None;
                    }
                }
                None => gone = true,
            }
        }
        if gone {
            self.list.retain(|slot| slot.parts.kind != EntryKind::QuestionOpened);
            self.places = None;
        }
    }

    /// Keeps the entries for which `stays` returns true.
    pub(super) fn retain(&mut self, mut stays: impl FnMut(View<'_>) -> bool) {
        let kept: Vec<bool> = self.iter().map(&mut stays).collect();
        if kept.iter().all(|kept| *kept) {
            return;
        }
        let mut kept = kept.into_iter();
        self.list.retain(|_| kept.next().unwrap_or(true));
        self.places = None;
    }

    fn place_slot(&mut self, slot: Slot) {
        let space = slot.parts.kind.space();
        match self.place(space, slot.name.bytes(&self.piece)) {
            Some(place) => self.list[place] = slot,
            None => self.push(slot),
        }
    }

    fn place(&self, space: Space, name: &[u8]) -> Option<usize> {
        let is_it = |slot: &Slot| slot.parts.kind.space() == space && slot.name.bytes(&self.piece) == name;
        match &self.places {
            Some(places) if !places.collided => {
                let place = *places.by_hash.get(&places.hash(space, name))? as usize;
                is_it(&self.list[place]).then_some(place)
            }
            _ => self.list.iter().position(is_it),
        }
    }

    fn push(&mut self, slot: Slot) {
        self.list.push(slot);
        if self.list.len() <= FEW {
            return;
        }
        let known = self.places.as_ref().map_or(0, |_| self.list.len() - 1);
        let mut places = self.places.take().unwrap_or_default();
        for (place, slot) in self.list.iter().enumerate().skip(known) {
            let hash = places.hash(slot.parts.kind.space(), slot.name.bytes(&self.piece));
            let place = u32::try_from(place).expect("a journal has fewer entries than bytes");
            places.collided |= places.by_hash.insert(hash, place).is_some();
        }
        self.places = Some(places);
    }
}

/// Counts what a journal in waiting keeps: its entries, their texts, and the table that finds them.
impl HeapSize for Slots {
    fn heap_bytes(&self) -> usize {
        let piece = if self.piece.is_empty() { 0 } else { counted_block(self.piece.len()) };
        let list = allocated(self.list.capacity() * size_of::<Slot>());
        let texts = self.list.iter().map(|slot| slot.name.heap_bytes() + slot.parts.leaf.heap_bytes()).sum::<usize>();
        let places = self.places.as_ref().map_or(0, |places| {
            // A table of twice as many places as it has entries at most, with a byte of its own for each.
            let table = (places.by_hash.capacity() * 8 / 7).next_power_of_two() * (size_of::<(u64, u32)>() + 1);
            allocated(size_of::<Places>()) + allocated(table)
        });
        // What holds them is the text in which they came; its index takes a few bytes for each.
        let unsealed = self.unsealed.as_ref().map_or(0, |answers| allocated(size_of_val(&**answers)) + answers.len());
        piece + list + texts + places + unsealed
    }
}

impl HeapSize for Text {
    fn heap_bytes(&self) -> usize {
        match self {
            Self::In(..) => 0,
            Self::Own(leaf) => leaf.heap_bytes(),
        }
    }
}

impl Places {
    fn hash(&self, space: Space, name: &[u8]) -> u64 {
        self.hasher.hash_one((space, name))
    }
}

impl Text {
    fn within((start, end): (usize, usize)) -> Option<Self> {
        Some(Self::In(u32::try_from(start).ok()?, u32::try_from(end).ok()?))
    }

    fn of<'a>(&'a self, piece: &'a [u8]) -> &'a str {
        match self {
            Self::In(..) => std::str::from_utf8(self.bytes(piece)).expect("it was looked at as text when it came in"),
            Self::Own(text) => text.as_str(),
        }
    }

    fn leaf(&self, piece: &Arc<[u8]>) -> Leaf {
        match self {
            Self::In(start, end) => Leaf::part(piece, *start, *end),
            Self::Own(text) => text.clone(),
        }
    }

    fn bytes<'a>(&'a self, piece: &'a [u8]) -> &'a [u8] {
        match self {
            Self::In(start, end) => &piece[*start as usize..*end as usize],
            Self::Own(text) => text.as_bytes(),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::In(start, end) => (end - start) as usize,
            Self::Own(text) => text.len(),
        }
    }
}

impl<'a> View<'a> {
    pub(super) fn kind(self) -> EntryKind {
        self.slot.parts.kind
    }

    pub(super) fn detail(self) -> Detail {
        self.slot.parts.detail
    }

    pub(super) fn name(self) -> &'a str {
        self.slot.name.of(&self.slots.piece)
    }

    pub(super) fn text(self) -> &'a str {
        self.slot.parts.leaf.of(&self.slots.piece)
    }

    pub(super) fn leaf(self) -> Leaf {
        self.slot.parts.leaf.leaf(&self.slots.piece)
    }

    /// Returns the length of its name.
    pub(super) fn name_length(self) -> usize {
        self.slot.name.len()
    }

    /// Returns the length of its leaf.
    pub(super) fn size(self) -> usize {
        self.slot.parts.leaf.len()
    }
}

/// Up to this many entries, a search one by one is quicker than a hash.
const FEW: usize = 16;

/// The number of entries that most journals have.
const USUAL: usize = 6;
