//! A step: done once, and from then on read from the journal.

use std::fmt;
use std::future::{pending, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use mrtr_schema::Backoff;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Flow;
use crate::engine::journal::{Leaf, StepEntry};
use crate::engine::{ActiveRun, Making, StepStart, Watcher, Within, poll_apart};
use crate::error::{Failure, FlowError};

/// A step. Await it for its output, of this run or of an earlier one.
///
/// ```
/// # use mrtr_flow::{Failure, Flow};
/// # async fn create_issue() -> Result<u64, std::io::Error> { Ok(7) }
/// async fn report(flow: Flow) -> Result<String, Failure> {
///     let number: u64 = flow.step("create_issue", create_issue()).idempotent().await?;
///     Ok(format!("created #{number}"))
/// }
/// ```
#[must_use = "a step starts when it is awaited"]
pub struct Step<'a, W> {
    run: &'a Arc<ActiveRun>,
    made: Made<'a>,
    work: W,
    options: Options,
}

#[derive(Debug, Clone, Copy, Default)]
struct Options {
    idempotent: bool,
    retry: Option<Retry>,
    timeout: Option<Duration>,
}

/// The name of a step, and whether it was begun: one that never was may begin in a later run.
struct Made<'a> {
    run: &'a ActiveRun,
    name: String,
    making: Option<Making>,
    begun: bool,
}

impl<'a> Made<'a> {
    fn new(run: &'a ActiveRun, name: String) -> Self {
        Self { run, name, making: run.making(), begun: false }
    }
}

impl Drop for Made<'_> {
    fn drop(&mut self) {
        if let (false, Some(making)) = (self.begun, self.making) {
            self.run.dropped_unbegun(&self.name, making);
        }
    }
}

/// A policy of retries: the number of times that a failed step is tried again, and the pauses between them.
///
/// ```
/// use std::time::Duration;
/// use mrtr_flow::flow::Retry;
///
/// let policy = Retry::times(3).after(Duration::from_millis(200)); // then 400, then 800
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Retry {
    times: u32,
    pause: Duration,
}

impl Retry {
    /// Tries again this many times at most, after a pause of 100 ms that doubles each time.
    pub fn times(times: u32) -> Self {
        Self { times, pause: Duration::from_millis(100) }
    }

    /// Sets the first pause.
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

/// The work of a step: a future, which may be sent to another thread, of a [`StepResult`].
///
/// ```
/// use mrtr_flow::flow::StepWork;
///
/// fn is_work<'a>(_: impl StepWork<'a>) {}
/// is_work(async { Ok::<_, std::io::Error>(7) });
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the work of a step",
    label = "not a future that a step can run",
    note = "the work is a `Send` future of a `Result`, such as `async {{ Ok::<_, Failure>(7) }}` or a call of an `async fn`",
    note = "work that is to be tried again is a closure that begins such a future: `flow.step_with(name, || …).retry(…)`"
)]
pub trait StepWork<'a>: Future<Output: StepResult> + Send + 'a {}

impl<'a, F: Future<Output: StepResult> + Send + 'a> StepWork<'a> for F {}

/// The output of a step's work: a `Result` of a value that can be recorded and read again, or any error.
///
/// ```
/// use mrtr_flow::flow::StepResult;
///
/// fn is_recorded<T: StepResult>() {}
/// is_recorded::<Result<u64, std::io::Error>>();
/// ```
#[diagnostic::on_unimplemented(
    message = "the work of a step ends in a `Result`, and this ends in `{Self}`",
    label = "this work does not end in a `Result`",
    note = "end it in `Ok::<_, Failure>(value)`; the error may be `mrtr::Failure`, `anyhow::Error`, an error of your own, or a `String`"
)]
pub trait StepResult {}

impl<T: StepValue, E: Into<Failure> + Send> StepResult for Result<T, E> {}

/// The value of a step: it is recorded as JSON, and later runs read it again.
///
/// ```
/// use mrtr_flow::flow::StepValue;
///
/// #[derive(serde::Serialize, serde::Deserialize)]
/// struct Issue { number: u64 }
///
/// fn is_recorded<T: StepValue>() {}
/// is_recorded::<Issue>();
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the value of a step",
    label = "the value of this step is of the type `{Self}`",
    note = "the value is recorded for later runs: write `#[data]` of `mrtr` above its type, and above every type in it",
    note = "a program without `mrtr` writes `#[derive(serde::Serialize, serde::Deserialize)]` instead",
    note = "the value is `Send`, and borrows nothing"
)]
pub trait StepValue: Serialize + DeserializeOwned + Send {}

// The compiler then names the type that cannot be recorded, and not each trait that it lacks.
#[diagnostic::do_not_recommend]
impl<T: Serialize + DeserializeOwned + Send> StepValue for T {}

/// The work that a step does. Implemented here alone: for a future, and for a closure that begins one.
pub trait Work<'a>: Send + 'a {
    /// The future.
    type Future: Future + Send + 'a;

    /// Begins the work; `None` if it was done and cannot be done again.
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
        let made = Made::new(&flow.run, name);
        Self { run: &flow.run, made, work: Once(Some(work)), options: Options::default() }
    }
}

impl<'a, W> Step<'a, W> {
    pub(super) fn again(flow: &'a Flow, name: String, work: W) -> Self {
        Self { run: &flow.run, made: Made::new(&flow.run, name), work, options: Options::default() }
    }

    pub(super) fn step_name(&self) -> &str {
        &self.made.name
    }

    /// Declares that the step does no harm if it is done twice: a later run starts it again if it was interrupted.
    pub fn idempotent(mut self) -> Self {
        self.options.idempotent = true;
        self
    }

    /// Limits the time of the step, counted from its beginning, all attempts together. A step that takes longer is
    /// dropped, and its outcome is [`FlowError::TimedOut`], in this run and in later ones.
    ///
    /// A timeout around a step is another matter: the handler continues without the step, which then never returns, not
    /// in later runs either.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use mrtr_flow::{Failure, Flow, FlowError};
    /// # async fn fetch() -> Result<String, std::io::Error> { Ok("page".into()) }
    /// async fn page(flow: Flow) -> Result<String, Failure> {
    ///     match flow.step("fetch", fetch()).timeout(Duration::from_secs(5)).await {
    ///         Err(FlowError::TimedOut { .. }) => Ok("an older page".into()),
    ///         fetched => Ok(fetched?),
    ///     }
    /// }
    /// ```
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.options.timeout = Some(limit);
        self
    }
}

impl<W: FnMut() -> F, F> Step<'_, W> {
    /// Tries again when the work fails; the journal records only the last outcome.
    ///
    /// ```
    /// # use mrtr_flow::{Failure, Flow};
    /// # use mrtr_flow::flow::Retry;
    /// # async fn fetch() -> Result<String, std::io::Error> { Ok("page".into()) }
    /// async fn page(flow: Flow) -> Result<String, Failure> {
    ///     Ok(flow.step_with("fetch", || fetch()).retry(Retry::times(2)).await?)
    /// }
    /// ```
    pub fn retry(mut self, policy: Retry) -> Self {
        self.options.retry = Some(policy);
        self
    }
}

impl<W> fmt::Debug for Step<'_, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Step({})", self.made.name)
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
    async fn take(self) -> Result<T, FlowError> {
        let Self { run, mut made, work, options } = self;
        run.give_way().await;
        made.begun = true;
        let (name, making) = (std::mem::take(&mut made.name), made.making);
        match run.begin_step(&name, options.idempotent, making).await {
            StepStart::Park => pending().await,
            StepStart::Closed => Err(FlowError::Closed),
            StepStart::Interrupted => Err(FlowError::Interrupted { step: name }),
            StepStart::Recorded(entry) => or_park(read(run, &name, &entry)).await,
            StepStart::Start(watcher) => {
                let under_way = run.step_guard(&name);
                let read = watched(run, &watcher, perform(run, &name, work, options)).await.and_then(|entry| {
                    let read = read(run, &name, &entry);
                    run.finish_step(&name, &entry, making);
                    read
                });
                under_way.end();
                or_park(read).await
            }
        }
    }
}

/// Polls a step that is under way, so that the run knows whether it was woken and left unpolled.
async fn watched<F: Future>(run: &Arc<ActiveRun>, watcher: &Watcher, step: F) -> F::Output {
    let (mut step, watch, waker) = (pin!(step), watcher.watch(run), watcher.waker(run));
    poll_fn(|cx| watch.poll(&waker, cx, |cx| step.as_mut().poll(cx))).await
}

/// Does the work, and keeps its outcome before anything else happens. `None` if there is none to keep.
async fn perform<'a, W, F, T, E>(run: &ActiveRun, name: &str, work: W, options: Options) -> Option<StepEntry>
where
    W: Work<'a, Future = F>,
    F: Future<Output = Result<T, E>> + Send + 'a,
    T: Serialize,
    E: Into<Failure>,
{
    run.record_step(name, &StepEntry::Started).await?;
    let entry = {
        let mut working = pin!(run.inside(Within::Step, name, attempt(run, work, options.retry)));
        let mut time = options.timeout.map(|limit| run.context.environment.clock.sleep(limit));
        poll_fn(|cx| match working.as_mut().poll(cx) {
            Poll::Ready(entry) => Poll::Ready(entry),
            Poll::Pending => match time.as_mut().map(|time| poll_apart(time.as_mut(), cx)) {
                Some(Poll::Ready(())) => Poll::Ready(Some(StepEntry::TimedOut)),
                Some(Poll::Pending) | None => Poll::Pending,
            },
        })
        .await?
    };
    run.record_step(name, &entry).await?;
    Some(entry)
}

/// Does the work until it succeeds or has been tried often enough, and makes its outcome an entry.
async fn attempt<'a, W, F, T, E>(run: &ActiveRun, mut work: W, retry: Option<Retry>) -> StepEntry
where
    W: Work<'a, Future = F>,
    F: Future<Output = Result<T, E>> + Send + 'a,
    T: Serialize,
    E: Into<Failure>,
{
    let Retry { times, pause } = retry.unwrap_or(Retry::times(0));
    let pauses = Backoff::new(pause, Duration::MAX);
    let mut tried_again = 0;
    let outcome = loop {
        match work.begin().expect("work is begun again only if it can be").await {
            Ok(value) => break Leaf::of(&value).map_err(Failure::from),
            Err(error) if tried_again == times => break Err(error.into()),
            Err(_) => {}
        }
        run.context.environment.clock.sleep(pauses.pause(tried_again)).await;
        tried_again += 1;
    };
    outcome.map_or_else(|failure| StepEntry::Error(failure.into_step_error()), StepEntry::Value)
}

/// Reads the entry, even in the run that made it, so that a value that does not survive being recorded shows up at
/// once. `None` if the run ends because it cannot be read.
fn read<T: DeserializeOwned>(run: &ActiveRun, name: &str, entry: &StepEntry) -> Option<Result<T, FlowError>> {
    Some(match entry {
        StepEntry::Value(value) => {
            let value = run.contain("reading the outcome of step", name, || serde_json::from_str(value.as_str()))?;
            let Ok(value) = value else {
                // The error would quote what was recorded, which belongs in no log.
                run.misuse(format!("the recorded outcome of step `{name}` cannot be read as its type"));
                return None;
            };
            Ok(value)
        }
        StepEntry::Error(error) => Err(FlowError::Step(error.clone())),
        StepEntry::TimedOut => Err(FlowError::TimedOut { step: name.to_owned() }),
        StepEntry::Started | StepEntry::Dropped => Err(FlowError::Interrupted { step: name.to_owned() }),
    })
}

/// Waits for the end of the run if there is nothing to continue with.
async fn or_park<T>(read: Option<T>) -> T {
    match read {
        Some(read) => read,
        None => pending().await,
    }
}
