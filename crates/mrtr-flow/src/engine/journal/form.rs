//! The bytes of an entry: one form, sealed into a state, recorded with a reservation, and stored by tasks.
//!
//! An entry is its length, its kind and its name, and then what the kind has. `docs/STATE_FORMAT.md` has every byte.

use mrtr_state::PayloadError;

use super::answers::{Asked, Pinned, Wording};
use crate::error::Visibility;

/// The kind of an entry: the event that it records.
///
/// ```
/// use mrtr_flow::EntryKind;
///
/// /// What a store that counts effects would look for.
/// fn is_effect(kind: EntryKind) -> bool {
///     matches!(kind, EntryKind::StepFinished | EntryKind::StepFailed)
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum EntryKind {
    /// A question is open.
    QuestionOpened = 1,
    /// A question was answered.
    Answered = 2,
    /// An answer would not do; the entry says why.
    AnswerRefused = 3,
    /// A question was asked, need not be answered, and was not.
    Skipped = 4,
    /// The handler's check found that the person has visited a URL.
    Visited = 5,
    /// A decision came from elsewhere.
    Decided = 6,
    /// A step is about to start.
    StepStarted = 7,
    /// A step gave a value; or a race was won, under the names of its members.
    StepFinished = 8,
    /// A step failed.
    StepFailed = 9,
    /// The handler continued without a step that it had begun.
    StepDropped = 10,
    /// A step took longer than it may.
    StepTimedOut = 11,
    /// A yield point was passed: how far the flow has come.
    Progress = 12,
    /// The flow was shed at a yield point; the entry counts how often.
    Shed = 13,
    /// The flow gave out an id that follows from its own.
    KeyGiven = 14,
    /// A pinned question was asked again in other words; the entry counts how often.
    Reworded = 15,
    /// A handler in manual mode wants this back.
    Carried = 16,
    /// An answer came without a state, and no question has used it yet.
    UnsealedAnswer = 17,
    /// The person consented to visit a URL; the entry counts how often the flow looked for the visit.
    Consented = 18,
    /// A question is not asked any more: it lost a race.
    QuestionWithdrawn = 19,
}

impl EntryKind {
    const ALL: [Self; 19] = [
        Self::QuestionOpened,
        Self::Answered,
        Self::AnswerRefused,
        Self::Skipped,
        Self::Visited,
        Self::Decided,
        Self::StepStarted,
        Self::StepFinished,
        Self::StepFailed,
        Self::StepDropped,
        Self::StepTimedOut,
        Self::Progress,
        Self::Shed,
        Self::KeyGiven,
        Self::Reworded,
        Self::Carried,
        Self::UnsealedAnswer,
        Self::Consented,
        Self::QuestionWithdrawn,
    ];

    fn of(byte: u8) -> Option<Self> {
        Self::ALL.get(usize::from(byte).checked_sub(1)?).copied()
    }

    /// The space of entries of this kind: an entry takes the place of an earlier one in its space, under its name.
    pub(super) fn space(self) -> Space {
        match self {
            Self::QuestionOpened | Self::Answered | Self::AnswerRefused | Self::Skipped | Self::QuestionWithdrawn => {
                Space::Question
            }
            Self::Visited => Space::Visit,
            Self::Consented => Space::Consent,
            Self::Decided => Space::Decision,
            Self::StepStarted | Self::StepFinished | Self::StepFailed | Self::StepDropped | Self::StepTimedOut => {
                Space::Step
            }
            Self::Reworded => Space::Reworded,
            Self::UnsealedAnswer => Space::Unsealed,
            Self::Progress => Space::Progress,
            Self::Shed => Space::Shed,
            Self::KeyGiven => Space::Keys,
            Self::Carried => Space::Carried,
        }
    }
}

/// The subject of an entry, besides its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Space {
    Question,
    Visit,
    Consent,
    Decision,
    Step,
    Reworded,
    Unsealed,
    Progress,
    Shed,
    Keys,
    Carried,
}

/// The parts of an entry besides its name. The leaf is JSON, or a text for the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Parts<T> {
    pub(super) kind: EntryKind,
    /// The wording of its question, the reader of a step's failure, or a count of what happened.
    pub(super) detail: Detail,
    pub(super) leaf: T,
}

/// The part between the name and the leaf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    None,
    Asked { asked: Asked, optional: bool },
    Visibility(Visibility),
    Count(u32),
}

impl Detail {
    pub(super) fn asked(self) -> Asked {
        match self {
            Self::Asked { asked, .. } => asked,
            _ => Asked::default(),
        }
    }

    pub(super) fn count(self) -> u32 {
        match self {
            Self::Count(count) => count,
            _ => 0,
        }
    }
}

/// Appends an entry.
pub(super) fn write(out: &mut Vec<u8>, name: &str, parts: &Parts<&str>) {
    let detail = detail_length(&parts.detail);
    let length = 1 + number_length(name.len()) + name.len() + detail + parts.leaf.len();
    out.reserve(length + MAX_NUMBER);
    write_number(out, length);
    out.push(parts.kind as u8);
    write_number(out, name.len());
    out.extend_from_slice(name.as_bytes());
    match &parts.detail {
        Detail::None => {}
        Detail::Asked { asked, optional } => {
            let [_, wording @ ..] = asked.wording.0.to_be_bytes();
            out.extend_from_slice(&wording);
            out.push((u8::from(*optional) * OPTIONAL) | (u8::from(asked.pinned.is_some()) * PINNED));
            if let Some(Pinned(digest)) = &asked.pinned {
                out.extend_from_slice(digest);
            }
        }
        Detail::Visibility(visibility) => out.push(match visibility {
            Visibility::Internal => 0,
            Visibility::Tool => 1,
        }),
        Detail::Count(count) => out.extend_from_slice(&count.to_be_bytes()),
    }
    out.extend_from_slice(parts.leaf.as_bytes());
}

fn detail_length(detail: &Detail) -> usize {
    match detail {
        Detail::None => 0,
        Detail::Asked { asked, .. } => 4 + if asked.pinned.is_some() { PIN } else { 0 },
        Detail::Visibility(_) => 1,
        Detail::Count(_) => 4,
    }
}

/// The places of an entry's parts in the bytes that it was read from.
pub(super) struct Read {
    pub(super) parts: Parts<(usize, usize)>,
    pub(super) name: (usize, usize),
    /// The place at which the next entry begins.
    pub(super) end: usize,
}

/// Reads the entry that begins here. It looks at nothing but lengths.
pub(super) fn read(bytes: &[u8], start: usize) -> Option<Read> {
    let mut reader = Reader { bytes, at: start };
    let length = reader.number()?;
    let end = reader.at.checked_add(length)?;
    let mut reader = Reader { bytes: bytes.get(..end)?, at: reader.at };
    let kind = EntryKind::of(reader.byte()?)?;
    let name_length = reader.number()?;
    let name = reader.range(name_length)?;
    let detail = match kind {
        EntryKind::QuestionOpened | EntryKind::Answered => {
            let [a, b, c, flags] = reader.array::<4>()?;
            if flags & !(OPTIONAL | PINNED) != 0 {
                return None;
            }
            let pinned = if flags & PINNED == 0 { None } else { Some(Pinned(reader.array::<PIN>()?)) };
            let asked = Asked { wording: Wording(u32::from_be_bytes([0, a, b, c])), pinned };
            Detail::Asked { asked, optional: flags & OPTIONAL != 0 }
        }
        EntryKind::StepFailed => match reader.byte()? {
            0 => Detail::Visibility(Visibility::Internal),
            1 => Detail::Visibility(Visibility::Tool),
            _ => return None,
        },
        EntryKind::Shed | EntryKind::Reworded | EntryKind::Consented => {
            Detail::Count(u32::from_be_bytes(reader.array()?))
        }
        EntryKind::AnswerRefused
        | EntryKind::Skipped
        | EntryKind::QuestionWithdrawn
        | EntryKind::Visited
        | EntryKind::Decided
        | EntryKind::StepStarted
        | EntryKind::StepFinished
        | EntryKind::StepDropped
        | EntryKind::StepTimedOut
        | EntryKind::Progress
        | EntryKind::KeyGiven
        | EntryKind::Carried
        | EntryKind::UnsealedAnswer => Detail::None,
    };
    Some(Read { parts: Parts { kind, detail, leaf: (reader.at, end) }, name, end })
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let array = *self.bytes.get(self.at..)?.first_chunk::<N>()?;
        self.at += N;
        Some(array)
    }

    fn range(&mut self, length: usize) -> Option<(usize, usize)> {
        let (start, end) = (self.at, self.at.checked_add(length)?);
        if end > self.bytes.len() {
            return None;
        }
        self.at = end;
        Some((start, end))
    }

    /// A number in as few groups of seven bits as it takes, the lowest first.
    fn number(&mut self) -> Option<usize> {
        let first = self.byte()?;
        if first < 0x80 {
            return Some(usize::from(first));
        }
        let mut number = usize::from(first & 0x7f);
        for shift in [7, 14, 21, 28] {
            let byte = self.byte()?;
            number |= usize::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                // One spelling a number.
                return (byte != 0).then_some(number);
            }
        }
        None
    }
}

fn write_number(out: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        out.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    out.push(number.to_le_bytes()[0]);
}

fn number_length(number: usize) -> usize {
    let bits = usize::BITS - number.leading_zeros();
    bits.div_ceil(7).max(1) as usize
}

/// The error for a journal that cannot be read.
pub(super) fn unreadable() -> PayloadError {
    "the journal is truncated, or a newer version wrote it".into()
}

const MAX_NUMBER: usize = 5;
const OPTIONAL: u8 = 1;
const PINNED: u8 = 2;
const PIN: usize = 16;
