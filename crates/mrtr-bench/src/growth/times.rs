//! Rounds in memory, timed turn by turn.

use anyhow::{Result, ensure};
use axum::body::Bytes;
use mrtr_server::{Context, Server};

use crate::Scale;
use crate::measure;
use crate::statistics::Spread;
use crate::tracker::answer;

/// One message to a server, which can be sent any number of times: a server keeps nothing between rounds.
pub(super) struct Round<'a> {
    pub(super) server: &'a Server,
    pub(super) body: String,
    /// What stands in the reply if it is the right one.
    pub(super) mark: String,
}

/// How long each of several rounds took, turn by turn.
pub(super) struct Times(Vec<Vec<f64>>);

impl Times {
    pub(super) fn of(rounds: &[Round<'_>], scale: Scale) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        for Round { server, body, mark } in rounds {
            let reply = runtime.block_on(answer(server, body.clone()))?;
            ensure!(reply.contains(mark), "the server answered {reply}");
        }
        let mut runs: Vec<_> = rounds
            .iter()
            .map(|round| {
                let (body, runtime) = (Bytes::from(round.body.clone()), &runtime);
                move || runtime.block_on(round.server.handle(body.clone(), Context::new()))
            })
            .collect();
        let turns = match scale {
            Scale::Quick => 21,
            Scale::Full => 101,
        };
        Ok(Self(measure::in_turns(turns, &mut runs)))
    }

    /// A round as a multiple of the first.
    pub(super) fn ratio(&self, which: usize) -> Spread {
        self.each(|turn| turn[which] / turn[0])
    }

    /// What the last step up takes beside the one before it, where both steps are equally large: 1 is a straight line.
    pub(super) fn bend(&self, [low, middle, high]: [usize; 3]) -> Spread {
        self.each(|turn| (turn[high] - turn[middle]) / (turn[middle] - turn[low]))
    }

    pub(super) fn micros(&self, which: usize) -> f64 {
        self.each(|turn| turn[which] * 1e6).median
    }

    fn each(&self, of: impl Fn(&[f64]) -> f64) -> Spread {
        Spread::of(self.0.iter().map(|turn| of(turn)).collect())
    }
}
