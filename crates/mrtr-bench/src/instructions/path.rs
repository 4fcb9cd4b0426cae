//! The paths that every request takes, each of which can run as often as wanted.

use std::hint::black_box;

use anyhow::{Context as _, Result, bail, ensure};
use clap::ValueEnum;
use mrtr_client::{Action, Call, Limits};
use mrtr_schema::elicitation::ElicitResult;
use mrtr_schema::{JsonObject, Revision};
use mrtr_server::{Context, Reply, Server};
use mrtr_state::{Key, ParamsDigest, ParamsKey};
use mrtr_tasks::{MemoryTaskStore, Tasks};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::server::exchange::Exchange;
use crate::{message, state, tracker};

/// A path whose instructions are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Path {
    Parse,
    Digest,
    Seal,
    Open,
    Plain,
    PlainWithTasks,
    Ask,
    AskSealed,
    Final,
    Streamed,
    SingleUse,
    StreamedSingleUse,
    ClientStep,
}

impl Path {
    pub(super) const ALL: [Self; 13] = [
        Self::Parse,
        Self::Digest,
        Self::Seal,
        Self::Open,
        Self::Plain,
        Self::PlainWithTasks,
        Self::Ask,
        Self::AskSealed,
        Self::Final,
        Self::Streamed,
        Self::SingleUse,
        Self::StreamedSingleUse,
        Self::ClientStep,
    ];

    /// The paths on which a server answers one request.
    pub(super) const SERVED: [Self; 8] = [
        Self::Plain,
        Self::PlainWithTasks,
        Self::Ask,
        Self::AskSealed,
        Self::Final,
        Self::Streamed,
        Self::SingleUse,
        Self::StreamedSingleUse,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Parse => "parse a message",
            Self::Digest => "digest of params",
            Self::Seal => "seal 256 B",
            Self::Open => "open 256 B",
            Self::Plain => "plain call",
            Self::PlainWithTasks => "plain call, on a server with tasks",
            Self::Ask => "round 1, no state",
            Self::AskSealed => "round 1, state",
            Self::Final => "final round",
            Self::Streamed => "streamed call",
            Self::SingleUse => "single-use retry",
            Self::StreamedSingleUse => "streamed single-use retry",
            Self::ClientStep => "reply taken, question answered, retry made",
        }
    }

    pub(super) fn who(self) -> &'static str {
        match self {
            Self::Parse => "mrtr-schema",
            Self::Digest | Self::Seal | Self::Open => "mrtr-state",
            Self::ClientStep => "mrtr-client",
            _ => "mrtr-server",
        }
    }

    /// Returns true if each run brings a state.
    pub(super) fn brings_state(self) -> bool {
        matches!(self, Self::Final | Self::SingleUse | Self::StreamedSingleUse)
    }

    /// Runs the path `times` times. `most` is the largest number of runs that the caller will want of one process.
    pub(crate) fn run(self, times: u32, most: u32) -> Result<()> {
        match self {
            Self::Parse => parse(times),
            Self::Digest => digest(times)?,
            Self::Seal => seal(times)?,
            Self::Open => open(times)?,
            Self::Plain => rounds(tracker::server, Exchange::Plain, times)?,
            Self::PlainWithTasks => rounds(with_tasks, Exchange::Plain, times)?,
            Self::Ask => rounds(tracker::server, Exchange::Ask, times)?,
            Self::AskSealed => rounds(tracker::server, Exchange::AskSealed, times)?,
            Self::Final => rounds(tracker::server, Exchange::Final, times)?,
            Self::Streamed => streamed(times)?,
            Self::SingleUse => single_use(times, most, str::to_owned)?,
            Self::StreamedSingleUse => single_use(times, most, tracker::notified)?,
            Self::ClientStep => client_steps(times)?,
        }
        Ok(())
    }
}

fn parse(times: u32) {
    let bytes = message::message();
    for _ in 0..times {
        black_box(message::by_envelope(black_box(&bytes)));
    }
}

fn digest(times: u32) -> Result<()> {
    let (params, key) = (state::params(), ParamsKey::of(&Key::new("2026-11", [7; 32])?));
    for _ in 0..times {
        black_box(ParamsDigest::of(black_box(&params), &key)?);
    }
    Ok(())
}

/// The digest is a path of its own, so the binding that holds it is made once.
fn seal(times: u32) -> Result<()> {
    let (sealer, params, payload) = (state::sealer(state::Cipher::Ring), state::params(), state::Text::small());
    let binding = state::binding(&params);
    for _ in 0..times {
        black_box(sealer.seal(&payload, &binding, state::NOW)?);
    }
    Ok(())
}

fn open(times: u32) -> Result<()> {
    let (sealer, params) = (state::sealer(state::Cipher::Ring), state::params());
    let binding = state::binding(&params);
    let state = sealer.seal(&state::Text::small(), &binding, state::NOW)?;
    for _ in 0..times {
        black_box(state::open(&sealer, &state, &binding));
    }
    Ok(())
}

/// Rounds in memory, of the server that is measured over HTTP too.
fn rounds(server: fn() -> Result<Server>, exchange: Exchange, times: u32) -> Result<()> {
    runtime()?.block_on(async {
        let server = server()?;
        let body = exchange.body(async |body| tracker::answer(&server, body.to_owned()).await).await?;
        for _ in 0..times {
            let reply = server.handle(body.clone().into(), Context::new()).await.last().await;
            black_box(reply.context("nothing is answered")?);
        }
        Ok(())
    })
}

/// The tracker that could run calls as tasks. Its store is in memory: SQLite has no part in a plain call.
fn with_tasks() -> Result<Server> {
    tracker::server_with(Tasks::new(MemoryTaskStore::default()))
}

/// Calls whose client hears of progress before the result.
fn streamed(times: u32) -> Result<()> {
    runtime()?.block_on(async {
        let server = tracker::notifying_server()?;
        let body = Exchange::Plain.body(async |_| bail!("a plain call has one round")).await?;
        let body = tracker::notified(&body);
        for _ in 0..times {
            let reply = server.handle(body.clone().into(), Context::new()).await;
            ensure!(matches!(reply, Reply::Stream(_)), "nothing was said before the result");
            black_box(reply.last().await.context("nothing is answered")?);
        }
        Ok(())
    })
}

/// Runs last rounds of a tool whose states count once, each with a state of its own. It always makes as many states as
/// the caller may want, so that their cost falls out of the difference of two counts.
fn single_use(times: u32, most: u32, made: fn(&str) -> String) -> Result<()> {
    runtime()?.block_on(async {
        let server = tracker::guarded_server()?;
        let mut bodies = Vec::new();
        for _ in 0..most {
            let body = Exchange::Final.body(async |body| tracker::answer(&server, body.to_owned()).await).await?;
            bodies.push(made(&body));
        }
        for body in bodies.into_iter().take(times as usize) {
            black_box(tracker::answer(&server, body).await?);
        }
        Ok(())
    })
}

fn client_steps(times: u32) -> Result<()> {
    #[derive(Deserialize)]
    struct Reply {
        result: Box<RawValue>,
    }
    let reply = runtime()?.block_on(tracker::reply_to(Exchange::AskSealed))?;
    let Reply { result } = serde_json::from_str(&reply)?;
    let params = JsonObject::parse(state::PARAMS)?;
    let answer = ElicitResult::accept(JsonObject::parse(r#"{"resolution":"Duplicate"}"#)?);
    for _ in 0..times {
        let mut call = Call::new(Revision::V2026_07_28, "tools/call", params.clone(), Limits::default(), 1);
        call.replied(Ok(&result), None);
        black_box(call.action());
        call.answered("resolution", &answer)?;
        let Action::Send(retry) = call.action() else { anyhow::bail!("the call did not go on") };
        black_box(retry);
    }
    Ok(())
}

fn runtime() -> Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_time().build()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_runs_and_is_counted() {
        assert_eq!(Path::ALL, Path::value_variants());
        for path in Path::ALL {
            path.run(2, 2).unwrap_or_else(|error| panic!("{}: {error:#}", path.name()));
        }
    }
}
