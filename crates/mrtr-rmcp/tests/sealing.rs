//! States that a handler of rmcp's by hand seals: what they are bound to, how long they live, and that they count once.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, SystemTime};

use mrtr_rmcp::state::{Round, States};
use mrtr_server::{Caller, Sealer};
use mrtr_state::single_use::{InProgress, LeaseKeeper, Release, Reservation, ReserveOutcome, SingleUseError};
use mrtr_state::{JsonPayload, Key, KeyRing, Lifetimes, MemorySingleUse, SingleUse, Timestamp, TokenUse};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ElicitRequest, ElicitRequestParams,
    ErrorCode, GetPromptRequestParams, InputRequest, InputRequests, InputResponses, NumberOrString,
    ReadResourceRequestParams,
};
use rmcp::service::{RequestContext, serve_directly};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};
use tokio::task::JoinSet;

#[derive(serde::Serialize, serde::Deserialize, Debug, PartialEq)]
struct Quote {
    euros: u64,
}

impl JsonPayload for Quote {
    const KIND: &'static str = "com.example/quote";
}

/// Only there for its contexts.
struct Nothing;

impl ServerHandler for Nothing {}

#[derive(Clone)]
struct User(&'static str);

fn context(user: Option<User>) -> RequestContext<RoleServer> {
    let (stream, _) = tokio::io::duplex(64);
    let running = serve_directly::<RoleServer, _, _, _, _>(Nothing, stream, None);
    let mut context = RequestContext::new(NumberOrString::Number(1), running.peer().clone());
    if let Some(user) = user {
        context.extensions.insert(user);
    }
    context
}

fn by_user(extensions: &rmcp::model::Extensions) -> Option<Caller> {
    let User(name) = extensions.get()?;
    Some(Caller::new("https://id.example.com", *name))
}

fn states() -> States {
    States::new(Sealer::this_process_only()).caller(by_user)
}

fn book(city: &str) -> CallToolRequestParams {
    let Value::Object(arguments) = json!({ "city": city, "nights": 2 }) else { panic!("it is an object") };
    CallToolRequestParams::new("book").with_arguments(arguments)
}

fn questions() -> InputRequests {
    let form = json!({ "type": "object", "properties": { "yes": { "type": "boolean" } } });
    let params = ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: "Shall it be booked?".to_owned(),
        requested_schema: serde_json::from_value(form).expect("it is a form"),
    };
    InputRequests::from([("book".to_owned(), InputRequest::Elicitation(ElicitRequest::new(params)))])
}

fn yes() -> Option<InputResponses> {
    let answers = json!({ "book": { "action": "accept", "content": { "yes": true } } });
    serde_json::from_value(answers).expect("they are answers")
}

/// The state that the first round gives out.
fn first(states: &States, request: &CallToolRequestParams, user: Option<User>) -> Option<String> {
    let round = states.open::<Quote>(request, &context(user)).expect("it begins");
    let Round::First(round) = round else { panic!("{round:?}") };
    round.ask(questions(), &Quote { euros: 101 }).expect("it is sealed").request_state
}

fn retry(city: &str, state: Option<String>) -> CallToolRequestParams {
    let mut retry = book(city);
    (retry.request_state, retry.input_responses) = (state, yes());
    retry
}

fn is_refused(round: Result<Round<Quote>, ErrorData>) -> bool {
    let error = round.expect_err("it does not open");
    assert_eq!((error.code, &*error.message, &error.data), (ErrorCode::INVALID_PARAMS, REFUSAL, &None));
    true
}

const REFUSAL: &str = "The request state is not valid";

#[tokio::test]
async fn a_state_opens_for_its_caller_and_request_and_for_no_other() {
    let states = states();
    let ada = || Some(User("ada"));
    let state = first(&states, &book("Oslo"), ada());
    let round = states.open::<Quote>(&retry("Oslo", state.clone()), &context(ada())).expect("it opens");
    let Round::Retry(round) = round else { panic!("{round:?}") };
    assert_eq!(round.state(), &Quote { euros: 101 });

    assert!(is_refused(states.open(&retry("Oslo", state.clone()), &context(Some(User("bob"))))), "another caller's");
    assert!(is_refused(states.open(&retry("Oslo", state.clone()), &context(None))), "a stranger's");
    assert!(is_refused(states.open(&retry("Paris", state.clone()), &context(ada()))), "other arguments");
    let mut other_tool = retry("Oslo", state.clone());
    other_tool.name = "cancel".into();
    assert!(is_refused(states.open(&other_tool, &context(ada()))), "another tool");
    let mut prompt = GetPromptRequestParams::new("book");
    (prompt.request_state, prompt.arguments) = (state.clone(), book("Oslo").arguments);
    assert!(is_refused(states.open(&prompt, &context(ada()))), "another method");
    let mut resource = ReadResourceRequestParams::new("book");
    resource.request_state = state.clone();
    assert!(is_refused(states.open(&resource, &context(ada()))), "another method");
    let forged = state.map(|state| state.replace(&state[20..22], "AA"));
    assert!(is_refused(states.open(&retry("Oslo", forged), &context(ada()))), "it was changed");
    let state = first(&self::states(), &book("Oslo"), ada());
    assert!(is_refused(states.open(&retry("Oslo", state), &context(ada()))), "another deployment's");
}

#[tokio::test]
async fn a_state_of_one_tenant_does_not_open_for_another_under_the_same_keys() {
    let sealer = Sealer::this_process_only();
    let of = |tenant: Option<&'static str>| {
        let states = States::new(sealer.clone()).caller(by_user);
        match tenant {
            Some(tenant) => states.tenant(move |_| Some(tenant.to_owned())),
            None => states,
        }
    };
    let ada = || context(Some(User("ada")));
    let tenants = [Some("acme"), Some("other"), None];
    for sealed_for in tenants {
        let state = first(&of(sealed_for), &book("Oslo"), Some(User("ada")));
        for opened_for in tenants {
            let opened = of(opened_for).open::<Quote>(&retry("Oslo", state.clone()), &ada());
            if sealed_for == opened_for {
                opened.expect("it is theirs");
            } else {
                assert!(is_refused(opened), "{sealed_for:?}'s, for {opened_for:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_state_of_one_kind_does_not_open_as_another() {
    #[derive(serde::Serialize, serde::Deserialize, Debug)]
    struct Receipt(u64);
    impl JsonPayload for Receipt {
        const KIND: &'static str = "com.example/receipt";
    }
    let states = states();
    let state = first(&states, &book("Oslo"), None);
    let error = states.open::<Receipt>(&retry("Oslo", state), &context(None)).expect_err("it is a quote");
    assert_eq!(error.message, REFUSAL);
}

#[tokio::test]
async fn rounds_go_on_in_one_flow_and_end() {
    let lifetimes = Lifetimes { rounds: 3, ..Lifetimes::default() };
    let states = States::new(Sealer::this_process_only().lifetimes(lifetimes));
    let mut state = first(&states, &book("Oslo"), None);
    for round in 2..=3 {
        let Round::Retry(opened) = states.open(&retry("Oslo", state), &context(None)).expect("it opens") else {
            panic!("it is a retry")
        };
        state = opened.ask(questions(), &Quote { euros: round }).expect("it is sealed").request_state;
    }
    let Round::Retry(last) = states.open(&retry("Oslo", state), &context(None)).expect("it opens") else {
        panic!("it is a retry")
    };
    assert_eq!(last.state(), &Quote { euros: 3 });
    let error = last.ask(questions(), &Quote { euros: 4 }).expect_err("there are too many rounds");
    assert_eq!(error.code, ErrorCode::INTERNAL_ERROR);
}

#[tokio::test]
async fn a_state_expires() {
    let lifetimes = Lifetimes { round: Duration::from_millis(50), ..Lifetimes::default() };
    let states = States::new(Sealer::this_process_only().lifetimes(lifetimes));
    let state = first(&states, &book("Oslo"), None);
    tokio::time::sleep(Duration::from_millis(80)).await;
    assert!(is_refused(states.open(&retry("Oslo", state), &context(None))));
}

#[tokio::test]
async fn keys_are_rotated_under_calls_that_wait() {
    let key = |id: &str, byte| Key::new(id, vec![byte; 32]).expect("it is long enough");
    let (old, new) = (|| key("old", 1), || key("new", 2));
    let sealer = Sealer::new(KeyRing::new(old()), "hotel").expect("it has an audience");
    let states = States::new(sealer.clone());
    let before = first(&states, &book("Oslo"), None);
    sealer.replace_keys(KeyRing::new(new()).also_opens(old()).expect("it is another"));
    states.open::<Quote>(&retry("Oslo", before.clone()), &context(None)).expect("the old key still opens");
    let after = first(&states, &book("Oslo"), None);
    sealer.replace_keys(KeyRing::new(new()));
    assert!(is_refused(states.open(&retry("Oslo", before), &context(None))), "the old key is gone");
    states.open::<Quote>(&retry("Oslo", after), &context(None)).expect("the new one is not");
}

fn receipt(number: u32) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(format!("receipt {number}"))])
}

#[tokio::test]
async fn of_twenty_copies_one_does_the_work_and_all_get_its_outcome() {
    let states = states();
    let store: Arc<dyn SingleUse> = Arc::new(MemorySingleUse::new(SystemTime::now().into()));
    let paid = Arc::new(AtomicU32::new(0));
    let state = first(&states, &book("Oslo"), None);
    let mut copies = JoinSet::new();
    for _ in 0..20 {
        let (states, store, paid) = (states.clone(), Arc::clone(&store), Arc::clone(&paid));
        let retry = retry("Oslo", state.clone());
        copies.spawn(async move {
            let Round::Retry(round) = states.open::<Quote>(&retry, &context(None)).expect("it opens") else {
                panic!("it is a retry")
            };
            let work = async {
                tokio::time::sleep(Duration::from_millis(50)).await;
                Ok(receipt(paid.fetch_add(1, Ordering::SeqCst) + 1))
            };
            CallToolResponse::from(round.once(&*store, work).await.expect("it is done"))
        });
    }
    for reply in copies.join_all().await {
        let CallToolResponse::Complete(reply) = reply else { panic!("{reply:?}") };
        assert_eq!(reply, receipt(1));
    }
    assert_eq!(paid.load(Ordering::SeqCst), 1);

    let mut other = retry("Oslo", state);
    other.input_responses = None;
    let Round::Retry(round) = states.open::<Quote>(&other, &context(None)).expect("it opens") else { panic!() };
    let refused = round.once(&*store, async { Ok(receipt(2)) }).await.expect_err("the answers are others");
    assert_eq!(refused.message, REFUSAL);
}

#[tokio::test]
async fn an_error_is_an_outcome_and_work_that_was_dropped_is_not_begun_again() {
    let states = states();
    let store = MemorySingleUse::new(SystemTime::now().into());
    let begin = |state: &Option<String>| {
        let round = states.open::<Quote>(&retry("Oslo", state.clone()), &context(None)).expect("it opens");
        let Round::Retry(round) = round else { panic!("{round:?}") };
        round
    };
    let state = first(&states, &book("Oslo"), None);
    let broke = async { Err::<CallToolResult, _>(ErrorData::internal_error("the bank is closed", None)) };
    let error = begin(&state).once(&store, broke).await.expect_err("it failed");
    assert_eq!(error.message, "the bank is closed");
    let error = begin(&state).once(&store, async { Ok(receipt(1)) }).await.expect_err("it has failed before");
    assert_eq!(error.message, "the bank is closed", "nothing was paid");

    let state = first(&states, &book("Oslo"), None);
    let never = async { std::future::pending::<Result<CallToolResult, ErrorData>>().await };
    let round = begin(&state);
    tokio::time::timeout(Duration::from_millis(50), round.once(&store, never)).await.expect_err("it takes long");
    // The reservation of the round that was dropped lapses in its time: until then a retry waits.
    let round = begin(&state);
    let waiting = tokio::time::timeout(Duration::from_millis(200), round.once(&store, async { Ok(receipt(1)) }));
    waiting.await.expect_err("it waits, and nothing is paid");
}

/// A store whose clock can be set forward, and that tells of renewals from a thread.
struct Ahead {
    store: MemorySingleUse,
    seconds: AtomicU64,
    renewed: mpsc::Sender<()>,
    /// The number of renewals by the task that does the work.
    by_work: AtomicU32,
}

struct TellingKeeper(Box<dyn LeaseKeeper>, mpsc::Sender<()>);

impl LeaseKeeper for TellingKeeper {
    fn renew(
        &mut self,
        reservations: &[Reservation],
        lease: Duration,
        now: Timestamp,
    ) -> Vec<Result<(), SingleUseError>> {
        let renewed = self.0.renew(reservations, lease, now);
        if renewed.iter().all(Result::is_ok) {
            self.1.send(()).ok();
        }
        renewed
    }
}

impl Ahead {
    fn new() -> (Self, mpsc::Receiver<()>) {
        let (renewed, renewals) = mpsc::channel();
        let store = MemorySingleUse::new(SystemTime::now().into());
        (Self { store, seconds: AtomicU64::new(0), renewed, by_work: AtomicU32::new(0) }, renewals)
    }

    fn at(&self, now: Timestamp) -> Timestamp {
        now + Duration::from_secs(self.seconds.load(Ordering::SeqCst))
    }
}

#[async_trait::async_trait]
impl SingleUse for Ahead {
    async fn reserve(
        &self,
        token_use: &TokenUse,
        lease: Duration,
        now: Timestamp,
    ) -> Result<ReserveOutcome, SingleUseError> {
        self.store.reserve(token_use, lease, self.at(now)).await
    }

    async fn renew(&self, reservation: &Reservation, lease: Duration, now: Timestamp) -> Result<(), SingleUseError> {
        self.by_work.fetch_add(1, Ordering::SeqCst);
        self.store.renew(reservation, lease, self.at(now)).await
    }

    fn lease_keeper(&self) -> Box<dyn LeaseKeeper> {
        Box::new(TellingKeeper(self.store.lease_keeper(), self.renewed.clone()))
    }

    async fn mark_started(&self, reservation: &Reservation, step: &str, now: Timestamp) -> Result<(), SingleUseError> {
        self.store.mark_started(reservation, step, self.at(now)).await
    }

    async fn record(
        &self,
        reservation: &Reservation,
        step: &str,
        outcome: &[u8],
        now: Timestamp,
    ) -> Result<(), SingleUseError> {
        self.store.record(reservation, step, outcome, self.at(now)).await
    }

    async fn commit(&self, reservation: &Reservation, reply: &[u8], now: Timestamp) -> Result<(), SingleUseError> {
        self.store.commit(reservation, reply, self.at(now)).await
    }

    async fn release(&self, reservation: &Reservation, now: Timestamp) -> Result<Release, SingleUseError> {
        self.store.release(reservation, self.at(now)).await
    }

    async fn ended(&self, in_progress: &InProgress) -> Result<(), SingleUseError> {
        self.store.ended(in_progress).await
    }
}

/// Work that blocks its thread, the only one of its runtime, keeps its reservation.
#[tokio::test]
async fn work_that_blocks_its_thread_is_renewed_from_another() {
    let states = states();
    let (store, renewals) = Ahead::new();
    let state = first(&states, &book("Oslo"), None);
    let round = states.open::<Quote>(&retry("Oslo", state), &context(None)).expect("it opens");
    let Round::Retry(round) = round else { panic!("{round:?}") };
    let work = async { Ok(renewals.recv_timeout(Duration::from_secs(25)).is_ok()) };
    assert!(round.once(&store, work).await.expect("it is done"), "nothing was renewed while it blocked");
}

/// The task alone renews here: the thread goes by the machine's time, in which this takes a moment.
#[tokio::test(start_paused = true)]
async fn work_that_waits_is_renewed_beside_it_three_times_in_a_lease() {
    let states = states();
    let (store, _) = Ahead::new();
    let state = first(&states, &book("Oslo"), None);
    let round = states.open::<Quote>(&retry("Oslo", state), &context(None)).expect("it opens");
    let Round::Retry(round) = round else { panic!("{round:?}") };
    let work = async {
        tokio::time::sleep(Duration::from_secs(95)).await;
        Ok(())
    };
    round.once(&store, work).await.expect("it is done");
    assert_eq!(store.by_work.load(Ordering::SeqCst), 9);
}

/// The round that began the work is gone, and its reservation has lapsed. Nothing can tell what it did, so the work is
/// never done again.
#[tokio::test]
async fn work_that_was_begun_and_lost_is_in_doubt_for_every_retry() {
    let states = states();
    let (store, _) = Ahead::new();
    let state = first(&states, &book("Oslo"), None);
    let begin = || {
        let round = states.open::<Quote>(&retry("Oslo", state.clone()), &context(None)).expect("it opens");
        let Round::Retry(round) = round else { panic!("{round:?}") };
        round
    };
    let lost = begin();
    let never = async { std::future::pending::<Result<CallToolResult, ErrorData>>().await };
    let mut work = Box::pin(lost.once(&store, never));
    assert!(futures_util::poll!(&mut work).is_pending(), "it has begun");
    drop(work);
    store.seconds.store(31, Ordering::SeqCst);
    for _ in 0..3 {
        let again = async { panic!("it is begun again") };
        let error = begin().once::<CallToolResult>(&store, again).await.expect_err("it is in doubt");
        assert_eq!(error.code, ErrorCode::INTERNAL_ERROR);
        assert!(error.message.contains("how far it came is not known"), "{error:?}");
    }
}
