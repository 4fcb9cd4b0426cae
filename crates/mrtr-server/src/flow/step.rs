//! A step: done once, and from then on read from the journal.

use std::fmt;
use std::future::{pending, poll_fn};
use std::pin::{Pin, pin};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Flow;
use crate::journal::StepEntry;
use crate::run::{Begin, Entry, Run};
use crate::{Failure, FlowError};

/// A step. Await it for what it gave, now or in an earlier run.
///
/// ```
/// # use mrtr_server::{Failure, Flow};
/// # async fn create_issue() -> Result<u64, std::io::Error> { Ok(7) }
/// async fn report(flow: Flow) -> Result<String, Failure> {
///     let number: u64 = flow.step("create_issue", create_issue()).idempotent().await?;
///     Ok(format!("created #{number}"))
/// }
/// ```
#[must_use = "a step starts when it is awaited"]
pub struct Step<'a, W> {
    run: &'a Run,
    name: String,
    work: W,
    idempotent: bool,
    retry: Option<Retry>,
}

/// How often, and after what pauses, a failed step is tried again.
///
/// ```
/// use std::time::Duration;
/// use mrtr_server::Retry;
///
/// let policy = Retry::times(3).after(Duration::from_millis(200)); // then 400, then 800
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Retry {
    times: u32,
    pause: Duration,
}

impl Retry {
    /// Tries this often again, after a pause of 100 ms that doubles each time.
    pub fn times(times: u32) -> Self {
        Self { times, pause: Duration::from_millis(100) }
    }

    /// Begins with another pause.
    #[must_use]
    pub fn after(mut self, pause: Duration) -> Self {
        self.pause = pause;
        self
    }
}

/// Work that can be done once.
pub struct Once<F>(Option<F>);

impl<F> fmt::Debug for Once<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Once")
    }
}

/// What a step does. Implemented here alone: for a future, and for a closure that begins one.
pub trait Work<'a>: Send + 'a {
    /// The future.
    type Future: Future + Send + 'a;

    /// Begins; `None` if it has been done and cannot be again.
    #[doc(hidden)]
    fn begin(&mut self) -> Option<Self::Future>;
}

impl<'a, F: Future + Send + 'a> Work<'a> for Once<F> {
    type Future = F;

    fn begin(&mut self) -> Option<F> {
        self.0.take()
    }
}

impl<'a, W: FnMut() -> F + Send + 'a, F: Future + Send + 'a> Work<'a> for W {
    type Future = F;

    fn begin(&mut self) -> Option<F> {
        Some(self())
    }
}

impl<'a, F> Step<'a, Once<F>> {
    pub(super) fn once(flow: &'a Flow, name: String, work: F) -> Self {
        Self { run: &flow.run, name, work: Once(Some(work)), idempotent: false, retry: None }
    }
}

impl<'a, W> Step<'a, W> {
    pub(super) fn again(flow: &'a Flow, name: String, work: W) -> Self {
        Self { run: &flow.run, name, work, idempotent: false, retry: None }
    }

    /// Says that doing it twice is doing it once: it is started again if it was interrupted.
    pub fn idempotent(mut self) -> Self {
        self.idempotent = true;
        self
    }
}

impl<W: FnMut() -> F, F> Step<'_, W> {
    /// Tries again when it fails; only the last outcome is recorded.
    ///
    /// ```
    /// # use mrtr_server::{Failure, Flow, Retry};
    /// # async fn fetch() -> Result<String, std::io::Error> { Ok("page".into()) }
    /// async fn page(flow: Flow) -> Result<String, Failure> {
    ///     Ok(flow.step_with("fetch", || fetch()).retry(Retry::times(2)).await?)
    /// }
    /// ```
    pub fn retry(mut self, policy: Retry) -> Self {
        self.retry = Some(policy);
        self
    }
}

impl<W> fmt::Debug for Step<'_, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Step({})", self.name)
    }
}

impl<'a, W, F, T, E> IntoFuture for Step<'a, W>
where
    W: Work<'a, Future = F>,
    F: Future<Output = Result<T, E>> + Send + 'a,
    T: Serialize + DeserializeOwned + Send + 'a,
    E: Into<Failure> + Send + 'a,
{
    type Output = Result<T, FlowError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.take())
    }
}

impl<'a, W, F, T, E> Step<'a, W>
where
    W: Work<'a, Future = F>,
    F: Future<Output = Result<T, E>> + Send + 'a,
    T: Serialize + DeserializeOwned + Send + 'a,
    E: Into<Failure> + Send + 'a,
{
    async fn take(mut self) -> Result<T, FlowError> {
        match self.run.begin_step(&self.name, self.idempotent) {
            Begin::Park => pending().await,
            Begin::Interrupted => Err(FlowError::Interrupted { step: self.name }),
            Begin::Recorded(entry) => or_park(self.read(&entry)).await,
            Begin::Start => {
                let in_flight = self.run.guard_started();
                let performed = self.perform().await;
                let read = performed.and_then(|entry| {
                    let read = self.read(&entry);
                    self.run.finish_step(&self.name, entry);
                    read
                });
                drop(in_flight);
                or_park(read).await
            }
        }
    }

    /// Does the work, and has its outcome kept before anything else happens. `None` if there is none to keep.
    async fn perform(&mut self) -> Option<StepEntry> {
        record(self.run, &self.name, Entry::StepStarted { step: &self.name }).await?;
        let entry = match self.attempt().await? {
            Ok(value) => match serde_json::value::to_raw_value(&value) {
                Ok(value) => StepEntry::Value(value),
                Err(error) => StepEntry::Error(Failure::from(error).into_step_error()),
            },
            Err(failure) => StepEntry::Error(failure.into_step_error()),
        };
        if self.run.context.sink.is_some() {
            let outcome = serde_json::to_string(&entry).expect("an entry is JSON");
            record(self.run, &self.name, Entry::StepFinished { step: &self.name, outcome: &outcome }).await?;
        }
        Some(entry)
    }

    /// Does the work, until it succeeds or has been tried often enough. `None` if it broke the rules of steps.
    async fn attempt(&mut self) -> Option<Result<T, Failure>> {
        let Retry { mut times, mut pause } = self.retry.unwrap_or(Retry::times(0));
        loop {
            let work = self.work.begin().expect("work is begun again only if it can be");
            let mut work = pin!(work);
            let run = self.run;
            match poll_fn(|cx| run.inside_step(|| work.as_mut().poll(cx))).await? {
                Ok(value) => return Some(Ok(value)),
                Err(error) if times == 0 => return Some(Err(error.into())),
                Err(_) => {}
            }
            self.run.context.shared.clock.sleep(pause).await;
            times -= 1;
            pause = pause.saturating_mul(2);
        }
    }

    /// Reads the entry, also in the run that made it: what does not survive being recorded shows up at once.
    fn read(&self, entry: &StepEntry) -> Option<Result<T, FlowError>> {
        match entry {
            StepEntry::Value(value) => {
                let Ok(value) = serde_json::from_str(value.get()) else {
                    // The error would quote what was recorded, which belongs in no log.
                    let name = &self.name;
                    self.run.misuse(format!("the recorded outcome of step `{name}` cannot be read as its type"));
                    return None;
                };
                Some(Ok(value))
            }
            StepEntry::Error(error) => Some(Err(FlowError::Step(error.clone()))),
            StepEntry::Started => Some(Err(FlowError::Interrupted { step: self.name.clone() })),
        }
    }
}

/// Waits for the end of the run if there is nothing to go on with.
async fn or_park<T>(read: Option<T>) -> T {
    match read {
        Some(read) => read,
        None => pending().await,
    }
}

/// Has an entry kept. If it cannot be, the run ends.
async fn record(run: &Run, step: &str, entry: Entry<'_>) -> Option<()> {
    let Some(sink) = &run.context.sink else { return Some(()) };
    sink.record(entry).await.map_err(|error| run.sink_failed(step, error)).ok()
}
