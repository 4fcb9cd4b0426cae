//! Small programs: trees of questions, steps and the ways to put them together, and one handler that runs them.

use std::future::ready;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use mrtr_schema::sampling::{CreateMessageParams, SamplingMessage};
use mrtr_server::flow::{FormQuestion, QuestionKind};
use mrtr_server::{Failure, Flow, FlowError};
use proptest::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::task::yield_now;

use crate::tricks;
use crate::world::World;

#[derive(Debug, Clone)]
pub(crate) enum Op {
    Ask(Ask),
    Step(Step),
    Key,
    Yield,
    /// `flow.join` of a form and a step, either way round.
    Join(Step, bool),
    /// `flow.join` of two forms.
    JoinForms,
    /// `tokio::join!`.
    Both(Vec<Op>, Vec<Op>),
    /// `select!` that drops the question for the sake of a branch that is ready.
    Select(Ask, Vec<Op>),
    /// A question that is polled once and kept, before the rest and after.
    Keep(Ask, Vec<Op>),
    /// `flow.join` of two forms that is polled once by hand, before the rest and after.
    KeepJoin(Vec<Op>),
    /// A panic beside a question, which the handler catches.
    Caught(Ask, Vec<Op>),
    /// `flow.join` of a form and a branch.
    Branch(Vec<Op>),
    /// `flow.race` of a form and a step, either way round.
    Race(Step, bool),
    /// `flow.race` of two branches.
    RaceBranches(Vec<Op>, Vec<Op>),
    /// A step that is polled once and kept, before the rest and after.
    KeepStep(Step, Vec<Op>),
    /// One form in two members of a join, of which one goes on without it.
    Shared(Vec<Op>),
    /// A join that is polled once, told to go on by a channel after a question was polled, and then awaited.
    Told(Ask, Vec<Op>),
    /// A step that `select!` drops half-way.
    Abandon,
    /// A step that takes too long, by its own timeout or by one around it.
    TimeOut(Limit),
    /// A form that is worded differently in every other run.
    Unstable,
    /// An act that no handler may do.
    Misuse(Misuse),
    Scope(Vec<Op>),
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Limit {
    OfTheStep,
    AroundIt,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Misuse {
    SpawnQuestion,
    SpawnStep,
    AskInUntil,
    StepInUntil,
    /// A panic inside a step, which the handler catches.
    PanicInStep,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Ask {
    pub(crate) kind: Kind,
    pub(crate) mode: Mode,
    pub(crate) pinned: bool,
    /// True if the handler goes on after a refusal.
    pub(crate) swallowed: bool,
    /// True if its check takes time, if it has one.
    pub(crate) slow: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    Form,
    Roots,
    Sample,
    Url,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Mode {
    Required,
    FullAnswer,
    Optional,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    fails: bool,
    pub(crate) pauses: u8,
}

pub(crate) fn any_program() -> impl Strategy<Value = Vec<Op>> {
    let leaf = prop_oneof![
        4 => any_ask().prop_map(Op::Ask),
        3 => any_step().prop_map(Op::Step),
        1 => Just(Op::Key),
        1 => Just(Op::Yield),
        2 => (any_step(), any::<bool>()).prop_map(|(step, step_first)| Op::Join(step, step_first)),
        1 => Just(Op::JoinForms),
        1 => Just(Op::Abandon),
        1 => prop_oneof![Just(Limit::OfTheStep), Just(Limit::AroundIt)].prop_map(Op::TimeOut),
        1 => (any_step(), any::<bool>()).prop_map(|(step, step_first)| Op::Race(step, step_first)),
        1 => Just(Op::Unstable),
        1 => any_race_that_drops(),
    ];
    let op = leaf.prop_recursive(2, 8, 3, |op| {
        let ops = || prop::collection::vec(op.clone(), 1..3);
        prop_oneof![
            1 => (ops(), ops()).prop_map(|(left, right)| Op::Both(left, right)),
            2 => (any_ask(), prop::collection::vec(op.clone(), 0..3)).prop_map(|(ask, rest)| Op::Select(ask, rest)),
            1 => (any_ask(), ops()).prop_map(|(ask, rest)| Op::Keep(ask, rest)),
            1 => ops().prop_map(Op::KeepJoin),
            1 => (any_ask(), ops()).prop_map(|(ask, rest)| Op::Caught(ask, rest)),
            1 => ops().prop_map(Op::Branch),
            1 => ops().prop_map(Op::Scope),
            2 => (ops(), ops()).prop_map(|(left, right)| Op::RaceBranches(left, right)),
            1 => (any_step(), ops()).prop_map(|(step, rest)| Op::KeepStep(step, rest)),
            1 => ops().prop_map(Op::Shared),
            1 => (any_ask(), ops()).prop_map(|(ask, rest)| Op::Told(ask, rest)),
        ]
    });
    let misuse = prop_oneof![
        Just(Misuse::SpawnQuestion),
        Just(Misuse::SpawnStep),
        Just(Misuse::AskInUntil),
        Just(Misuse::StepInUntil),
        Just(Misuse::PanicInStep),
    ];
    // One program in ten breaks off with a mistake.
    let mistake = prop::option::weighted(0.1, misuse.prop_map(Op::Misuse));
    (prop::collection::vec(op, 1..5), mistake).prop_map(|(mut ops, mistake)| {
        ops.extend(mistake);
        ops
    })
}

/// A step after a race between a branch that drops a question and waits for another, and one that drops a question and
/// wins. What the winner passed over may have been first polled when the other's was passed over already.
fn any_race_that_drops() -> impl Strategy<Value = Op> {
    (any_ask(), any_ask(), any_ask(), any_step(), any::<bool>()).prop_map(
        |(dropped, waited_for, passed, step, swaps)| {
            let waits = vec![Op::Select(dropped, Vec::new()), Op::Ask(waited_for)];
            let wins = vec![Op::Select(passed, Vec::new())];
            let race = if swaps { Op::RaceBranches(wins, waits) } else { Op::RaceBranches(waits, wins) };
            Op::Scope(vec![race, Op::Step(step)])
        },
    )
}

fn any_ask() -> impl Strategy<Value = Ask> {
    let kind =
        prop_oneof![4 => Just(Kind::Form), 1 => Just(Kind::Roots), 1 => Just(Kind::Sample), 3 => Just(Kind::Url)];
    let mode = prop_oneof![3 => Just(Mode::Required), 1 => Just(Mode::FullAnswer), 1 => Just(Mode::Optional)];
    let ask = |(kind, mode, pinned, swallowed, slow)| Ask { kind, mode, pinned, swallowed, slow };
    (kind, mode, prop::bool::weighted(0.2), any::<bool>(), any::<bool>()).prop_map(ask)
}

fn any_step() -> impl Strategy<Value = Step> {
    (prop::bool::weighted(0.2), 0..3_u8).prop_map(|(fails, pauses)| Step { fails, pauses })
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Form {
    pub(crate) value: String,
}

/// The handler of every program.
pub(crate) async fn run(flow: Flow) -> Result<String, Failure> {
    let world = flow.state::<World>().clone();
    world.enter(&format!("{flow:?}"));
    let flow = Arc::new(flow);
    world.lend(&flow);
    interpret(&flow, &world.program(), Place::default(), &world).await?;
    Ok("done".into())
}

/// A place in the program.
#[derive(Clone, Default)]
pub(crate) struct Place {
    /// Scopes, as they stand before names.
    pub(crate) prefix: String,
    pub(crate) path: String,
    /// The questions that come before it.
    pub(crate) after: Vec<String>,
}

impl Place {
    pub(crate) fn inside(&self, part: impl std::fmt::Display) -> Self {
        Self { path: format!("{}{part}.", self.path), ..self.clone() }
    }

    pub(crate) fn full(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }
}

/// Runs a part of a program, and gives the questions that come before what follows it.
pub(crate) fn interpret<'a>(
    flow: &'a Flow,
    ops: &'a [Op],
    mut place: Place,
    world: &'a World,
) -> Pin<Box<dyn Future<Output = Result<Vec<String>, FlowError>> + Send + 'a>> {
    Box::pin(async move {
        for (number, op) in ops.iter().enumerate() {
            let name = format!("{}{number}", place.path);
            match op {
                Op::Ask(asked) => {
                    ask(flow, *asked, &name, &place, world).await?;
                    place.after.push(place.full(&name));
                }
                Op::Step(done) => drop(flow.step(&name, step(*done, &name, &place, world)).await.map(|_| {
                    world.stepped(&place.full(&name));
                })),
                Op::Key => world.key(&place.full(&name), flow.idempotency_key(&name).await),
                Op::Yield => flow.yield_point(&number).await,
                Op::Join(done, step_first) => {
                    let form = form(flow, &format!("{name}f"), &place, world);
                    let done = flow.step(&name, step(*done, &name, &place, world));
                    // A failure of either is swallowed.
                    if *step_first {
                        flow.join((done, form)).await.ok();
                    } else {
                        flow.join((form, done)).await.ok();
                    }
                    place.after.push(place.full(&format!("{name}f")));
                }
                Op::JoinForms => {
                    let ask = |end| form(flow, &format!("{name}{end}"), &place, world).answer();
                    flow.join((ask("a"), ask("b"))).await?;
                    for end in ["a", "b"] {
                        place.after.push(place.full(&format!("{name}{end}")));
                    }
                }
                Op::Both(left, right) => {
                    let inside = place.inside(number);
                    let (left, right) = tokio::join!(
                        interpret(flow, left, inside.inside("l"), world),
                        interpret(flow, right, inside.inside("r"), world)
                    );
                    place.after.extend(left?);
                    place.after.extend(right?);
                }
                Op::Select(asked, rest) => {
                    let mut past = place.inside(number);
                    past.after.push(place.full(&name));
                    tokio::select! {
                        biased;
                        answered = ask(flow, *asked, &name, &place, world) => answered?,
                        () = ready(()) => drop(interpret(flow, rest, past, world).await?),
                    }
                    place.after.push(place.full(&name));
                }
                Op::Abandon => {
                    let work = async {
                        world.begun(&place.full(&name));
                        world.effect(&place.full(&name), &place.after);
                        std::future::pending::<Result<(), Failure>>().await
                    };
                    tokio::select! {
                        biased;
                        _ = flow.step(&name, work) => world.stepped(&place.full(&name)),
                        () = ready(()) => {}
                    }
                }
                Op::Scope(inner) => {
                    let scope = flow.scope(number);
                    let mut inside = place.inside(number);
                    inside.prefix = format!("{}{number}/", place.prefix);
                    interpret(&scope, inner, inside, world).await?;
                }
                trick => tricks::perform(flow, trick, number, &mut place, world).await?,
            }
        }
        Ok(place.after)
    })
}

/// A step's work: it takes effect outside, after a while, and may fail all the same.
pub(crate) async fn step(step: Step, name: &str, place: &Place, world: &World) -> Result<u8, &'static str> {
    world.begun(&place.full(name));
    for _ in 0..step.pauses {
        yield_now().await;
    }
    world.effect(&place.full(name), &place.after);
    if step.fails { Err("it fails") } else { Ok(step.pauses) }
}

pub(crate) async fn ask(flow: &Flow, ask: Ask, name: &str, place: &Place, world: &World) -> Result<(), FlowError> {
    let (full, seen) = (place.full(name), world.clone());
    let key = full.clone();
    let answered = match ask.kind {
        Kind::Form => {
            let mut form = form(flow, name, place, world);
            if ask.pinned {
                form = form.pinned();
            }
            in_mode(form, ask.mode).await
        }
        Kind::Roots => {
            in_mode(flow.roots(name).validate(move |roots| seen.consumed(&key, &roots[0].uri)), ask.mode).await
        }
        Kind::Sample => {
            let params = CreateMessageParams::new([SamplingMessage::user("Which?")], 10_u64);
            in_mode(flow.sample(name, params).validate(move |answer| seen.consumed(&key, &answer.model)), ask.mode)
                .await
        }
        Kind::Url => {
            let done = || async {
                if ask.slow {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                world.is_visited(&full)
            };
            flow.elicit_url(name, "Go", "https://example.com").until(done).await
        }
    };
    if ask.swallowed { Ok(()) } else { answered }
}

async fn in_mode<Q>(ask: mrtr_server::flow::Ask<'_, Q>, mode: Mode) -> Result<(), FlowError>
where
    Q: QuestionKind + Unpin + Send,
{
    match mode {
        Mode::Required => drop(ask.await?),
        Mode::Optional => drop(ask.optional().await),
        Mode::FullAnswer => drop(ask.answer().await),
    }
    Ok(())
}

/// A form that some answers will not do for, and that tells the world of those that do, as soon as they are read.
pub(crate) fn form<'a>(
    flow: &'a Flow,
    name: &str,
    place: &Place,
    world: &World,
) -> mrtr_server::flow::Ask<'a, FormQuestion<Form>> {
    let (key, world) = (place.full(name), world.clone());
    flow.elicit::<Form>(name, "Which?").validate(move |form| {
        if form.value.starts_with("bad") { Err("not that one") } else { world.consumed(&key, &form.value) }
    })
}
