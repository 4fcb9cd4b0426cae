//! The defaults, each with its value from the crate that has it and the places that state it.

use mrtr_client::Limits;
use mrtr_http::{Endpoint, HttpTransport, Serve};
use mrtr_postgres::PostgresOptions;
use mrtr_schema::RequestId;
use mrtr_schema::subscriptions::SubscriptionFilter;
use mrtr_server::flow::SamplingTools;
use mrtr_server::{Builder, SessionLimits};
use mrtr_state::{Lifetimes, MemorySingleUse};
use mrtr_stdio::{Stdio, StdioTransport};
use mrtr_tasks::TaskOptions;

use crate::value::{Value, bytes, count, time};

/// A default: its name, its value, and where a document states it.
pub(crate) struct Row {
    pub(crate) setting: &'static str,
    pub(crate) value: Value,
    /// A document, and a phrase of it with the value as `{}`.
    pub(crate) said: &'static [(&'static str, &'static str)],
}

const fn row(setting: &'static str, value: Value, said: &'static [(&'static str, &'static str)]) -> Row {
    Row { setting, value, said }
}

pub(crate) const CLIENT: &str = "crates/mrtr-client/README.md";
const LIMITS: &str = "crates/mrtr-client/src/limits.rs";
pub(crate) const HTTP: &str = "crates/mrtr-http/README.md";
const ENDPOINT: &str = "crates/mrtr-http/src/server/endpoint.rs";
const SERVE: &str = "crates/mrtr-http/src/server/serve.rs";
const SERVER: &str = "crates/mrtr-server/README.md";
const STATE: &str = "crates/mrtr-state/README.md";
const MEMORY: &str = "crates/mrtr-state/src/single_use/memory.rs";
const LIFETIMES: &str = "crates/mrtr-state/src/flow.rs";
const FORMAT: &str = "docs/STATE_FORMAT.md";
const GUIDE: &str = "docs/GUIDE.md";
const DEPLOYMENT: &str = "docs/guide/DEPLOYMENT.md";
const HOSTS: &str = "docs/guide/HOSTS.md";
const SECURITY: &str = "docs/SECURITY.md";
pub(crate) const STDIO: &str = "crates/mrtr-stdio/README.md";
const STDIO_SERVER: &str = "crates/mrtr-stdio/src/server.rs";
const STDIO_CLIENT: &str = "crates/mrtr-stdio/src/client.rs";
const SESSIONS: &str = "crates/mrtr-server/src/session/limits.rs";
const TASKS: &str = "crates/mrtr-tasks/src/options.rs";
const POSTGRES: &str = "crates/mrtr-postgres/src/options.rs";

/// The order is that of the table. To add one, add a line here and there.
#[rustfmt::skip]
pub(crate) fn rows() -> Vec<Row> {
    let (limits, lifetimes, sessions) = (Limits::default(), Lifetimes::default(), SessionLimits::default());
    vec![
        row("mrtr_client::Limits::rounds", count(limits.rounds), &[(CLIENT, "{} rounds"), (LIMITS, "nothing new aside. {} by default")]),
        row("mrtr_client::Limits::state_only_rounds", count(limits.state_only_rounds), &[(CLIENT, "{} replies in a row that ask nothing"), (LIMITS, "the server is busy. {} by default")]),
        row("mrtr_client::Limits::backoff", time(limits.backoff), &[(LIMITS, "by half. {} by default")]),
        row("mrtr_client::Limits::url_pause", time(limits.url_pause), &[(CLIENT, "{} before a URL is shown again"), (LIMITS, "as much as a half. {} by default")]),
        row("mrtr_client::Limits::exchange", time(limits.exchange), &[(CLIENT, "{} for each exchange"), (LIMITS, "do not prolong it. {} by default")]),
        row("mrtr_client::Limits::probe", time(limits.probe), &[(CLIENT, "{} for a probe over stdio"), (LIMITS, "answered before it. {} by default")]),
        row("mrtr_client::Limits::questions", count(limits.questions), &[(CLIENT, "{} questions at once"), (LIMITS, "ask for in one round. {} by default")]),
        row("mrtr_client::Limits::state_bytes", bytes(limits.state_bytes), &[(CLIENT, "{} of state"), (LIMITS, "state that is taken, in bytes. {} by default")]),
        row("mrtr_client::Limits::reply_bytes", bytes(limits.reply_bytes), &[(CLIENT, "{} of reply"), (LIMITS, "reply that is taken, in bytes. {} by default")]),
        row("mrtr_client::Limits::poll_interval", time(limits.poll_interval), &[(LIMITS, "whose server does not say. {} by default")]),
        row("mrtr_client::Limits::least_poll_interval", time(limits.least_poll_interval), &[(LIMITS, "whatever its server says. {} by default")]),
        row("mrtr_client::Limits::polls", count(limits.polls), &[(LIMITS, "poll a task. {} times by default")]),
        row("mrtr_client::Limits::event_bytes", bytes(limits.event_bytes), &[(CLIENT, "who does not read them | {},"), (LIMITS, "longer by itself. {} by default")]),
        row("mrtr_client::Limits::EVENTS", count(Limits::EVENTS), &[(CLIENT, " {} events | `Limits::event_bytes`; the oldest are missed |"), (LIMITS, "wait for one reader: {}.")]),
        row("mrtr_client::Limits::cache_bytes", bytes(limits.cache_bytes), &[(CLIENT, "with what was asked for them | {},"), (LIMITS, "nothing more is kept. {} by default")]),
        row("mrtr_client::Limits::CACHED_RESULTS", count(Limits::CACHED_RESULTS), &[(CLIENT, " {} results | `Limits::cache_bytes`; nothing more is kept |"), (LIMITS, "results are kept: {}.")]),
        row("mrtr_client::Limits::list_bytes", bytes(limits.list_bytes), &[(CLIENT, "| all pages of a list | {} | `Limits::list_bytes`; the list ends with an error |"), (LIMITS, "with their cursors. {} by default")]),
        row("mrtr_http::Endpoint::DEFAULT_BODY_LIMIT", bytes(Endpoint::DEFAULT_BODY_LIMIT), &[(HTTP, "| size of a body | {} | `Endpoint::body_limit`; 413 |"), (ENDPOINT, "at most this many bytes. {} by default"), (DEPLOYMENT, "As much as the endpoint accepts: {} of body")]),
        row("mrtr_http::Endpoint::DEFAULT_BODY_BUDGET", bytes(Endpoint::DEFAULT_BODY_BUDGET), &[(HTTP, "| bytes of bodies at a time | {} | `Endpoint::body_budget`; 503 |"), (ENDPOINT, "what does not fit is sent away for a second. {} by default")]),
        row("mrtr_http::Endpoint::UNCOUNTED_BODY", bytes(Endpoint::UNCOUNTED_BODY), &[(HTTP, "One of up to {} does not count"), (HTTP, "the budget and {} for each request and subscription"), (ENDPOINT, "A body of up to {} does not count")]),
        row("mrtr_http::Endpoint::DEFAULT_REPLY_BUDGET", bytes(Endpoint::DEFAULT_REPLY_BUDGET), &[(HTTP, "| bytes of replies that wait to be read | {} | `Endpoint::reply_budget`; broken off |"), (ENDPOINT, "caller that has most first. {} by default")]),
        row("mrtr_http::Endpoint::UNCOUNTED_REPLY", bytes(Endpoint::UNCOUNTED_REPLY), &[(HTTP, "Replies over {} count"), (ENDPOINT, "until its client has read it. One of up to {} does not count")]),
        row("mrtr_http::Endpoint::DEFAULT_JSON_DEPTH", count(Endpoint::DEFAULT_JSON_DEPTH), &[(HTTP, "| depth of JSON | {} | `Endpoint::json_depth`; 400 |"), (ENDPOINT, "nested at most this deep. {} by default")]),
        row("mrtr_http::Endpoint::DEFAULT_BODY_TIMEOUT", time(Endpoint::DEFAULT_BODY_TIMEOUT), &[(HTTP, "| time for a body | {} | `Endpoint::body_timeout`; 408 |"), (ENDPOINT, "for a body to arrive. {} by default")]),
        row("mrtr_http::Endpoint::DEFAULT_CONCURRENCY", count(Endpoint::DEFAULT_CONCURRENCY), &[(HTTP, "| requests at a time | {} | `Endpoint::concurrency`; 503 |"), (ENDPOINT, "others are sent away for a second. {} by default")]),
        row("mrtr_http::Endpoint::DEFAULT_SUBSCRIPTIONS", count(Endpoint::DEFAULT_SUBSCRIPTIONS), &[(HTTP, "| subscriptions at a time | {} | `Endpoint::subscriptions`; 503 |"), (ENDPOINT, "this many subscriptions at a time. {} by default")]),
        row("mrtr_http::Endpoint::DEFAULT_KEEP_ALIVE", time(Endpoint::DEFAULT_KEEP_ALIVE), &[(DEPLOYMENT, "gets a comment every {};"), (HTTP, "| quiet on a stream | {} | `Endpoint::keep_alive`; a comment |"), (ENDPOINT, "quiet streams after this long. {} by default")]),
        row("mrtr_http::Serve::DEFAULT_CONNECTIONS", count(Serve::DEFAULT_CONNECTIONS), &[(HTTP, "| connections at a time | {} | `Serve::connections`; others wait |"), (SERVE, "on all threads together. {} by default")]),
        row("mrtr_http::Serve::DEFAULT_HEADER_TIMEOUT", time(Serve::DEFAULT_HEADER_TIMEOUT), &[(HTTP, "| time for a head, and between requests | {} | `Serve::header_timeout`; closed |"), (SERVE, "or one that is kept. {} by default"), (DEPLOYMENT, "a connection that is idle for {}.")]),
        row("mrtr_http::Serve::DEFAULT_WRITE_TIMEOUT", time(Serve::DEFAULT_WRITE_TIMEOUT), &[(HTTP, "| time for a client to read | {} | `Serve::write_timeout`; closed |"), (SERVE, "to read what it is sent. {} by default")]),
        row("mrtr_http::Serve::DEFAULT_SHUTDOWN_NOTICE", time(Serve::DEFAULT_SHUTDOWN_NOTICE), &[(HTTP, "| time to serve on while not ready | {} | `Serve::shutdown_notice` |")]),
        row("mrtr_http::Serve::DEFAULT_SHUTDOWN_TIMEOUT", time(Serve::DEFAULT_SHUTDOWN_TIMEOUT), &[(HTTP, "| time to end | {} | `Serve::shutdown_timeout` |"), (SERVE, "for what runs. {} by default")]),
        row("mrtr_http::Serve::HEAD_LIMIT", bytes(Serve::HEAD_LIMIT), &[(HTTP, "| size of a head | {},"), (HTTP, "at most {} more for a head")]),
        row("mrtr_http::Serve::MAX_HEADERS", count(Serve::MAX_HEADERS), &[(HTTP, " {} headers | 431 |")]),
        row("mrtr_http::Serve::HTTP2_WINDOW", bytes(Serve::HTTP2_WINDOW), &[(HTTP, "on HTTP/2 {} of what nobody has read yet")]),
        row("mrtr_http::HttpTransport::ANNOTATION_BYTES", bytes(HttpTransport::ANNOTATION_BYTES), &[(HTTP, "takes {} at most (`HttpTransport::ANNOTATION_BYTES`)")]),
        row("mrtr_http::HttpTransport::MIRRORED_ARGUMENTS", count(HttpTransport::MIRRORED_ARGUMENTS), &[(HTTP, "more than {} arguments (`HttpTransport::MIRRORED_ARGUMENTS`)")]),
        row("mrtr_http::HttpTransport::SESSION_ID_BYTES", bytes(HttpTransport::SESSION_ID_BYTES), &[(HTTP, "may have {} (`HttpTransport::SESSION_ID_BYTES`)")]),
        row("mrtr_http::HttpTransport::RESUME_FAILURES", count(HttpTransport::RESUME_FAILURES), &[(HTTP, "failed {} times in a row (`HttpTransport::RESUME_FAILURES`)")]),
        row("mrtr_schema::MOST_MEMBERS", count(mrtr_schema::MOST_MEMBERS), &[]),
        row("mrtr_schema::RequestId::MAX_BYTES", bytes(RequestId::MAX_BYTES), &[(HTTP, "| length of an id or a progress token | {} | 400 |")]),
        row("mrtr_schema::subscriptions::SubscriptionFilter::MOST_NAMES", count(SubscriptionFilter::MOST_NAMES), &[]),
        row("mrtr_server::flow::SamplingTools::DEFAULT_TURNS", count(SamplingTools::DEFAULT_TURNS), &[(SERVER, "may call tools for {} turns"), ("crates/mrtr-flow/src/flow/tool_loop.rs", "turns at most. {} by default")]),
        row("mrtr_server::Builder::DEFAULT_PAGE_SIZE", count(Builder::DEFAULT_PAGE_SIZE.get()), &[("crates/mrtr-server/src/server.rs", "pages of this size. {} by default")]),
        row("mrtr_flow::DEFAULT_RUN_DEADLINE", time(mrtr_flow::DEFAULT_RUN_DEADLINE), &[(GUIDE, "A run has a deadline of {}."), (SERVER, "A run has a deadline: {}, unless"), ("crates/mrtr-server/src/server.rs", "what it was waiting for: {} unless"), ("crates/mrtr-flow/src/engine/context.rs", "the tool says otherwise: {}.")]),
        row("mrtr_server::SessionLimits::sessions", count(sessions.sessions), &[(SERVER, "{} sessions at a time"), (SESSIONS, "sessions there are at a time. {} by default")]),
        row("mrtr_server::SessionLimits::sessions_of_caller", count(sessions.sessions_of_caller), &[(SESSIONS, "where callers are known. {} by default")]),
        row("mrtr_server::SessionLimits::idle", time(sessions.idle), &[(SERVER, "{} after the client was last heard of"), (SESSIONS, "no stream is open. {} by default")]),
        row("mrtr_server::SessionLimits::bytes", bytes(sessions.bytes), &[(SERVER, "{} for all of them"), (SESSIONS, "what waits to be sent. {} by default")]),
        row("mrtr_server::SessionLimits::bytes_of_session", bytes(sessions.bytes_of_session), &[(SESSIONS, "one session may keep. {} by default")]),
        row("mrtr_server::SessionLimits::calls", count(sessions.calls), &[(SESSIONS, "calls of a session are open at a time. {} by default")]),
        row("mrtr_server::SessionLimits::questions", count(sessions.questions), &[(SESSIONS, "questions of a call are open at a time. {} by default")]),
        row("mrtr_server::SessionLimits::question_timeout", time(sessions.question_timeout), &[(SERVER, "waited for {}, unless"), (SESSIONS, "the question says otherwise. {} by default")]),
        row("mrtr_state::Lifetimes::round", time(lifetimes.round), &[(GUIDE, "a client has {} to come back with a state"), (HOSTS, "A state lives for {} unless its tool says otherwise"), (STATE, "a state lives for {}"), (LIFETIMES, "come back with a state. {} by default"), (SECURITY, "{} after it was sealed"), (FORMAT, "{} a state,"), (FORMAT, "longest-lived state lives: {} by default")]),
        row("mrtr_state::Lifetimes::flow", time(lifetimes.flow), &[(GUIDE, "rounds and {}, and a client has"), (GUIDE, "has ended: {} after the deployment"), (STATE, "a flow for {}"), (LIFETIMES, "from its first round. {} by default"), (SECURITY, "{} after its flow began"), (FORMAT, "a state, {} and")]),
        row("mrtr_state::Lifetimes::rounds", count(lifetimes.rounds), &[(GUIDE, "A call has {} rounds"), (STATE, "{} rounds;"), (LIFETIMES, "a flow may have. {} by default"), (SECURITY, "after {} rounds"), (FORMAT, "{} rounds a flow by default")]),
        row("mrtr_state::ALLOWED_SKEW", time(mrtr_state::ALLOWED_SKEW), &[(DEPLOYMENT, "Clocks may differ by {}.")]),
        row("mrtr_state::DEFAULT_LIMIT", bytes(mrtr_state::DEFAULT_LIMIT), &[(DEPLOYMENT, "A state has {} of text"), (FORMAT, "at most {} by default")]),
        row("mrtr_state::MemorySingleUse::DEFAULT_LIMIT", bytes(MemorySingleUse::DEFAULT_LIMIT), &[(STATE, "`MemorySingleUse` holds {} unless"), (MEMORY, "says otherwise: {}.")]),
        row("mrtr_stdio::Stdio::DEFAULT_LINE_LIMIT", bytes(Stdio::DEFAULT_LINE_LIMIT), &[(STDIO, "| length of a line | {} | `Stdio::line_limit`"), (STDIO_SERVER, "at most this many bytes. {} by default")]),
        row("mrtr_stdio::Stdio::DEFAULT_CONCURRENCY", count(Stdio::DEFAULT_CONCURRENCY), &[(STDIO, "| requests at a time | {} | `Stdio::concurrency`"), (STDIO_SERVER, "others [wait](Self::waiting). {} by default")]),
        row("mrtr_stdio::Stdio::DEFAULT_WAITING", count(Stdio::DEFAULT_WAITING), &[(STDIO, "| requests that wait until others have ended | {}, "), (STDIO_SERVER, "in the order in which they came; others are refused. {} by")]),
        row("mrtr_stdio::Stdio::WAITING_BYTES", bytes(Stdio::WAITING_BYTES), &[(STDIO, "{} together | `Stdio::waiting`; others are refused |"), (STDIO_SERVER, "and {} of them together")]),
        row("mrtr_stdio::Stdio::DEFAULT_SUBSCRIPTIONS", count(Stdio::DEFAULT_SUBSCRIPTIONS), &[(STDIO, "| subscriptions at a time | {} | `Stdio::subscriptions`"), (STDIO_SERVER, "this many subscriptions at a time. {} by default")]),
        row("mrtr_stdio::Stdio::DEFAULT_WRITE_TIMEOUT", time(Stdio::DEFAULT_WRITE_TIMEOUT), &[(STDIO, "| time for a client to read | {} | `Stdio::write_timeout`"), (STDIO_SERVER, "then the connection ends. {} by default")]),
        row("mrtr_stdio::Stdio::DEFAULT_SHUTDOWN_TIMEOUT", time(Stdio::DEFAULT_SHUTDOWN_TIMEOUT), &[(STDIO, "| time to end, tasks included | {} | `Stdio::shutdown_timeout`"), (STDIO_SERVER, "for requests that run. {} by default")]),
        row("mrtr_stdio::StdioTransport::DEFAULT_LINE_LIMIT", bytes(StdioTransport::DEFAULT_LINE_LIMIT), &[(STDIO, "| length of a message | {} | `ChildServer::line_limit`"), (STDIO_CLIENT, "at most this many bytes. {} by default")]),
        row("mrtr_stdio::StdioTransport::DEFAULT_EXIT_TIMEOUT", time(StdioTransport::DEFAULT_EXIT_TIMEOUT), &[(STDIO, "| time for a process to end | {} | `ChildServer::exit_timeout`"), (STDIO_CLIENT, "once more after SIGTERM. {} by")]),
        row("mrtr_stdio::StdioTransport::NOTIFICATION_BYTES", bytes(StdioTransport::NOTIFICATION_BYTES), &[(STDIO, "| notifications that wait for a call | {} |")]),
        row("mrtr_stdio::StdioTransport::WAITING_QUESTIONS", count(StdioTransport::WAITING_QUESTIONS), &[(STDIO, "| questions that wait for a call, in a session | {} |")]),
        row("mrtr_tasks::TaskOptions::DEFAULT_WORKERS", count(TaskOptions::DEFAULT_WORKERS), &[(TASKS, "runs at once: {}.")]),
        row("mrtr_tasks::TaskOptions::DEFAULT_LEASE", time(TaskOptions::DEFAULT_LEASE), &[(GUIDE, "when the lease, {}, is over"), (TASKS, "take a task over: {}.")]),
        row("mrtr_tasks::TaskOptions::DEFAULT_TTL", time(TaskOptions::DEFAULT_TTL), &[(TASKS, "client has no wish: {}.")]),
        row("mrtr_tasks::TaskOptions::DEFAULT_LONGEST_TTL", time(TaskOptions::DEFAULT_LONGEST_TTL), &[]),
        row("mrtr_tasks::TaskOptions::DEFAULT_RETENTION", time(TaskOptions::DEFAULT_RETENTION), &[]),
        row("mrtr_tasks::TaskOptions::DEFAULT_POLL_INTERVAL", time(TaskOptions::DEFAULT_POLL_INTERVAL), &[]),
        row("mrtr_tasks::TaskOptions::DEFAULT_LOOK_INTERVAL", time(TaskOptions::DEFAULT_LOOK_INTERVAL), &[]),
        row("mrtr_tasks::TaskOptions::DEFAULT_GRACE", time(TaskOptions::DEFAULT_GRACE), &[(TASKS, "is stopped may take: {}.")]),
        row("mrtr_tasks::TaskOptions::DEFAULT_RUN_DEADLINE", time(TaskOptions::DEFAULT_RUN_DEADLINE), &[]),
        row("mrtr_tasks::TaskOptions::DEFAULT_ENTRY_LIMIT", bytes(TaskOptions::DEFAULT_ENTRY_LIMIT), &[(TASKS, "size of an entry in a journal: {}.")]),
        row("mrtr_tasks::TaskOptions::DEFAULT_JOURNAL_LIMIT", bytes(TaskOptions::DEFAULT_JOURNAL_LIMIT), &[(TASKS, "size of a journal: {}.")]),
        row("mrtr_tasks::TaskOptions::DEFAULT_MOST_OPEN", count(TaskOptions::DEFAULT_MOST_OPEN), &[(TASKS, "a caller may have: {}.")]),
        row("mrtr_tasks::TaskOptions::DEFAULT_MOST_BYTES", bytes(TaskOptions::DEFAULT_MOST_BYTES), &[(TASKS, "the tasks of a caller may keep: {}.")]),
        row("mrtr_tasks::TaskOptions::DEFAULT_STORE_BYTES", bytes(TaskOptions::DEFAULT_STORE_BYTES), &[(TASKS, "of a file or a database may keep: {}.")]),
        row("mrtr_tasks::TaskOptions::DEFAULT_MEMORY_BYTES", bytes(TaskOptions::DEFAULT_MEMORY_BYTES), &[(TASKS, "tasks in memory may keep: {}.")]),
        row("mrtr_tasks::TaskOptions::DEFAULT_MOST_BLOCKED", count(TaskOptions::DEFAULT_MOST_BLOCKED), &[(TASKS, "wait for at once: {}.")]),
        row("mrtr_postgres::PostgresOptions::DEFAULT_CONNECTIONS", count(PostgresOptions::DEFAULT_CONNECTIONS), &[(POSTGRES, "instance keeps, the listener apart: {}."), (POSTGRES, "keeps at most, the listener apart: {} by default")]),
        row("mrtr_postgres::PostgresOptions::DEFAULT_WAIT", time(PostgresOptions::DEFAULT_WAIT), &[(POSTGRES, "that the store is busy: {} by default")]),
        row("mrtr_postgres::PostgresOptions::DEFAULT_STATEMENT_TIMEOUT", time(PostgresOptions::DEFAULT_STATEMENT_TIMEOUT), &[(POSTGRES, "connection counts as lost: {} by default")]),
        row("mrtr_postgres::PostgresOptions::DEFAULT_POLL", time(PostgresOptions::DEFAULT_POLL), &[]),
    ]
}

/// Numbers in documents that follow from rows, and are no rows themselves.
#[rustfmt::skip]
pub(crate) fn consequences() -> Vec<Row> {
    let uncounted = Endpoint::UNCOUNTED_BODY * (Endpoint::DEFAULT_CONCURRENCY + Endpoint::DEFAULT_SUBSCRIPTIONS);
    vec![
        row("what bodies take at most", bytes(Endpoint::DEFAULT_BODY_BUDGET + uncounted), &[(HTTP, " {} by default. What a handler makes of them")]),
        row("the largest bodies in a budget", count(Endpoint::DEFAULT_BODY_BUDGET / Endpoint::DEFAULT_BODY_LIMIT), &[(ENDPOINT, "{} of the largest bodies")]),
        row("how long an entry outlives its token", time(2 * mrtr_state::ALLOWED_SKEW), &[(STATE, "kept until {} after its token has expired"), (FORMAT, "until {} after the token has expired")]),
    ]
}
