//! Tricks by which a handler may try to get past a question, none of which may work.

use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use futures_util::FutureExt;
use mrtr_server::flow::Race2;
use mrtr_server::{Failure, Flow, FlowError};
use tokio::time::timeout;

use crate::program::{Ask, Form, Limit, Misuse, Op, Place, Step, ask, form, interpret, step};
use crate::world::World;

pub(crate) async fn perform(
    flow: &Flow,
    op: &Op,
    number: usize,
    place: &mut Place,
    world: &World,
) -> Result<(), FlowError> {
    let name = format!("{}{number}", place.path);
    match op {
        Op::Keep(asked, rest) => keep(flow, *asked, rest, number, place, world).await,
        Op::KeepJoin(rest) => keep_join(flow, rest, number, place, world).await,
        Op::Caught(asked, rest) => {
            let mut past = place.inside(number);
            past.after.push(place.full(&name));
            let panics = async { tokio::join!(ask(flow, *asked, &name, place, world), panics_beside()) };
            let caught = AssertUnwindSafe(panics).catch_unwind().await;
            assert!(caught.is_err());
            interpret(flow, rest, past, world).await?;
            place.after.push(place.full(&name));
            Ok(())
        }
        Op::Branch(inner) => {
            let beside = flow.branch(interpret(flow, inner, place.inside(number), world));
            let asked = form(flow, &format!("{name}f"), place, world).answer();
            flow.join((asked, beside)).await?.1?;
            place.after.push(place.full(&format!("{name}f")));
            Ok(())
        }
        Op::RaceBranches(left, right) => race_branches(flow, left, right, number, place, world).await,
        Op::KeepStep(done, rest) => keep_step(flow, *done, rest, number, place, world).await,
        Op::Shared(rest) => share(flow, rest, number, place, world).await,
        Op::Told(asked, rest) => tell(flow, *asked, rest, number, place, world).await,
        Op::Race(done, step_first) => {
            let won = race(flow, *done, *step_first, &name, place, world).await;
            world.won(&place.full(&name), won);
            if won.ends_with("form") {
                place.after.push(place.full(&format!("{name}f")));
            }
            Ok(())
        }
        Op::TimeOut(limit) => {
            let seen = time_out(flow, *limit, &name, place, world).await;
            world.won(&place.full(&name), &seen);
            Ok(())
        }
        Op::Unstable => {
            let wording = format!("Which? ({})", world.parity());
            let (seen, key, words) = (world.clone(), place.full(&name), wording.clone());
            let asked = flow.elicit::<Form>(&name, wording);
            asked.validate(move |form| seen.consumed_as(&key, &form.value, &words)).answer().await;
            place.after.push(place.full(&name));
            Ok(())
        }
        Op::Misuse(misuse) => {
            world.misused();
            commit_misuse(flow, *misuse, &name, place, world).await;
            world.effect("past a misuse", &place.after);
            Ok(())
        }
        other => unreachable!("{other:?} is no trick"),
    }
}

async fn keep(
    flow: &Flow,
    asked: Ask,
    rest: &[Op],
    number: usize,
    place: &mut Place,
    world: &World,
) -> Result<(), FlowError> {
    let (here, name) = (place.clone(), format!("{}{number}", place.path));
    place.after.push(here.full(&name));
    let mut past = here.inside(number);
    past.after.clone_from(&place.after);
    let mut kept = pin!(ask(flow, asked, &name, &here, world));
    let answered = poll_once(kept.as_mut()).await;
    interpret(flow, rest, past, world).await?;
    match answered {
        Some(answered) => answered,
        None => kept.await,
    }
}

async fn keep_join(flow: &Flow, rest: &[Op], number: usize, place: &mut Place, world: &World) -> Result<(), FlowError> {
    let (here, name) = (place.clone(), format!("{}{number}", place.path));
    place.after.extend(["a", "b"].map(|end| here.full(&format!("{name}{end}"))));
    let mut past = here.inside(number);
    past.after.clone_from(&place.after);
    let ask = |end| form(flow, &format!("{name}{end}"), &here, world).answer();
    let mut kept = pin!(flow.join((ask("a"), ask("b"))));
    let joined = poll_once(kept.as_mut()).await;
    interpret(flow, rest, past, world).await?;
    if joined.is_none() {
        kept.await?;
    }
    Ok(())
}

async fn race_branches(
    flow: &Flow,
    left: &[Op],
    right: &[Op],
    number: usize,
    place: &mut Place,
    world: &World,
) -> Result<(), FlowError> {
    // Two races of branches are told apart by their scopes.
    let (inside, named) = (place.inside(number), flow.scope(format!("{}{number}", place.path)));
    let branch = |ops, end| named.branch(interpret(flow, ops, inside.inside(end), world));
    let raced = named.race((branch(left, "l"), branch(right, "r"))).await?;
    let (won, after) = match raced {
        Race2::First(after) => ("left", after),
        Race2::Second(after) => ("right", after),
    };
    world.won(&place.full(&format!("{}{number}", place.path)), won);
    // What the winner passed over was passed over; what the other asked is asked no more.
    place.after.extend(after?);
    Ok(())
}

/// A step that nothing polls while the rest asks is a mistake, which is named.
async fn keep_step(
    flow: &Flow,
    done: Step,
    rest: &[Op],
    number: usize,
    place: &mut Place,
    world: &World,
) -> Result<(), FlowError> {
    let (here, name) = (place.clone(), format!("{}{number}", place.path));
    let mut kept = flow.step(&name, step(done, &name, &here, world)).into_future();
    let ended = poll_once(kept.as_mut()).await;
    if ended.is_none() {
        world.may_be_misused();
    }
    place.after.extend(interpret(flow, rest, here.inside(number), world).await?);
    if ended.is_none() {
        kept.await.ok();
    }
    world.stepped(&here.full(&name));
    Ok(())
}

async fn share(flow: &Flow, rest: &[Op], number: usize, place: &mut Place, world: &World) -> Result<(), FlowError> {
    let (here, name) = (place.clone(), format!("{}{number}s", place.path));
    place.after.push(here.full(&name));
    let mut past = here.inside(number);
    past.after.clone_from(&place.after);
    let shared = form(flow, &name, &here, world).answer().into_future().map(drop).shared();
    let waits = flow.branch(shared.clone());
    let goes_on = flow.branch(async {
        tokio::select! { biased; () = shared.clone() => {} () = std::future::ready(()) => {} }
        interpret(flow, rest, past, world).await
    });
    place.after.extend(flow.join((waits, goes_on)).await?.1?);
    Ok(())
}

async fn tell(
    flow: &Flow,
    asked: Ask,
    rest: &[Op],
    number: usize,
    place: &mut Place,
    world: &World,
) -> Result<(), FlowError> {
    let (here, name) = (place.clone(), format!("{}{number}", place.path));
    place.after.push(here.full(&name));
    let mut past = here.inside(number);
    past.after.clone_from(&place.after);
    let (send, told) = tokio::sync::oneshot::channel::<()>();
    let waits = flow.branch(async {
        told.await.ok();
        interpret(flow, rest, past, world).await
    });
    let mut join = pin!(flow.join((waits,)));
    assert!(poll_once(join.as_mut()).await.is_none());
    let mut kept = pin!(ask(flow, asked, &name, &here, world));
    let answered = poll_once(kept.as_mut()).await;
    send.send(()).ok();
    place.after.extend(join.await?.0?);
    match answered {
        Some(answered) => answered,
        None => kept.await,
    }
}

async fn race(flow: &Flow, done: Step, step_first: bool, name: &str, place: &Place, world: &World) -> &'static str {
    let form = form(flow, &format!("{name}f"), place, world);
    let done = flow.step(name, step(done, name, place, world));
    let (won, failed) = if step_first {
        match flow.race((done, form)).await {
            Ok(Race2::First(_)) => ("step", None),
            Ok(Race2::Second(_)) => ("form", None),
            Err(error) => ("", Some(error)),
        }
    } else {
        match flow.race((form, done)).await {
            Ok(Race2::First(_)) => ("form", None),
            Ok(Race2::Second(_)) => ("step", None),
            Err(error) => ("", Some(error)),
        }
    };
    match failed {
        None => won,
        Some(FlowError::Step(_)) => "failed step",
        Some(_) => "declined form",
    }
}

async fn time_out(flow: &Flow, limit: Limit, name: &str, place: &Place, world: &World) -> String {
    let work = async {
        world.begun(&place.full(name));
        world.effect(&place.full(name), &place.after);
        std::future::pending::<Result<(), Failure>>().await
    };
    let (step, second) = (flow.step(name, work), Duration::from_secs(1));
    match limit {
        Limit::OfTheStep => step.timeout(second).await.unwrap_err().to_string(),
        Limit::AroundIt => timeout(second, step.into_future()).await.is_err().to_string(),
    }
}

/// Polls something once, and keeps it.
async fn poll_once<F: Future + ?Sized>(mut future: Pin<&mut F>) -> Option<F::Output> {
    poll_fn(|cx| {
        Poll::Ready(match future.as_mut().poll(cx) {
            Poll::Ready(output) => Some(output),
            Poll::Pending => None,
        })
    })
    .await
}

async fn panics_beside() {
    std::future::ready(()).await;
    panic!("{ON_PURPOSE}");
}

/// The message of panics that belong to a program.
pub(crate) const ON_PURPOSE: &str = "on purpose";

/// Does what no handler may do. It never returns.
async fn commit_misuse(flow: &Flow, misuse: Misuse, name: &str, place: &Place, world: &World) {
    let act = || async {
        world.effect(&place.full(name), &place.after);
        Ok::<_, Failure>(())
    };
    match misuse {
        Misuse::SpawnQuestion => {
            let (flow, name) = (world.borrow(), name.to_owned());
            drop(tokio::spawn(async move { flow.roots(name).await }).await);
        }
        Misuse::SpawnStep => {
            let (flow, name, world) = (world.borrow(), name.to_owned(), world.clone());
            let act = async move {
                world.effect("a spawned step", &[]);
                Ok::<_, Failure>(())
            };
            drop(tokio::spawn(async move { flow.step(name, act).await }).await);
        }
        Misuse::AskInUntil => {
            let asks = || async { flow.roots(name).await.is_ok() };
            drop(flow.elicit_url(format!("{name}u"), "Go", "https://example.com").until(asks).await);
        }
        Misuse::StepInUntil => {
            let steps = || async { flow.step(name, act()).await.is_ok() };
            drop(flow.elicit_url(format!("{name}u"), "Go", "https://example.com").until(steps).await);
        }
        Misuse::PanicInStep => {
            let work = async {
                panics_beside().await;
                Ok::<_, Failure>(())
            };
            drop(AssertUnwindSafe(flow.step(name, work).into_future()).catch_unwind().await);
        }
    }
    // A spawned task is told at once, and its handler may go on as far as it waits for nothing of the flow.
    std::future::pending::<()>().await;
}
