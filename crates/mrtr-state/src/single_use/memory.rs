//! Single use for one process, in memory.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::watch;

use super::purged::Purged;
use super::{Claim, GuardError, Holder, Redemption, Release, Running, SingleUse, StepRecord, UseKey};
use crate::Timestamp;
use crate::digest::AnswersDigest;

/// Single use for a server that is one process.
///
/// It forgets everything when the process ends, so it refuses tokens issued before it started. Two processes need a
/// store that they share, such as `SqliteSingleUse`.
///
/// ```
/// use std::time::Duration;
/// use mrtr_schema::{RawMembers, Revision};
/// use mrtr_state::single_use::Claim;
/// use mrtr_state::{AnswersDigest, Binding, JsonPayload, MemorySingleUse, Sealer, SingleUse, Timestamp};
///
/// # #[derive(serde::Serialize, serde::Deserialize)]
/// # struct Order;
/// # impl JsonPayload for Order { const KIND: &'static str = "com.example/order"; }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let now = Timestamp::from_millis(1_785_240_000_000);
/// let store = MemorySingleUse::new(now);
///
/// let sealer = Sealer::this_process_only();
/// let params = RawMembers::parse(r#"{"name": "pay"}"#)?;
/// let binding = Binding::new(Revision::Published, "tools/call", &params)?;
/// let state = sealer.seal(&Order, &binding, now)?;
///
/// let redemption = sealer.open::<Order>(&state, &binding, now)?.redemption(AnswersDigest::of(None)?);
/// let Claim::Taken(holder, _) = store.claim(&redemption, Duration::from_secs(30), now).await? else { panic!() };
/// store.commit(&holder, b"paid", now).await?;
///
/// let again = store.claim(&redemption, Duration::from_secs(30), now).await?;
/// assert_eq!(again, Claim::Committed(b"paid".to_vec()));
/// # Ok(())
/// # }
/// ```
pub struct MemorySingleUse {
    since: Timestamp,
    entries: Mutex<Entries>,
}

impl MemorySingleUse {
    /// An empty store, which remembers from now on.
    pub fn new(now: Timestamp) -> Self {
        let entries =
            Entries { by_key: HashMap::new(), by_end: BTreeSet::new(), purged: Purged::NOTHING, last_fence: 0 };
        Self { since: now, entries: Mutex::new(entries) }
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl SingleUse for MemorySingleUse {
    async fn claim(&self, redemption: &Redemption, lease: Duration, now: Timestamp) -> Result<Claim, GuardError> {
        if redemption.issued() < self.since {
            return Err(GuardError::BeforeMemory);
        }
        let mut entries = self.entries();
        entries.purge(now);
        entries.claim(redemption, lease, now)
    }

    async fn renew(&self, holder: &Holder, lease: Duration, now: Timestamp) -> Result<(), GuardError> {
        let mut entries = self.entries();
        let (_, hold) = entries.held(holder, now)?;
        hold.lapses = now + lease;
        entries.keep_until(holder.key(), now + lease);
        Ok(())
    }

    async fn mark_started(&self, holder: &Holder, step: &str, now: Timestamp) -> Result<(), GuardError> {
        let mut entries = self.entries();
        let (steps, _) = entries.held(holder, now)?;
        match steps.iter().find(|known| known.name == step) {
            None => steps.push(StepRecord::new(step, None)),
            Some(StepRecord { outcome: None, .. }) => {}
            Some(StepRecord { outcome: Some(_), .. }) => return Err(GuardError::OutOfTurn(step.to_owned())),
        }
        Ok(())
    }

    async fn record(&self, holder: &Holder, step: &str, outcome: &[u8], now: Timestamp) -> Result<(), GuardError> {
        let mut entries = self.entries();
        let (steps, _) = entries.held(holder, now)?;
        match steps.iter_mut().find(|known| known.name == step) {
            Some(known) => known.outcome = Some(outcome.to_vec()),
            None => steps.push(StepRecord::new(step, Some(outcome.to_vec()))),
        }
        Ok(())
    }

    async fn commit(&self, holder: &Holder, reply: &[u8], now: Timestamp) -> Result<(), GuardError> {
        let mut entries = self.entries();
        entries.held(holder, now)?;
        entries.end(holder.key(), State::Committed(reply.to_vec()));
        Ok(())
    }

    async fn release(&self, holder: &Holder, now: Timestamp) -> Result<Release, GuardError> {
        let mut entries = self.entries();
        let (steps, _) = entries.held(holder, now)?;
        if steps.is_empty() {
            entries.forget(holder.key());
            return Ok(Release::Forgotten);
        }
        let steps = std::mem::take(steps);
        entries.end(holder.key(), State::Released(steps));
        Ok(Release::Kept)
    }

    async fn ended(&self, running: &Running) -> Result<(), GuardError> {
        let waiting = self.entries().wait_for(running.holder());
        if let Some(mut end) = waiting {
            // Nothing is ever sent: the error that the sender was dropped is what we wait for.
            drop(end.changed().await);
        }
        Ok(())
    }
}

impl fmt::Debug for MemorySingleUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemorySingleUse").field("since", &self.since).finish_non_exhaustive()
    }
}

struct Entries {
    by_key: HashMap<UseKey, Entry>,
    /// The same entries in the order in which they may be forgotten.
    by_end: BTreeSet<(Timestamp, UseKey)>,
    purged: Purged,
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
    /// Made by the first who waits. It is dropped with the hold, whatever ends that, and this wakes all of them.
    end: Option<watch::Sender<()>>,
}

impl Entries {
    fn claim(&mut self, redemption: &Redemption, lease: Duration, now: Timestamp) -> Result<Claim, GuardError> {
        let key = redemption.key();
        let steps = match self.by_key.get_mut(&key).filter(|entry| now < entry.keep_until) {
            None => {
                self.purged.refuse_forgotten(redemption, now)?;
                Vec::new()
            }
            Some(Entry { answers, state, .. }) => match state {
                State::Held(_, hold) if now < hold.lapses => {
                    return Ok(Claim::Running(Running::new(Holder::new(key, hold.fence), hold.lapses)));
                }
                State::Committed(reply) if *answers == redemption.answers() => {
                    return Ok(Claim::Committed(reply.clone()));
                }
                State::Committed(_) => return Ok(Claim::OtherAnswers),
                State::Held(steps, _) | State::Released(steps) => {
                    if !steps.is_empty() && *answers != redemption.answers() {
                        return Ok(Claim::OtherAnswers);
                    }
                    std::mem::take(steps)
                }
            },
        };
        let holder = self.take(redemption, steps.clone(), now + lease);
        Ok(Claim::Taken(holder, steps))
    }

    fn take(&mut self, redemption: &Redemption, steps: Vec<StepRecord>, lapses: Timestamp) -> Holder {
        let key = redemption.key();
        let kept = self.by_key.get(&key).map_or(redemption.keep_until(), |earlier| earlier.keep_until);
        let keep_until = kept.max(lapses);
        self.forget(key);
        self.last_fence += 1;
        let state = State::Held(steps, Hold { fence: self.last_fence, lapses, end: None });
        self.by_key
            .insert(key, Entry { issued: redemption.issued(), answers: redemption.answers(), keep_until, state });
        self.by_end.insert((keep_until, key));
        Holder::new(key, self.last_fence)
    }

    fn held(&mut self, holder: &Holder, now: Timestamp) -> Result<(&mut Vec<StepRecord>, &mut Hold), GuardError> {
        match self.by_key.get_mut(&holder.key()) {
            Some(Entry { keep_until, state: State::Held(steps, hold), .. })
                if hold.fence == holder.fence() && now < *keep_until =>
            {
                Ok((steps, hold))
            }
            _ => Err(GuardError::Lost),
        }
    }

    fn end(&mut self, key: UseKey, state: State) {
        if let Some(entry) = self.by_key.get_mut(&key) {
            entry.state = state;
        }
    }

    /// Keeps an entry at least so long.
    fn keep_until(&mut self, key: UseKey, moment: Timestamp) {
        if let Some(entry) = self.by_key.get_mut(&key).filter(|entry| entry.keep_until < moment) {
            self.by_end.remove(&(entry.keep_until, key));
            entry.keep_until = moment;
            self.by_end.insert((moment, key));
        }
    }

    fn wait_for(&mut self, holder: &Holder) -> Option<watch::Receiver<()>> {
        match self.by_key.get_mut(&holder.key())?.state {
            State::Held(_, ref mut hold) if hold.fence == holder.fence() => {
                Some(hold.end.get_or_insert_with(|| watch::Sender::new(())).subscribe())
            }
            _ => None,
        }
    }

    fn purge(&mut self, now: Timestamp) {
        for _ in 0..PURGED_BY_A_CLAIM {
            let Some(&(end, key)) = self.by_end.first().filter(|(end, _)| *end <= now) else { return };
            if let Some(Entry { issued, .. }) = self.forget(key) {
                self.purged = self.purged.and(Purged { issued, end });
            }
        }
    }

    fn forget(&mut self, key: UseKey) -> Option<Entry> {
        let entry = self.by_key.remove(&key)?;
        self.by_end.remove(&(entry.keep_until, key));
        Some(entry)
    }
}

/// A claim adds one entry at most: taking two away lets the store shrink again after a rush.
const PURGED_BY_A_CLAIM: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn old_entries_are_purged_a_few_with_each_claim() {
        let store = MemorySingleUse::new(Timestamp::from_millis(0));
        let redemption = |number: u8, issued| Redemption {
            key: UseKey([number; 32]),
            answers: AnswersDigest::from_bytes([0; 32]),
            issued: Timestamp::from_millis(issued),
            keep_until: Timestamp::from_millis(issued + 1_000_000),
        };
        let lease = Duration::from_secs(1);
        for number in 0..9 {
            store.claim(&redemption(number, 0), lease, Timestamp::from_millis(0)).await.unwrap();
        }
        let later = 1_000_000;
        let sizes = async |number| {
            store.claim(&redemption(number, later), lease, Timestamp::from_millis(later)).await.unwrap();
            let entries = store.entries();
            assert_eq!(entries.by_key.len(), entries.by_end.len());
            entries.by_key.len()
        };
        assert_eq!([sizes(10).await, sizes(11).await], [8, 7]);
        for number in 12..20 {
            sizes(number).await;
        }
        assert_eq!(sizes(20).await, 11, "the nine are gone");
    }
}
