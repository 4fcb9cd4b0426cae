//! The entries of a store in memory: what is known of each token, when it may be forgotten, and how much that is.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use tokio::sync::watch;

use super::super::{InProgress, Purged, Release, Reservation, ReserveOutcome, SingleUseError, StepRecord};
use crate::digest::AnswersDigest;
use crate::{Timestamp, TokenUse, UseKey};

#[derive(Default)]
pub(super) struct Entries {
    by_key: HashMap<UseKey, Entry>,
    /// All of them, in the order in which they may be forgotten.
    by_end: BTreeSet<(Timestamp, UseKey)>,
    /// The bytes that all of them take.
    bytes: usize,
    purged: Purged,
    /// The last fence of all tokens together. It is never set back, so the fence of a forgotten entry is not given out
    /// again.
    last_fence: u64,
}

struct Entry {
    issued: Timestamp,
    answers: AnswersDigest,
    keep_until: Timestamp,
    state: State,
}

enum State {
    Held(Vec<StepRecord>, Hold),
    Released(Vec<StepRecord>),
    Committed(Vec<u8>),
}

struct Hold {
    fence: u64,
    lapses: Timestamp,
    /// Made by the first caller that waits. It is dropped with the hold, whatever ends that, which wakes all of them.
    end: Option<watch::Sender<()>>,
}

impl Entries {
    pub(super) fn reserve(
        &mut self,
        token_use: &TokenUse,
        lease: Duration,
        limit: usize,
        now: Timestamp,
    ) -> Result<ReserveOutcome, SingleUseError> {
        let key = token_use.key();
        let Some(Entry { answers, state, .. }) = self.by_key.get(&key).filter(|entry| now < entry.keep_until) else {
            self.purged.refuse_forgotten(token_use, now)?;
            if !self.has_room(limit) {
                return Err(SingleUseError::Full { held: self.bytes, limit });
            }
            return Ok(self.take(token_use, token_use.keep_until(), Vec::new(), now + lease));
        };
        let same_answers = *answers == token_use.answers();
        match state {
            // Whatever the answers: which of them stand is known when that round has ended.
            State::Held(_, hold) if now < hold.lapses => {
                return Ok(ReserveOutcome::InProgress(InProgress::new(Reservation::new(key, hold.fence), hold.lapses)));
            }
            State::Committed(reply) if same_answers => return Ok(ReserveOutcome::Committed(reply.clone())),
            State::Committed(_) => return Ok(ReserveOutcome::OtherAnswers),
            // What has happened in the world was done for other answers: continuing with these would mix two decisions.
            State::Held(steps, _) | State::Released(steps) if !same_answers && !steps.is_empty() => {
                return Ok(ReserveOutcome::OtherAnswers);
            }
            State::Held(..) | State::Released(_) => {}
        }
        // The entry is made anew, with a higher fence: the round that is late loses, and the hold that is dropped here
        // wakes the callers that wait for it. What it was kept for stands, also when that was a longer lease.
        let (kept, steps) = match self.forget(key) {
            Some(Entry { keep_until, state: State::Held(steps, _) | State::Released(steps), .. }) => {
                (keep_until, steps)
            }
            _ => (token_use.keep_until(), Vec::new()),
        };
        Ok(self.take(token_use, kept, steps, now + lease))
    }

    fn take(
        &mut self,
        token_use: &TokenUse,
        kept: Timestamp,
        steps: Vec<StepRecord>,
        lapses: Timestamp,
    ) -> ReserveOutcome {
        self.last_fence += 1;
        let (key, keep_until) = (token_use.key(), kept.max(lapses));
        let hold = Hold { fence: self.last_fence, lapses, end: None };
        let state = State::Held(steps.clone(), hold);
        self.bytes += ENTRY + state.bytes();
        self.by_key.insert(key, Entry { issued: token_use.issued(), answers: token_use.answers(), keep_until, state });
        self.by_end.insert((keep_until, key));
        ReserveOutcome::Reserved(Reservation::new(key, self.last_fence), steps)
    }

    pub(super) fn renew(
        &mut self,
        reservation: &Reservation,
        lapses: Timestamp,
        now: Timestamp,
    ) -> Result<(), SingleUseError> {
        let (keep_until, _, hold) = self.held(reservation, now)?;
        hold.lapses = lapses;
        if *keep_until < lapses {
            let earlier = std::mem::replace(keep_until, lapses);
            self.by_end.remove(&(earlier, reservation.key()));
            self.by_end.insert((lapses, reservation.key()));
        }
        Ok(())
    }

    pub(super) fn change_steps(
        &mut self,
        reservation: &Reservation,
        now: Timestamp,
        change: impl FnOnce(&mut Vec<StepRecord>) -> Result<(), SingleUseError>,
    ) -> Result<(), SingleUseError> {
        let (_, steps, _) = self.held(reservation, now)?;
        let before = bytes_of(steps);
        let changed = change(steps);
        let after = bytes_of(steps);
        self.bytes = self.bytes - before + after;
        changed
    }

    pub(super) fn commit(
        &mut self,
        reservation: &Reservation,
        reply: &[u8],
        now: Timestamp,
    ) -> Result<(), SingleUseError> {
        self.held(reservation, now)?;
        self.end(reservation.key(), |_| State::Committed(reply.to_vec()));
        Ok(())
    }

    pub(super) fn release(&mut self, reservation: &Reservation, now: Timestamp) -> Result<Release, SingleUseError> {
        let (_, steps, _) = self.held(reservation, now)?;
        if steps.is_empty() {
            self.forget(reservation.key());
            return Ok(Release::Forgotten);
        }
        self.end(reservation.key(), State::Released);
        Ok(Release::Kept)
    }

    pub(super) fn wait_for(&mut self, reservation: &Reservation) -> Option<watch::Receiver<()>> {
        match self.by_key.get_mut(&reservation.key())?.state {
            State::Held(_, ref mut hold) if hold.fence == reservation.fence() => {
                Some(hold.end.get_or_insert_with(|| watch::Sender::new(())).subscribe())
            }
            _ => None,
        }
    }

    /// Forgets a few old entries, or as many as it takes to have room. It looks at each once.
    pub(super) fn purge(&mut self, limit: usize, now: Timestamp) {
        let mut few = 0..PURGED_BY_A_RESERVE;
        while few.next().is_some() || !self.has_room(limit) {
            let Some(&(end, key)) = self.by_end.first().filter(|(end, _)| *end <= now) else { return };
            if let Some(Entry { issued, .. }) = self.forget(key) {
                self.purged = self.purged.and(Purged::new(issued, end));
            }
        }
    }

    fn has_room(&self, limit: usize) -> bool {
        self.bytes.saturating_add(ENTRY) <= limit
    }

    /// An entry that this reservation holds: its end, its steps and the hold.
    ///
    /// The lease does not count here. A round that is late and that no other has replaced may still say what it did:
    /// losing that would leave an effect in doubt for nothing.
    fn held(
        &mut self,
        reservation: &Reservation,
        now: Timestamp,
    ) -> Result<(&mut Timestamp, &mut Vec<StepRecord>, &mut Hold), SingleUseError> {
        match self.by_key.get_mut(&reservation.key()) {
            Some(Entry { keep_until, state: State::Held(steps, hold), .. })
                if hold.fence == reservation.fence() && now < *keep_until =>
            {
                Ok((keep_until, steps, hold))
            }
            _ => Err(SingleUseError::Lost),
        }
    }

    /// Ends a hold, and with it the wait of all callers that wait for that.
    fn end(&mut self, key: UseKey, end: impl FnOnce(Vec<StepRecord>) -> State) {
        if let Some(entry) = self.by_key.get_mut(&key)
            && let State::Held(steps, _) = &mut entry.state
        {
            let before = bytes_of(steps);
            let steps = std::mem::take(steps);
            entry.state = end(steps);
            self.bytes = self.bytes - before + entry.state.bytes();
        }
    }

    fn forget(&mut self, key: UseKey) -> Option<Entry> {
        let entry = self.by_key.remove(&key)?;
        self.by_end.remove(&(entry.keep_until, key));
        self.bytes -= ENTRY + entry.state.bytes();
        Some(entry)
    }
}

impl State {
    fn bytes(&self) -> usize {
        match self {
            Self::Held(steps, _) | Self::Released(steps) => bytes_of(steps),
            Self::Committed(reply) => ALLOCATION + reply.len(),
        }
    }
}

fn bytes_of(steps: &[StepRecord]) -> usize {
    let outcome = |step: &StepRecord| step.outcome.as_ref().map_or(0, |outcome| ALLOCATION + outcome.len());
    steps.iter().map(|step| STEP + step.name.len() + outcome(step)).sum()
}

/// The number of old entries that a reservation purges. It adds one at most, so that the store shrinks after a rush.
const PURGED_BY_A_RESERVE: usize = 2;

/// The bytes that an entry takes by itself. Map and set are less than half full when they have just grown.
const ENTRY: usize = (size_of::<(UseKey, Entry)>() + size_of::<(Timestamp, UseKey)>()) * 16 / 7;

/// The bytes that a step takes by itself, in a list that is half full when it has just grown.
const STEP: usize = 2 * size_of::<StepRecord>() + ALLOCATION;

/// The bytes that an allocator adds to each piece, more or less.
const ALLOCATION: usize = 16;

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_it_says_it_holds_is_what_it_holds(verbs in vec((0..9_u8, 0..4_u8, 0..40_usize, 0..1_100_000_u64), 0..200)) {
            let mut entries = Entries::default();
            let mut reservations = Vec::new();
            for (verb, number, size, now) in verbs {
                let now = Timestamp::from_millis(now);
                let reservation = reservations.get(size % reservations.len().max(1)).cloned();
                match (verb, reservation) {
                    (0..4, _) => {
                        entries.purge(LIMIT, now);
                        let lease = Duration::from_millis(400_000 * u64::from(number));
                        let outcome = entries.reserve(&token_use(number, 0), lease, LIMIT, now);
                        if let Ok(ReserveOutcome::Reserved(reservation, _)) = outcome {
                            reservations.push(reservation);
                        }
                    }
                    (4, Some(reservation)) => drop(entries.renew(&reservation, now + Duration::from_secs(500), now)),
                    (5 | 6, Some(reservation)) => drop(entries.change_steps(&reservation, now, |steps| {
                        match steps.iter_mut().find(|known| known.name.len() == size % 3) {
                            Some(known) => known.outcome = Some(vec![0; size]),
                            None => steps.push(StepRecord::new("abc"[..size % 3].to_owned(), None)),
                        }
                        Ok(())
                    })),
                    (7, Some(reservation)) => drop(entries.commit(&reservation, &vec![0; size], now)),
                    (_, Some(reservation)) => drop(entries.release(&reservation, now)),
                    (_, None) => {}
                }
                let held = entries.by_key.values().map(|entry| ENTRY + entry.state.bytes()).sum::<usize>();
                prop_assert_eq!(entries.bytes, held);
                let ends: BTreeSet<_> = entries.by_key.iter().map(|(key, entry)| (entry.keep_until, *key)).collect();
                prop_assert_eq!(&entries.by_end, &ends);
            }
        }
    }

    #[test]
    fn old_entries_are_purged_a_few_with_each_reservation() {
        let mut entries = Entries::default();
        for number in 0..9 {
            reserve(&mut entries, number, 0, LIMIT);
        }
        let mut sizes = |number| {
            reserve(&mut entries, number, LIFE, LIMIT);
            entries.by_key.len()
        };
        assert_eq!([sizes(10), sizes(11)], [8, 7]);
        for number in 12..20 {
            sizes(number);
        }
        assert_eq!(sizes(20), 11, "the nine are gone");
    }

    #[test]
    fn as_many_are_purged_as_it_takes_to_have_room() {
        let mut entries = Entries::default();
        let limit = 10 * ENTRY;
        let reservations: Vec<_> = (0..10).map(|number| reserve(&mut entries, number, 0, limit)).collect();
        // Beyond the limit by six more.
        entries.commit(&reservations[9], &vec![0; 6 * ENTRY - ALLOCATION], Timestamp::from_millis(0)).unwrap();
        entries.renew(&reservations[8], Timestamp::from_millis(2 * LIFE), Timestamp::from_millis(0)).unwrap();
        reserve(&mut entries, 10, LIFE, limit);
        assert!(entries.bytes <= limit);
        assert!(entries.by_key.contains_key(&reservations[8].key()), "it is leased");
    }

    #[test]
    fn an_entry_is_known_until_its_end_and_not_at_it() {
        let mut entries = Entries::default();
        let reservation = reserve(&mut entries, 1, 0, LIMIT);
        entries.commit(&reservation, b"paid", Timestamp::from_millis(0)).unwrap();
        let mut at =
            |now| entries.reserve(&token_use(1, 0), Duration::from_secs(1), LIMIT, Timestamp::from_millis(now));
        assert!(matches!(at(LIFE - 1), Ok(ReserveOutcome::Committed(_))));
        assert!(!matches!(at(LIFE), Ok(ReserveOutcome::Committed(_))));
    }

    #[test]
    fn what_is_held_is_more_than_what_is_kept() {
        let mut entries = Entries::default();
        let reservation = reserve(&mut entries, 1, 0, LIMIT);
        let empty = entries.bytes;
        assert!(empty > size_of::<Entry>() && empty < 20 * size_of::<Entry>(), "{empty}");
        let now = Timestamp::from_millis(0);
        entries
            .change_steps(&reservation, now, |steps| {
                steps.push(StepRecord::new("n".repeat(100), Some(vec![0; 1000])));
                Ok(())
            })
            .unwrap();
        let step = entries.bytes - empty;
        assert!((1100..1100 + 4 * size_of::<StepRecord>()).contains(&step), "{step}");
    }

    fn reserve(entries: &mut Entries, number: u8, now: u64, limit: usize) -> Reservation {
        let moment = Timestamp::from_millis(now);
        entries.purge(limit, moment);
        match entries.reserve(&token_use(number, now), Duration::from_secs(1), limit, moment) {
            Ok(ReserveOutcome::Reserved(reservation, _)) => reservation,
            other => panic!("{other:?}"),
        }
    }

    fn token_use(number: u8, issued: u64) -> TokenUse {
        TokenUse {
            key: UseKey([number; 32]),
            answers: AnswersDigest::from_bytes([0; 32]),
            issued: Timestamp::from_millis(issued),
            keep_until: Timestamp::from_millis(issued + LIFE),
        }
    }

    const LIFE: u64 = 1_000_000;
    const LIMIT: usize = 1_000_000;
}
