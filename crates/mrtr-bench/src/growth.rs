//! Measures how costs grow with rounds, journals, tools, and flows whose client does not come back.

mod journal;
mod paused;
mod rounds;

use anyhow::{Result, ensure};
use axum::body::Bytes;
use mrtr_server::{Context, Server, Tool};
use serde_json::json;

use crate::Scale;
use crate::measure::Spread;
use crate::report::{Figure, Group, Target};
use crate::server::exchange::call;
use crate::tracker::{answer, close_work_item};

pub(crate) fn measure(scale: Scale) -> Result<Group> {
    let mut figures = rounds::figures(scale)?;
    figures.extend(journal::figures(scale)?);
    figures.extend(tools_figures(scale)?);
    figures.extend(paused::figures(scale)?);
    Ok(Group {
        title: "Growth",
        about: "The time of one round in memory, without HTTP, as a multiple of the smallest of its kind; and the \
            resident memory of a server with flows that wait, as a multiple of the same server without.",
        figures,
    })
}

const TOOLS: [usize; 4] = [1, 10, 100, 1000];

fn tools_figures(scale: Scale) -> Result<Vec<Figure>> {
    let servers = TOOLS.iter().map(|tools| server(*tools)).collect::<Result<Vec<_>>>()?;
    let rounds: Vec<_> = servers.iter().zip(TOOLS).map(|(server, tools)| plain_call(server, tools)).collect();
    let times = Times::of(&rounds, scale)?;
    let figures = TOOLS.iter().enumerate().map(|(which, tools)| Figure {
        what: format!("plain call, {tools} tools"),
        who: "mrtr-server".to_owned(),
        ratio: times.ratio(which).into(),
        target: (which > 0).then_some(Target::AtMost(1.1)),
        absolute: format!("{:.2} µs", times.micros(which)),
    });
    Ok(figures.collect())
}

fn server(tools: usize) -> Result<Server> {
    let builder = Server::builder("tools", "1.0.0");
    let builder = (0..tools).fold(builder, |builder, number| builder.tool(Tool::new(name(number), close_work_item)));
    Ok(builder.build()?)
}

/// A call of the tool in the middle: neither the first nor the last of those that a search would come by.
fn plain_call(server: &Server, tools: usize) -> Round<'_> {
    let arguments = json!({ "workItemId": 4522, "fields": { "System.State": "Resolved" } });
    Round { server, body: call(&name(tools / 2), &arguments, None), mark: "Bug #4522 resolved".to_owned() }
}

/// Names a tool. All names are of the same length, and so are the calls.
fn name(number: usize) -> String {
    format!("close_work_item_{number:04}")
}

/// One message to a server, which can be sent any number of times: a server keeps nothing between rounds.
pub(crate) struct Round<'a> {
    pub(crate) server: &'a Server,
    pub(crate) body: String,
    /// A text that only the right reply has.
    pub(crate) mark: String,
}

/// The times of several rounds, turn by turn.
pub(crate) struct Times(Vec<Vec<f64>>);

impl Times {
    pub(crate) fn of(rounds: &[Round<'_>], scale: Scale) -> Result<Self> {
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
        Ok(Self(crate::measure::in_turns(turns, &mut runs)))
    }

    /// A round as a multiple of the first.
    pub(crate) fn ratio(&self, which: usize) -> Spread {
        self.each(|turn| turn[which] / turn[0])
    }

    /// The cost of the last step up beside the one before it, where both steps are equally large: 1 is a straight line.
    pub(crate) fn bend(&self, [low, middle, high]: [usize; 3]) -> Spread {
        self.each(|turn| (turn[high] - turn[middle]) / (turn[middle] - turn[low]))
    }

    pub(crate) fn micros(&self, which: usize) -> f64 {
        self.each(|turn| turn[which] * 1e6).median
    }

    fn each(&self, of: impl Fn(&[f64]) -> f64) -> Spread {
        Spread::of(self.0.iter().map(|turn| of(turn)).collect())
    }
}
