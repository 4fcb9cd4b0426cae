//! A plain call of a server with more and more tools: it should not matter how many there are.

use anyhow::Result;
use mrtr_server::{Server, Tool};
use serde_json::json;

use super::times::{Round, Times};
use crate::Scale;
use crate::report::{Figure, Target};
use crate::server::exchange::call;
use crate::tracker::close_work_item;

const TOOLS: [usize; 4] = [1, 10, 100, 1000];

pub(super) fn figures(scale: Scale) -> Result<Vec<Figure>> {
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

/// All names are of the same length, and so are the calls.
fn name(number: usize) -> String {
    format!("close_work_item_{number:04}")
}
