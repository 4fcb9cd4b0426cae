//! Nothing spins: a handler that is never made to wait starves neither what runs beside it nor its own deadline.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use async_trait::async_trait;
use mrtr_flow::{
    Entries, Journal, JournalSink, NotificationSink, Outcome, Progress, RunContext, SinkError, StopReason, StopSignal,
    run,
};
use mrtr_schema::{Json, LoggingLevel};
use mrtr_server::{Failure, Flow};

use crate::support::Approval;

/// A handler that goes on for ever.
type Endless = fn(Flow) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send>>;

/// Keeps everything, at once.
struct Ready;

#[async_trait]
impl JournalSink for Ready {
    async fn record(&self, _: &Entries) -> Result<(), SinkError> {
        Ok(())
    }
}

#[async_trait]
impl NotificationSink for Ready {
    async fn progress(&self, _: Progress) {}

    async fn log(&self, _: LoggingLevel, _: Json) {}
}

/// Runs on a thread of its own, which has no other: a test of something that spins must fail, and not spin.
fn on_one_thread<T: Send + 'static>(what: &str, test: impl Future<Output = T> + Send + 'static) -> T {
    let (done, ended) = mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        done.send(runtime.block_on(test)).ok();
    });
    ended.recv_timeout(Duration::from_secs(20)).unwrap_or_else(|_| panic!("{what}: nothing else runs beside it"))
}

/// Returns what the run says when its time is over. A timer ends it, and other tasks have had turns beside it by then.
fn overdue(what: &'static str, handler: Endless, context: impl FnOnce() -> RunContext + Send + 'static) -> String {
    on_one_thread(what, async move {
        let turns = Arc::new(AtomicUsize::new(0));
        let beside = Arc::clone(&turns);
        tokio::spawn(async move {
            loop {
                beside.fetch_add(1, Ordering::Relaxed);
                tokio::task::yield_now().await;
            }
        });
        let context = context().deadline(Duration::from_millis(50));
        let ran = run(async |flow| handler(flow).await, Journal::default(), context).await;
        assert!(turns.load(Ordering::Relaxed) > 0, "{what}: what is beside it has no turns");
        match ran.outcome {
            Outcome::Failed(failure) => format!("{failure:?}"),
            other => panic!("{what}: {other:?}"),
        }
    })
}

/// One that a task has: its journal may grow for as long as its run goes on.
fn as_task() -> RunContext {
    RunContext::for_tests().as_task(usize::MAX / 2)
}

fn recorded() -> RunContext {
    as_task().sink(Arc::new(Ready))
}

fn heard() -> RunContext {
    as_task().notifications(Arc::new(Ready))
}

async fn report_for_ever(flow: &Flow) -> Result<(), Failure> {
    loop {
        flow.progress(1, None, "on").await;
    }
}

/// Loops of every call on a flow that can be ready at once.
const LOOPS: [(&str, Endless); 14] = [
    ("progress", |flow| {
        Box::pin(async move {
            loop {
                flow.progress(1, None, "on").await;
            }
        })
    }),
    ("log", |flow| {
        Box::pin(async move {
            loop {
                flow.log(LoggingLevel::Info, "on").await;
            }
        })
    }),
    ("yield_point", |flow| {
        Box::pin(async move {
            loop {
                flow.yield_point(&1).await;
            }
        })
    }),
    ("idempotency_key", |flow| {
        Box::pin(async move {
            loop {
                flow.idempotency_key("key").await;
            }
        })
    }),
    ("into_task", |flow| {
        Box::pin(async move {
            loop {
                flow.into_task().await;
            }
        })
    }),
    ("a question that is known", |flow| {
        Box::pin(async move {
            loop {
                flow.roots("roots").optional().await;
            }
        })
    }),
    ("a visit that is done", |flow| {
        Box::pin(async move {
            loop {
                flow.elicit_url("go", "Go", "https://example.com").until(async || true).await?;
            }
        })
    }),
    ("a decision that is made", |flow| {
        Box::pin(async move {
            loop {
                flow.ask::<Approval>("sign", HashMap::new()).until(async || Some(1)).await?;
            }
        })
    }),
    ("step", |flow| {
        Box::pin(async move {
            for name in 0_u64.. {
                flow.step(name, async { Ok::<_, Failure>(()) }).await?;
            }
            Ok(())
        })
    }),
    ("progress in a step", |flow| {
        Box::pin(async move {
            flow.step("work", report_for_ever(&flow)).await?;
            Ok(())
        })
    }),
    ("join", |flow| {
        Box::pin(async move {
            loop {
                flow.join((flow.branch(async {}), flow.branch(async {}))).await?;
            }
        })
    }),
    ("join_all of nothing", |flow| {
        Box::pin(async move {
            loop {
                flow.join_all(std::iter::empty::<mrtr_server::flow::Branch<'_, ()>>()).await?;
            }
        })
    }),
    ("race", |flow| {
        Box::pin(async move {
            for scope in 0_u64.. {
                let scope = flow.scope(scope);
                scope.race((scope.branch(async {}), scope.branch(async {}))).await?;
            }
            Ok(())
        })
    }),
    ("a branch beside a question", |flow| {
        Box::pin(async move {
            let branch = flow.branch(async {
                loop {
                    flow.progress(1, None, "on").await;
                }
            });
            flow.join((flow.roots("roots"), branch)).await.map(|(_, ()): (_, ())| ())?;
            Ok(())
        })
    }),
];

#[test]
fn every_call_on_a_flow_gives_way_and_its_deadline_ends_a_loop_of_them() {
    for (what, handler) in LOOPS {
        for context in [as_task, recorded, heard] {
            let told = overdue(what, handler, context);
            assert!(told.contains("The run did not end within 50ms"), "{what}: {told}");
        }
    }
}

#[test]
fn a_handler_that_uses_up_the_turns_of_its_runtime_is_ended_by_its_deadline() {
    let told = overdue(
        "the runtime's own turns",
        |_| {
            Box::pin(async {
                loop {
                    tokio::task::consume_budget().await;
                }
            })
        },
        RunContext::for_tests,
    );
    assert!(told.contains("The run did not end within 50ms"), "{told}");
}

#[test]
fn a_loop_of_calls_is_stopped_from_outside() {
    let outcome = on_one_thread("stopping", async {
        let signal = StopSignal::new();
        let raised = signal.clone();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(10)).await;
            raised.raise(StopReason::Cancelled);
        });
        let handler = async |flow: Flow| -> Result<(), Failure> {
            loop {
                flow.progress(1, None, "on").await;
            }
        };
        run(handler, Journal::default(), RunContext::for_tests().stop(signal)).await.outcome
    });
    assert!(matches!(outcome, Outcome::Stopped(StopReason::Cancelled)), "{outcome:?}");
}

#[test]
fn waiting_for_a_signal_that_was_raised_gives_way() {
    on_one_thread("a raised signal", async {
        let signal = StopSignal::new();
        signal.raise(StopReason::Shutdown);
        let waiting = tokio::spawn(async move {
            loop {
                signal.wait().await;
            }
        });
        tokio::time::sleep(Duration::from_millis(10)).await;
        waiting.abort();
    });
}

#[tokio::test]
async fn questions_are_asked_together_however_many_calls_come_before_them() {
    let handler = async |flow: Flow| -> Result<(), Failure> {
        let second = async {
            for place in 0..1000 {
                flow.progress(place, None, "on").await;
            }
            flow.roots("second").await
        };
        let _both = tokio::join!(flow.roots("first"), second);
        Ok(())
    };
    let ran = run(handler, Journal::default(), RunContext::for_tests()).await;
    let Outcome::Waiting(questions) = ran.outcome else { panic!("it asks") };
    assert_eq!(questions.iter().map(|question| &*question.key).collect::<Vec<_>>(), ["first", "second"]);
}

/// The call at which a loop gives way must not be one that is dropped before it is asked.
#[tokio::test]
async fn a_question_is_not_stepped_past_at_the_call_that_gives_way() {
    type Asks = fn(&Flow) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
    let asks: [(&str, Asks); 4] = [
        ("a question", |flow| Box::pin(async move { drop(flow.roots("sure").await) })),
        ("a visit", |flow| {
            Box::pin(
                async move { drop(flow.elicit_url("sure", "Go", "https://example.com").until(async || false).await) },
            )
        }),
        ("a decision", |flow| {
            Box::pin(async move { drop(flow.ask::<Approval>("sure", HashMap::new()).until(async || None).await) })
        }),
        ("a race", |flow| Box::pin(async move { drop(flow.race((flow.roots("sure"), flow.roots("or else"))).await) })),
    ];
    for (what, ask) in asks {
        for calls in 100..160 {
            let done = Arc::new(AtomicBool::new(false));
            let deleted = Arc::clone(&done);
            let handler = async move |flow: Flow| {
                for _ in 0..calls {
                    flow.progress(1, None, "on").await;
                }
                tokio::select! {
                    biased;
                    () = ask(&flow) => {}
                    () = std::future::ready(()) => {}
                }
                let delete = async {
                    deleted.store(true, Ordering::Relaxed);
                    Ok::<_, Failure>(())
                };
                flow.step("delete", delete).await?;
                Ok::<_, Failure>(())
            };
            run(handler, Journal::default(), RunContext::for_tests()).await;
            assert!(!done.load(Ordering::Relaxed), "{what} was stepped past after {calls} calls");
        }
    }
}
