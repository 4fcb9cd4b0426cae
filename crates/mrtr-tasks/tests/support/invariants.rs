//! The rules that hold of every record of a task, whatever has happened to it.

use mrtr_schema::tasks::TaskStatus;
use mrtr_state::Timestamp;
use mrtr_tasks::TaskRecord;

/// Returns the rule that the record breaks by itself.
pub(crate) fn broken(record: &TaskRecord, now: Timestamp) -> Option<&'static str> {
    let is_leased = record.leased_until.is_some();
    let is_ended = record.ended.is_some();
    let rules = [
        (is_leased && record.due.is_some(), "a run has it, and another is due"),
        (!is_leased && (record.run_again || record.progressed), "no run has it, and something is noted of the run"),
        (is_ended && (is_leased || record.due.is_some()), "it has ended, and a run has it or is due"),
        (is_ended && !record.open.is_empty(), "it has ended, and asks"),
        (record.alone && !(is_leased && record.is_on_trial()), "it is alone, and not on trial"),
        (record.alone && record.progressed, "it is alone, and has recorded something"),
        (record.counted_losses > record.lost_runs, "more losses count than there were"),
        (
            record.counted_losses >= 5 && !(is_ended || record.set_aside.is_some()),
            "five losses counted, and it goes on",
        ),
        (record.lost_runs >= 20 && !(is_ended || record.set_aside.is_some()), "twenty runs were lost, and it goes on"),
        (record.set_aside.is_some() && (is_leased || is_ended || record.due.is_some()), "it is set aside, and goes on"),
        (record.reserved_until.is_some() && (is_leased || is_ended), "room is made for it, and no run is due"),
        (record.attention().is_some() && record.is_on_trial(), "it is on trial, and anyone takes it"),
        (record.updated < record.created, "it changed before it was created"),
        (record.ended.is_some_and(|(_, ended)| ended != record.updated), "something happened after its end"),
        (record.status(now) != status(record, now), "its status does not follow from the record"),
    ];
    rules.into_iter().find_map(|(is_broken, rule)| is_broken.then_some(rule))
}

/// Returns the rule that a step from one record to the next breaks.
pub(crate) fn broken_step(before: &TaskRecord, after: &TaskRecord) -> Option<&'static str> {
    let rules = [
        (after.updated < before.updated, "its last change is earlier than before"),
        (after.fence < before.fence, "its fence fell"),
        (after.fence > before.fence + 1, "its fence skipped a run"),
        (after.fence > before.fence && after.leased_until.is_none(), "a fence was spent, and no run has it"),
        (before.ended.is_some() && before != after, "it had ended, and changed"),
        (before.ttl.is_none() != after.ttl.is_none() || after.ttl < before.ttl, "its ttl became shorter"),
        (constants(before) != constants(after), "what never changes did"),
    ];
    rules.into_iter().find_map(|(is_broken, rule)| is_broken.then_some(rule))
}

/// The status of a task, told from the record in the words of the rule.
fn status(record: &TaskRecord, now: Timestamp) -> TaskStatus {
    let is_over = record.ttl.map_or_else(
        || record.set_aside.is_some_and(|since| now >= since + record.retention),
        |ttl| now >= record.created + ttl,
    );
    match record.ended {
        Some((end, _)) => end.status(),
        None if is_over => TaskStatus::Failed,
        None if record.open.is_empty() => TaskStatus::Working,
        None => TaskStatus::InputRequired,
    }
}

fn constants(record: &TaskRecord) -> impl PartialEq + '_ {
    let TaskRecord { id, owner, flow, tool, revision, created, poll_interval, retention, .. } = record;
    (id, owner, flow, tool, revision, created, poll_interval, retention)
}
