//! Any events at any times: the rules of a record hold whatever happens.

use std::time::Duration;

use mrtr_state::Timestamp;
use mrtr_tasks::record::{Change, Company, Event, TransitionError};
use mrtr_tasks::{End, TaskRecord};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{FailurePersistence, FileFailurePersistence};

use crate::invariants;
use crate::task::{NOON, task};

const LONGEST_LEASE: Duration = Duration::from_mins(5);
const SET_BACK: Event<'static> = Event::SetBack { lease: LONGEST_LEASE };

/// The run that writes.
#[derive(Debug, Clone, Copy)]
enum Writer {
    /// The run that has the task, or had it last.
    Newest,
    /// A run that was so many runs before.
    Earlier(u64),
    /// A run that has not begun yet.
    Later,
}

impl Writer {
    fn fence(self, newest: u64) -> u64 {
        match self {
            Self::Newest => newest,
            Self::Earlier(runs) => newest.wrapping_sub(runs),
            Self::Later => newest + 1,
        }
    }
}

#[derive(Debug, Clone)]
struct AnyChange {
    opened: Vec<String>,
    retired: Vec<String>,
    progressed: bool,
    lasts: Option<Duration>,
}

impl AnyChange {
    fn as_change(&self) -> Change<'_> {
        let Self { opened, retired, progressed, lasts } = self;
        Change { opened, retired, progressed: *progressed, lasts: *lasts }
    }
}

#[derive(Debug, Clone)]
enum AnyEvent {
    Acquire(Duration, Company),
    Accompany(Writer),
    Reserve(Duration),
    Renew(Writer, Duration),
    Record(Writer, AnyChange),
    Park(Writer, AnyChange, Option<Duration>),
    HandOver(Writer, Duration),
    Finish(Writer, End),
    Answer(Vec<String>),
    Plain(Event<'static>),
}

impl AnyEvent {
    fn as_event(&self, newest: u64) -> Event<'_> {
        match self {
            &Self::Acquire(lease, company) => Event::Acquire { lease, company },
            &Self::Accompany(writer) => Event::Accompany { fence: writer.fence(newest) },
            &Self::Reserve(lease) => Event::Reserve { lease },
            &Self::Renew(writer, lease) => Event::Renew { fence: writer.fence(newest), lease },
            Self::Record(writer, change) => Event::Record { fence: writer.fence(newest), change: change.as_change() },
            Self::Park(writer, change, look_again) => {
                Event::Park { fence: writer.fence(newest), change: change.as_change(), look_again: *look_again }
            }
            &Self::HandOver(writer, pause) => Event::HandOver { fence: writer.fence(newest), pause },
            &Self::Finish(writer, end) => Event::Finish { fence: writer.fence(newest), end },
            Self::Answer(keys) => Event::Answer { keys },
            &Self::Plain(event) => event,
        }
    }
}

/// The time at which something happens.
#[derive(Debug, Clone, Copy)]
enum When {
    /// So long after the last event.
    Later(Duration),
    /// So long before the last event: the clock went back.
    Earlier(Duration),
    /// The moment at which a runner has to look, or so long before or after.
    Attention(i64),
    /// The moment at which its time is over, or so long before or after.
    Expiry(i64),
}

impl When {
    fn moment(self, record: &TaskRecord, last: Timestamp) -> Timestamp {
        let near =
            |moment: Timestamp, millis: i64| Timestamp::from_millis(moment.as_millis().saturating_add_signed(millis));
        match self {
            Self::Later(pause) => last + pause,
            Self::Earlier(pause) => near(last, -i64::try_from(pause.as_millis()).unwrap()),
            Self::Attention(millis) => {
                record.attention().or(record.trial()).map_or(last, |moment| near(moment, millis))
            }
            Self::Expiry(millis) => record.expires().map_or(last, |moment| near(moment, millis)),
        }
    }
}

fn any_pause() -> impl Strategy<Value = Duration> {
    prop_oneof![Just(0), 0..3_000_u64, 0..600_000_u64].prop_map(Duration::from_millis)
}

fn any_when() -> impl Strategy<Value = When> {
    prop_oneof![
        4 => any_pause().prop_map(When::Later),
        1 => any_pause().prop_map(When::Earlier),
        4 => (-1..=1_001_i64).prop_map(When::Attention),
        1 => (-1..=1_i64).prop_map(When::Expiry),
    ]
}

fn any_writer() -> impl Strategy<Value = Writer> {
    prop_oneof![6 => Just(Writer::Newest), 2 => (1..3_u64).prop_map(Writer::Earlier), 1 => Just(Writer::Later)]
}

fn any_keys() -> impl Strategy<Value = Vec<String>> {
    proptest::collection::vec(select(&["a", "b", "c", "d"][..]).prop_map(str::to_owned), 0..3)
}

fn any_change() -> impl Strategy<Value = AnyChange> {
    let lasts = proptest::option::weighted(0.2, any_pause());
    (any_keys(), any_keys(), any::<bool>(), lasts).prop_map(|(opened, retired, progressed, lasts)| AnyChange {
        opened,
        retired,
        progressed,
        lasts,
    })
}

fn any_event() -> impl Strategy<Value = AnyEvent> {
    prop_oneof![
        8 => (any_pause(), select(&[Company::Runs, Company::Calls, Company::Nothing, Company::Nothing][..]))
            .prop_map(|(lease, company)| AnyEvent::Acquire(lease, company)),
        1 => any_writer().prop_map(AnyEvent::Accompany),
        1 => any_pause().prop_map(AnyEvent::Reserve),
        2 => (any_writer(), any_pause()).prop_map(|(writer, lease)| AnyEvent::Renew(writer, lease)),
        4 => (any_writer(), any_change()).prop_map(|(writer, change)| AnyEvent::Record(writer, change)),
        3 => (any_writer(), any_change(), proptest::option::of(any_pause()))
            .prop_map(|(writer, change, look_again)| AnyEvent::Park(writer, change, look_again)),
        2 => (any_writer(), any_pause()).prop_map(|(writer, pause)| AnyEvent::HandOver(writer, pause)),
        1 => (any_writer(), select(&End::ALL[..])).prop_map(|(writer, end)| AnyEvent::Finish(writer, end)),
        4 => any_keys().prop_map(AnyEvent::Answer),
        3 => select(&[Event::Wake, Event::Retry, Event::Expire, Event::Lapse, SET_BACK][..]).prop_map(AnyEvent::Plain),
        1 => Just(AnyEvent::Plain(Event::Cancel)),
    ]
}

fn any_task() -> impl Strategy<Value = TaskRecord> {
    let ttl = proptest::option::of((0..3_600_u64).prop_map(Duration::from_secs));
    (ttl, any_pause()).prop_map(|(ttl, retention)| TaskRecord { ttl, retention, ..task() })
}

fn any_events() -> impl Strategy<Value = Vec<(AnyEvent, When)>> {
    proptest::collection::vec((any_event(), any_when()), 1..60)
}

/// The fence under which an event writes, if a run writes it.
fn fence_of(event: Event<'_>) -> Option<u64> {
    match event {
        Event::Renew { fence, .. }
        | Event::Accompany { fence }
        | Event::Record { fence, .. }
        | Event::Park { fence, .. }
        | Event::HandOver { fence, .. }
        | Event::Finish { fence, .. } => Some(fence),
        _ => None,
    }
}

/// Returns the rule that a transition breaks.
fn broken(
    before: &TaskRecord,
    event: Event<'_>,
    now: Timestamp,
    result: Result<(), TransitionError>,
    after: &TaskRecord,
) -> Option<&'static str> {
    let has_it = |fence| fence == before.fence && before.leased_until.is_some();
    let is_over = before.ended.is_none() && before.end(now).is_some();
    let rules = [
        (result.is_err() && before != after, "it was refused, and changed the record"),
        (fence_of(event).is_some_and(|fence| !has_it(fence)) && result.is_ok(), "a run wrote that does not have it"),
        (is_over && event != Event::Expire && result != Err(TransitionError::Ended), "its time was over"),
        (before.end(now).is_some_and(|end| after.end(now) != Some(end)), "its end became another"),
        (
            event == SET_BACK && result.is_ok() && after.leased_until.is_some_and(|until| until > now + LONGEST_LEASE),
            "a lease goes on for ever",
        ),
        (event == Event::Cancel && result.is_ok() && after.end(now) != Some(End::Cancelled), "it was not cancelled"),
        (after.counted_losses > before.counted_losses && !before.alone, "a loss counted that had company"),
        (event == Event::Retry && result.is_ok() && after.attention().or(after.trial()).is_none(), "a retry was lost"),
    ];
    let broken = rules.into_iter().find_map(|(is_broken, rule)| is_broken.then_some(rule));
    broken.or_else(|| invariants::broken_step(before, after)).or_else(|| invariants::broken(after, now))
}

/// Cases that once failed are committed, and tried first.
#[expect(clippy::unnecessary_wraps, reason = "it is what the configuration takes")]
fn kept() -> Option<Box<dyn FailurePersistence>> {
    Some(Box::new(FileFailurePersistence::Direct("tests/transition/regressions.txt")))
}

/// A record as it would be if everything had happened so much later, after so many more runs.
fn shifted(record: &TaskRecord, later: Duration, runs: u64) -> TaskRecord {
    TaskRecord {
        created: record.created + later,
        updated: record.updated + later,
        leased_until: record.leased_until.map(|moment| moment + later),
        due: record.due.map(|moment| moment + later),
        reserved_until: record.reserved_until.map(|moment| moment + later),
        set_aside: record.set_aside.map(|moment| moment + later),
        ended: record.ended.map(|(end, moment)| (end, moment + later)),
        fence: record.fence + runs,
        ..record.clone()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: kept(), ..ProptestConfig::default() })]

    #[test]
    fn no_events_at_any_times_break_a_rule(mut record in any_task(), events in any_events()) {
        let mut now = NOON;
        for (event, when) in &events {
            now = when.moment(&record, now);
            let event = event.as_event(record.fence);
            let before = record.clone();
            let result = record.apply(event, now);
            let broken = broken(&before, event, now, result, &record);
            prop_assert_eq!(broken, None, "{:?} at {}: {:?}\n{:#?}\n{:#?}", event, now, result, before, record);
        }
    }

    /// The explorer takes this for granted when it counts time from now and runs from the newest.
    #[test]
    fn what_happens_depends_on_no_absolute_time_or_fence(
        mut record in any_task(),
        events in any_events(),
        later in any_pause(),
        runs in 0..5_u64,
    ) {
        let mut now = NOON;
        let mut other = shifted(&record, later, runs);
        for (event, when) in &events {
            now = when.moment(&record, now);
            let result = record.apply(event.as_event(record.fence), now);
            prop_assert_eq!(other.apply(event.as_event(other.fence), now + later), result);
            prop_assert_eq!(&other, &shifted(&record, later, runs));
        }
    }
}
