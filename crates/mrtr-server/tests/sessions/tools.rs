//! Tools that ask, and what they do outside.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use mrtr_server::testing::FixedClock;
use mrtr_server::{Builder, Failure, Flow, Server};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::Notify;

/// The effects outside. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Outside(Arc<Inner>);

#[derive(Default)]
struct Inner {
    effects: Mutex<Vec<String>>,
    runs: AtomicUsize,
    reached: Notify,
    open: Notify,
}

impl Outside {
    /// Something that is done, as a step does it.
    pub(crate) fn does(&self, what: impl Into<String>) -> impl Future<Output = Result<(), Failure>> {
        let what = what.into();
        async {
            self.0.effects.lock().unwrap().push(what);
            Ok(())
        }
    }

    pub(crate) fn effects(&self) -> Vec<String> {
        self.0.effects.lock().unwrap().clone()
    }

    pub(crate) fn runs(&self) -> usize {
        self.0.runs.load(Ordering::SeqCst)
    }

    pub(crate) fn ran(&self) {
        self.0.runs.fetch_add(1, Ordering::SeqCst);
    }

    /// Waits at a gate, as a step may.
    pub(crate) async fn wait(&self) -> Result<(), Failure> {
        self.0.reached.notify_one();
        self.0.open.notified().await;
        Ok(())
    }

    pub(crate) async fn reached(&self) {
        super::client::within("a step at the gate", self.0.reached.notified()).await;
    }

    pub(crate) fn open(&self) {
        self.0.open.notify_one();
    }
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Name {
    pub(crate) name: String,
}

/// Asks for a name, does something with it, asks for another, and does something with that.
pub(crate) async fn greet(flow: Flow) -> Result<String, Failure> {
    let outside = flow.state::<Outside>();
    outside.ran();
    let one: Name = flow.elicit("one", "Who are you?").await?;
    flow.step("greet one", outside.does(format!("greet {}", one.name))).await?;
    let other: Name = flow.elicit("other", "And who else?").await?;
    flow.step("greet other", outside.does(format!("greet {}", other.name))).await?;
    Ok(format!("{} and {}", one.name, other.name))
}

/// Asks for two names at once.
pub(crate) async fn both(flow: Flow) -> Result<String, Failure> {
    flow.state::<Outside>().ran();
    let (one, other) =
        flow.join((flow.elicit::<Name>("one", "Who are you?"), flow.elicit::<Name>("other", "Who else?"))).await?;
    Ok(format!("{} and {}", one.name, other.name))
}

/// Asks for a name that need not be given.
pub(crate) async fn perhaps(flow: Flow) -> Result<String, Failure> {
    let name: Option<Name> = flow.elicit("name", "Who are you?").optional().await;
    Ok(name.map_or("nobody".to_owned(), |name| name.name))
}

pub(crate) fn builder(outside: &Outside, clock: &FixedClock) -> Builder {
    Server::builder("test", "1.0.0").state(outside.clone()).clock(clock.clone())
}
