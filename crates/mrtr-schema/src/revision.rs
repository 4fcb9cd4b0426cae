//! The three revisions of the pattern, and everything in which they differ.
//!
//! Types name a [`Feature`]; which revision has which feature is said here and nowhere else.

use std::fmt;
use std::str::FromStr;

/// A revision of the protocol: the pattern was written down three times, and all three are served.
///
/// ```
/// use mrtr_schema::Revision;
///
/// assert_eq!(Revision::default(), Revision::Published);
/// assert_eq!("sep-2322".parse(), Ok(Revision::Sep2322));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[non_exhaustive]
pub enum Revision {
    /// `draft-2026-02`: the first draft, with `IncompleteResult` and retries on any request.
    Draft202602,
    /// `sep-2322`: the accepted proposal, with `InputRequiredResult` and `resultType`.
    Sep2322,
    /// `2026-07-28`: the published revision, stateless throughout.
    #[default]
    Published,
}

impl Revision {
    /// All of them, oldest first.
    pub const ALL: [Self; 3] = [Self::Draft202602, Self::Sep2322, Self::Published];

    /// The name by which folders, options and log lines call it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Draft202602 => "draft-2026-02",
            Self::Sep2322 => "sep-2322",
            Self::Published => "2026-07-28",
        }
    }

    /// The number by which formats that are kept call it: it stays when names change, and is never given anew.
    ///
    /// ```
    /// use mrtr_schema::Revision;
    ///
    /// assert_eq!(Revision::Sep2322.number(), 2);
    /// assert_eq!(Revision::from_number(2), Some(Revision::Sep2322));
    /// assert_eq!(Revision::from_number(0), None, "no revision has it");
    /// ```
    pub const fn number(self) -> u8 {
        match self {
            Self::Draft202602 => 1,
            Self::Sep2322 => 2,
            Self::Published => 3,
        }
    }

    /// The revision that has this number.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|revision| revision.number() == number)
    }

    /// Whether it has a feature.
    pub const fn has(self, feature: Feature) -> bool {
        let [draft, sep, published] = feature.row();
        match self {
            Self::Draft202602 => draft,
            Self::Sep2322 => sep,
            Self::Published => published,
        }
    }

    /// What this revision calls a type that the published one calls `name`.
    ///
    /// ```
    /// use mrtr_schema::Revision;
    ///
    /// assert_eq!(Revision::Draft202602.type_name("InputRequiredResult"), "IncompleteResult");
    /// assert_eq!(Revision::Published.type_name("InputRequiredResult"), "InputRequiredResult");
    /// ```
    pub fn type_name(self, name: &'static str) -> &'static str {
        match (self, name) {
            (Self::Draft202602, "ElicitRequest") => "ElicitationCreateRequest",
            (Self::Draft202602, "CreateMessageRequest") => "SamplingCreateRequest",
            (Self::Draft202602, "InputRequiredResult") => "IncompleteResult",
            _ => name,
        }
    }

    /// Reading exactly what this revision's peers must send.
    pub const fn strict(self) -> Dialect {
        Dialect { revision: self, strict: true }
    }

    /// Reading where its peers left something out as well: an absent `resultType` means complete (TY-4), and a page
    /// without caching hints is not to be kept.
    pub const fn lenient(self) -> Dialect {
        Dialect { revision: self, strict: false }
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Revision {
    type Err = UnknownRevision;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|revision| revision.as_str() == name).ok_or_else(|| UnknownRevision(name.to_owned()))
    }
}

/// There is no revision of that name.
///
/// ```
/// use mrtr_schema::Revision;
///
/// let error = "2024-11-05".parse::<Revision>().unwrap_err();
/// assert!(error.to_string().starts_with("unknown revision `2024-11-05`; there are"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown revision `{0}`; there are draft-2026-02, sep-2322 and 2026-07-28")]
pub struct UnknownRevision(String);

/// A revision, and how strictly its messages are read. What is written is always strict.
///
/// ```
/// use mrtr_schema::{CallToolResult, Revision, Wire};
///
/// let without_result_type = r#"{"content": []}"#;
/// assert!(CallToolResult::from_json(without_result_type, Revision::Published.lenient()).is_ok());
/// assert!(CallToolResult::from_json(without_result_type, Revision::Published.strict()).is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Dialect {
    /// Whose messages.
    pub revision: Revision,
    /// Whether an absent `resultType`, or an absent caching hint, is refused.
    pub strict: bool,
}

/// Something that some revisions have and others do not.
///
/// Each is named for the one behaviour that it decides. Where two rows are alike, they are still two: a revision to come
/// may have the one without the other.
///
/// ```
/// use mrtr_schema::{Feature, Revision};
///
/// assert!(Revision::Sep2322.has(Feature::Sessions));
/// assert!(!Revision::Published.has(Feature::Sessions));
/// assert!(Revision::Published.has(Feature::TasksExtension) && !Revision::Published.has(Feature::CoreTasks));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Feature {
    /// Results say in `resultType` what they are.
    ResultType,
    /// Extensions may define further values of `resultType`.
    ResultTypeExtensions,
    /// An interim result is told by its fields, and has a response type of its own.
    InterimByFields,
    /// Each request says version, client and capabilities in `_meta`.
    RequestMetadata,
    /// A request says in `_meta` which log messages its client wants.
    LogLevelPerRequest,
    /// A request carries W3C trace context in `_meta`.
    TraceContext,
    /// Results say in `_meta` which server they come from.
    ServerInfoInResults,
    /// A client asks what a server offers with `server/discover`.
    Discovery,
    /// A client hears of changes with `subscriptions/listen`.
    Subscriptions,
    /// A client opens a session with `initialize`; the log level and the resources it watches last as long as that.
    Sessions,
    /// `notifications/cancelled` must name the request; before, one that belonged to a task could do without.
    CancelledNamesRequest,
    /// `ttlMs` and `cacheScope` on lists and reads.
    CachingHints,
    /// Over HTTP, headers repeat the version, the method and the name that the body says; -32020 if they differ.
    MirroredHeaders,
    /// Over HTTP, an error has a status by its code; before, only a message that is none had one.
    HttpErrorStatus,
    /// A resource that is not there has a code of its own, -32002; later it is -32602, as for tools and prompts.
    ResourceNotFoundCode,
    /// A capability that a request needs and its client did not declare has a code of its own, -32021.
    MissingCapabilityCode,
    /// A protocol version that the server does not speak has a code of its own, -32022.
    UnsupportedVersionCode,
    /// A server may ask on any request, so `inputResponses` and `requestState` may sit on any.
    RetryOnAnyRequest,
    /// The parameters of a retry are a type by themselves.
    RetryParams,
    /// A server may ask on `completion/complete`.
    AskOnCompletion,
    /// `roots/list` may be asked for as an input.
    RootsAsInput,
    /// A server asks for roots with a request of its own.
    RootsAsRequest,
    /// A client says when its roots change.
    RootsListChanged,
    /// Inputs of an application's own, under a reverse-DNS method.
    NamespacedInputs,
    /// Inputs and their answers are requests and results of their own, with a `_meta` each.
    InputMetadata,
    /// URL-mode elicitation names itself in `elicitationId`, by which the server later says that it is done.
    ElicitationId,
    /// `structuredContent` and `outputSchema` are not limited to objects.
    AnyStructuredContent,
    /// Tasks of the core protocol: `params.task`, `tasks/result`, `tasks/input_response`.
    CoreTasks,
    /// Tasks as an extension: `resultType: "task"`, `tasks/update`, `notifications/tasks`.
    TasksExtension,
}

impl Feature {
    #[expect(clippy::match_same_arms, reason = "one row a feature")]
    #[rustfmt::skip] // a table is read by its columns
    const fn row(self) -> [bool; 3] {
        match self {
            //                                draft-2026-02  sep-2322  2026-07-28
            Self::ResultType              => [false,         true,     true],
            Self::ResultTypeExtensions    => [false,         false,    true],
            Self::InterimByFields         => [true,          false,    false],
            Self::RequestMetadata         => [false,         false,    true],
            Self::LogLevelPerRequest      => [false,         false,    true],
            Self::TraceContext            => [false,         false,    true],
            Self::ServerInfoInResults     => [false,         false,    true],
            Self::Discovery               => [false,         false,    true],
            Self::Subscriptions           => [false,         false,    true],
            Self::Sessions                => [true,          true,     false],
            Self::CancelledNamesRequest   => [false,         false,    true],
            Self::CachingHints            => [false,         false,    true],
            Self::MirroredHeaders         => [false,         false,    true],
            Self::HttpErrorStatus         => [false,         false,    true],
            Self::ResourceNotFoundCode    => [true,          true,     false],
            Self::MissingCapabilityCode   => [false,         false,    true],
            Self::UnsupportedVersionCode  => [false,         false,    true],
            Self::RetryOnAnyRequest       => [true,          false,    false],
            Self::RetryParams             => [false,         true,     true],
            Self::AskOnCompletion         => [true,          false,    false],
            Self::RootsAsInput            => [false,         true,     true],
            Self::RootsAsRequest          => [true,          false,    false],
            Self::RootsListChanged        => [true,          true,     false],
            Self::NamespacedInputs        => [false,         false,    true],
            Self::InputMetadata           => [true,          false,    false],
            Self::ElicitationId           => [true,          true,     false],
            Self::AnyStructuredContent    => [false,         false,    true],
            Self::CoreTasks               => [true,          true,     false],
            Self::TasksExtension          => [false,         false,    true],
        }
    }
}
