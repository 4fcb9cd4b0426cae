//! Transitions with a fault put in on purpose, which the explorer must find.

use mrtr_state::Timestamp;
use mrtr_tasks::record::{Event, TransitionError};
use mrtr_tasks::{End, TaskRecord};

/// The store takes any run that records or finishes for the one that has the task.
pub(crate) fn ignores_the_fence(
    record: &mut TaskRecord,
    event: Event<'_>,
    now: Timestamp,
) -> Result<(), TransitionError> {
    let newest = record.fence;
    let event = match event {
        Event::Record { change, .. } => Event::Record { fence: newest, change },
        Event::Finish { end, .. } => Event::Finish { fence: newest, end },
        other => other,
    };
    record.apply(event, now)
}

/// A run that ends forgets what came while it had the task.
pub(crate) fn forgets_the_answer(
    record: &mut TaskRecord,
    event: Event<'_>,
    now: Timestamp,
) -> Result<(), TransitionError> {
    let mut next = record.clone();
    next.run_again &= !matches!(event, Event::Park { .. });
    next.apply(event, now)?;
    *record = next;
    Ok(())
}

/// A run that finishes does not look whether the task was cancelled meanwhile.
pub(crate) fn finishes_what_is_cancelled(
    record: &mut TaskRecord,
    event: Event<'_>,
    now: Timestamp,
) -> Result<(), TransitionError> {
    match (event, record.ended) {
        (Event::Finish { fence, end }, Some((End::Cancelled, _))) if fence == record.fence => {
            record.updated = record.updated.max(now);
            record.ended = Some((end, record.updated));
            Ok(())
        }
        _ => record.apply(event, now),
    }
}

/// A run that is lost counts, whatever ran beside it.
pub(crate) fn counts_company(record: &mut TaskRecord, event: Event<'_>, now: Timestamp) -> Result<(), TransitionError> {
    let lost = record.lost_runs;
    record.apply(event, now)?;
    record.counted_losses += u32::from(record.lost_runs > lost && record.counted_losses == 0);
    Ok(())
}

/// One lost run puts a task on trial.
pub(crate) fn tries_after_one_loss(
    record: &mut TaskRecord,
    event: Event<'_>,
    now: Timestamp,
) -> Result<(), TransitionError> {
    record.apply(event, now)?;
    record.lost_runs += u32::from(record.lost_runs == 1);
    Ok(())
}
