//! The operator's view of tasks and actions on them, as a library call.

use std::time::Duration;

use mrtr_schema::tasks::TaskStatus;

use crate::store::{Place, StoreError};
use crate::tasks::Tasks;
use crate::{End, TaskId};

/// A task as an operator sees it, without what it holds.
///
/// ```
/// use mrtr_tasks::TaskView;
///
/// fn line(task: &TaskView) -> String {
///     format!("{} {} {:?}", task.id, task.tool, task.waits_for)
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TaskView {
    /// The id of the task.
    pub id: TaskId,
    /// Its place in the order of creation.
    pub place: Place,
    /// The owner of the task, as a store keeps it.
    pub owner: String,
    /// The tool that was called.
    pub tool: String,
    /// The status of the task.
    pub status: TaskStatus,
    /// The way in which it ended, if it did.
    pub end: Option<End>,
    /// The time since its creation.
    pub age: Duration,
    /// The event that it waits for.
    pub waits_for: WaitsFor,
    /// The number of runs that it had.
    pub runs: u64,
    /// The number of its last runs that were lost, one after the other.
    pub lost_runs: u32,
    /// The time since it was set aside, if it is.
    pub set_aside: Option<Duration>,
    /// True if this instance serves its tool.
    pub is_served: bool,
}

/// The event that a task waits for.
///
/// ```
/// use mrtr_tasks::WaitsFor;
///
/// assert_ne!(WaitsFor::Nothing, WaitsFor::Run);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum WaitsFor {
    /// It has ended.
    Nothing,
    /// A run has it.
    Run,
    /// A run that begins after this long.
    RunIn(Duration),
    /// Answers to these keys.
    Answers(Vec<String>),
    /// The operator, since too many of its runs were lost: [`Tasks::retry`].
    Operator,
}

impl Tasks {
    /// Returns at most `most` tasks of all owners, in the order of their creation, after a place in that order.
    ///
    /// ```
    /// use mrtr_tasks::Tasks;
    /// use mrtr_tasks::store::MemoryTaskStore;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), mrtr_tasks::store::StoreError> {
    /// let tasks = Tasks::new(MemoryTaskStore::default());
    /// assert!(tasks.view(None, 100).await?.is_empty());
    /// # Ok(()) }
    /// ```
    pub async fn view(&self, after: Option<Place>, most: usize) -> Result<Vec<TaskView>, StoreError> {
        let now = self.0.store.now().await?;
        let tools = self.0.tools().unwrap_or_default();
        let listed = self.0.store.list(None, after, most).await?;
        let views = listed.into_iter().map(|listed| {
            let record = listed.record;
            let waits_for = match (record.end(now), record.leased_until, record.due) {
                (Some(_), ..) => WaitsFor::Nothing,
                _ if record.set_aside.is_some() => WaitsFor::Operator,
                (None, Some(_), _) => WaitsFor::Run,
                (None, None, Some(due)) => WaitsFor::RunIn(due.since(now)),
                (None, None, None) => WaitsFor::Answers(record.open.clone()),
            };
            TaskView {
                id: record.id,
                place: listed.place,
                status: record.status(now),
                end: record.end(now),
                age: now.since(record.created),
                waits_for,
                runs: record.fence,
                lost_runs: record.lost_runs,
                set_aside: record.set_aside.map(|since| now.since(since)),
                is_served: tools.contains(&record.tool),
                owner: record.owner.as_str().to_owned(),
                tool: record.tool,
            }
        });
        Ok(views.collect())
    }

    /// Ends a task of any owner, unless it has ended.
    pub async fn cancel(&self, id: TaskId) -> Result<(), StoreError> {
        self.0.store.cancel(id, None).await
    }

    /// Makes a task run, even if many of its runs were lost or it is set aside. A task that was on trial runs
    /// as soon as an instance has no other run; any other task runs now.
    pub async fn retry(&self, id: TaskId) -> Result<(), StoreError> {
        self.0.store.retry(id).await?;
        self.0.work.notify_one();
        Ok(())
    }

    /// Makes a task run, since something has happened that its flow may wait for.
    pub async fn wake(&self, id: TaskId) -> Result<(), StoreError> {
        self.0.store.wake(id).await?;
        self.0.work.notify_one();
        Ok(())
    }
}
