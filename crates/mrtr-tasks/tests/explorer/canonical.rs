//! The form in which the explorer keeps a world: time counts from now, runs from the newest, runners have no names.

use std::time::Duration;

use mrtr_state::Timestamp;
use mrtr_tasks::TaskRecord;

use crate::model::TICK;
use crate::world::{Runner, World};

/// The time at which every world is kept.
const NOW: Timestamp = Timestamp::from_millis(1_785_240_000_000);

/// The form of a world. Worlds that differ only in this behave alike: the test
/// `what_happens_depends_on_no_absolute_time_or_fence` among those of the transitions tries that.
pub(crate) fn canonical(mut world: World) -> World {
    world.runners.iter_mut().for_each(|runner| *runner = rename(*runner, world.record.fence));
    world.runners.sort_unstable();
    World { now: NOW, record: record(world.record, world.now), ..world }
}

/// A run that is not the newest is an old one, however old.
fn rename(runner: Runner, newest: u64) -> Runner {
    let rename = |fence| u64::from(fence == newest);
    match runner {
        Runner::Running { fence, view, begun } => Runner::Running { fence: rename(fence), view, begun },
        Runner::Unsure { fence } => Runner::Unsure { fence: rename(fence) },
        other => other,
    }
}

fn record(record: TaskRecord, now: Timestamp) -> TaskRecord {
    let ahead = |moment: Timestamp| NOW + moment.since(now);
    // Pauses are shorter than a tick: after one, it makes no difference how long ago a lease ended.
    let lease = |until: Timestamp| if until < now { before_now(TICK) } else { ahead(until) };
    TaskRecord {
        created: record.ttl.map_or(NOW, |ttl| before_now(now.since(record.created).min(ttl))),
        updated: NOW,
        fence: record.fence.min(1),
        leased_until: record.leased_until.map(lease),
        due: record.due.map(ahead),
        set_aside: record.set_aside.map(|_| NOW),
        lost_runs: if record.ended.is_some() { 0 } else { record.lost_runs },
        counted_losses: if record.ended.is_some() { 0 } else { record.counted_losses },
        ended: record.ended.map(|(end, _)| (end, NOW)),
        ..record
    }
}

fn before_now(ago: Duration) -> Timestamp {
    Timestamp::from_millis(NOW.as_millis() - u64::try_from(ago.as_millis()).expect("worlds are short"))
}
