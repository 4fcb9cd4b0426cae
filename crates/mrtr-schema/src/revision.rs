//! The revisions of the protocol that are served, and everything in which they differ.
//!
//! Types name a [`Feature`]; which revision has which feature is said here and nowhere else.

use std::fmt;
use std::str::FromStr;

/// A revision of the protocol.
///
/// The pattern of multi round-trip requests was written down three times, and all three are served. So are the two
/// earlier revisions that have elicitation, since most hosts still speak one of those.
///
/// ```
/// use mrtr_schema::Revision;
///
/// assert_eq!(Revision::default(), Revision::V2026_07_28);
/// assert_eq!("sep-2322".parse(), Ok(Revision::Sep2322));
/// assert!(Revision::V2025_11_25 < Revision::V2026_07_28, "they are ordered by age");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[non_exhaustive]
pub enum Revision {
    /// `2025-06-18`: sessions, with elicitation by forms of few kinds.
    V2025_06_18,
    /// `2025-11-25`: sessions, with elicitation by forms and URLs.
    V2025_11_25,
    /// `draft-2026-02`: the first draft, with `IncompleteResult` and retries on any request.
    Draft202602,
    /// `sep-2322`: the accepted proposal, with `InputRequiredResult` and `resultType`.
    Sep2322,
    /// `2026-07-28`: the published revision, stateless throughout.
    #[default]
    V2026_07_28,
}

impl Revision {
    /// All of them, oldest first.
    pub const ALL: [Self; 5] =
        [Self::V2025_06_18, Self::V2025_11_25, Self::Draft202602, Self::Sep2322, Self::V2026_07_28];

    /// The revisions of the modern era, oldest first: the published one and its two drafts.
    pub const MODERN: [Self; 3] = [Self::Draft202602, Self::Sep2322, Self::V2026_07_28];

    /// The revisions of the legacy era, oldest first.
    pub const LEGACY: [Self; 2] = [Self::V2025_06_18, Self::V2025_11_25];

    /// Returns the era that the revision belongs to.
    ///
    /// ```
    /// use mrtr_schema::{Era, Revision};
    ///
    /// assert!(Revision::LEGACY.iter().all(|revision| revision.era() == Era::Legacy));
    /// assert!(Revision::MODERN.iter().all(|revision| revision.era() == Era::Modern));
    /// ```
    pub const fn era(self) -> Era {
        match self {
            Self::V2025_06_18 | Self::V2025_11_25 => Era::Legacy,
            Self::Draft202602 | Self::Sep2322 | Self::V2026_07_28 => Era::Modern,
        }
    }

    /// Returns the era of a version that a peer names, even of one that is not known here: versions are dates, and no
    /// version after the last one with sessions has them again.
    ///
    /// ```
    /// use mrtr_schema::{Era, Revision};
    ///
    /// assert_eq!(Revision::era_of("2024-11-05"), Era::Legacy);
    /// assert_eq!(Revision::era_of("2027-03-01"), Era::Modern);
    /// assert_eq!(Revision::era_of("draft-2026-02"), Era::Modern);
    /// ```
    pub fn era_of(version: &str) -> Era {
        match version.parse::<Self>() {
            Ok(known) => known.era(),
            Err(_) if version > Self::V2025_11_25.as_str() => Era::Modern,
            Err(_) => Era::Legacy,
        }
    }

    /// Returns the revision of a session whose client asked for this version in `initialize`: that version if it is one
    /// of the legacy era, the oldest of that era for a client that is older still, and the newest for any other.
    ///
    /// ```
    /// use mrtr_schema::Revision;
    ///
    /// assert_eq!(Revision::for_session("2025-06-18"), Revision::V2025_06_18);
    /// assert_eq!(Revision::for_session("2025-03-26"), Revision::V2025_06_18, "it has no elicitation");
    /// assert_eq!(Revision::for_session("2026-07-28"), Revision::V2025_11_25, "it has no sessions");
    /// ```
    pub fn for_session(asked: &str) -> Self {
        let known = Self::LEGACY.into_iter().find(|revision| revision.as_str() == asked);
        // Versions are dates, which are ordered as their texts are.
        let is_older = asked < Self::V2025_06_18.as_str();
        known.unwrap_or(if is_older { Self::V2025_06_18 } else { Self::V2025_11_25 })
    }

    /// Returns the name of the revision in folders, options and log lines.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::Draft202602 => "draft-2026-02",
            Self::Sep2322 => "sep-2322",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// Returns the number of the revision in formats that are kept: it stays when names change, and no other revision
    /// ever gets it.
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
            Self::V2026_07_28 => 3,
            Self::V2025_11_25 => 4,
            Self::V2025_06_18 => 5,
        }
    }

    /// The revision that has this number.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|revision| revision.number() == number)
    }

    /// Returns true if the revision has a feature.
    #[inline]
    pub const fn has(self, feature: Feature) -> bool {
        feature.revisions() & self.bit() != 0
    }

    /// Returns the bit that stands for the revision in a set of revisions.
    pub(crate) const fn bit(self) -> u8 {
        1 << self as u8
    }

    /// Returns this revision's name for a type that the published one calls `name`.
    ///
    /// ```
    /// use mrtr_schema::Revision;
    ///
    /// assert_eq!(Revision::Draft202602.type_name("InputRequiredResult"), "IncompleteResult");
    /// assert_eq!(Revision::V2026_07_28.type_name("InputRequiredResult"), "InputRequiredResult");
    /// ```
    pub fn type_name(self, name: &'static str) -> &'static str {
        match (self, name) {
            (Self::V2025_06_18, "LegacyTitledEnumSchema") => "EnumSchema",
            (Self::V2025_06_18, "JSONRPCResultResponse") => "JSONRPCResponse",
            (Self::V2025_06_18, "JSONRPCErrorResponse") => "JSONRPCError",
            (Self::Draft202602, "ElicitRequest") => "ElicitationCreateRequest",
            (Self::Draft202602, "CreateMessageRequest") => "SamplingCreateRequest",
            (Self::Draft202602, "InputRequiredResult") => "IncompleteResult",
            _ => name,
        }
    }

    /// Returns the dialect that accepts exactly what this revision's peers must send.
    pub const fn strict(self) -> Dialect {
        Dialect { revision: self, strict: true }
    }

    /// Returns the dialect that also accepts messages in which a peer left something out: an absent `resultType` means
    /// complete (TY-4), and a page without caching hints is not to be kept.
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
#[error("unknown revision `{0}`; there are 2025-06-18, 2025-11-25, draft-2026-02, sep-2322 and 2026-07-28")]
pub struct UnknownRevision(String);

/// The way in which a client and a server know each other, and in which a server asks.
///
/// ```
/// use mrtr_schema::{Era, Feature, Revision};
///
/// let is_modern = |revision: Revision| revision.era() == Era::Modern;
/// assert!(Revision::ALL.iter().all(|revision| revision.has(Feature::InterimResults) == is_modern(*revision)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "code that serves both must tell them apart")]
pub enum Era {
    /// A session, begun by `initialize`, in which the server asks by requests of its own.
    Legacy,
    /// Each request stands for itself, and the server asks by an interim result.
    Modern,
}

/// A revision, and how strictly its messages are read. What is written is always strict.
///
/// ```
/// use mrtr_schema::{CallToolResult, Revision, Wire};
///
/// let without_result_type = r#"{"content": []}"#;
/// assert!(CallToolResult::from_json(without_result_type, Revision::V2026_07_28.lenient()).is_ok());
/// assert!(CallToolResult::from_json(without_result_type, Revision::V2026_07_28.strict()).is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Dialect {
    /// The revision of the messages.
    pub revision: Revision,
    /// True if an absent `resultType`, or an absent caching hint, is refused.
    pub strict: bool,
}

/// Something that some revisions have and others do not.
///
/// Each feature is named for the one behaviour that it decides. Where two rows are alike, they are still two: a later
/// revision may have one without the other.
///
/// ```
/// use mrtr_schema::{Feature, Revision};
///
/// assert!(Revision::Sep2322.has(Feature::Sessions));
/// assert!(!Revision::V2026_07_28.has(Feature::Sessions));
/// assert!(Revision::V2026_07_28.has(Feature::TasksExtension) && !Revision::V2026_07_28.has(Feature::CoreTasks));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Feature {
    /// A server asks by an interim result, and the client retries with the answers.
    InterimResults,
    /// A server asks for elicitation and sampling by requests of its own, while the call that they belong to waits.
    InputsAsRequests,
    /// Results say in `resultType` what they are.
    ResultType,
    /// Extensions may define further values of `resultType`.
    ResultTypeExtensions,
    /// A client tells an interim result by its fields, and it has a response type of its own.
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
    /// Capabilities name extensions.
    Extensions,
    /// Tools, prompts, resources and implementations have icons.
    Icons,
    /// An implementation says what it does and where to read more about it.
    ImplementationDetails,
    /// `ttlMs` and `cacheScope` on lists and reads.
    CachingHints,
    /// Over HTTP, headers repeat the version, the method and the name that the body says; -32020 if they differ.
    MirroredHeaders,
    /// Over HTTP, a stream begins with an event that has an id alone, and says when to come back for it.
    PrimedStreams,
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
    /// An elicitation says in `mode` whether it is a form or a URL to visit; before, it is a form.
    ElicitationModes,
    /// URL-mode elicitation names itself in `elicitationId`, by which the server later says that it is done.
    ElicitationId,
    /// A select of a form lists its values with a title each, by `oneOf`; before, with `enumNames` beside them.
    TitledSelects,
    /// A field of a form may hold several values.
    MultiSelects,
    /// Any field of a form may have a default; before, those that hold yes or no.
    FormDefaults,
    /// A client says in its capabilities how it samples: with tools, with context.
    SamplingCapabilities,
    /// A model may use tools while sampling.
    SamplingTools,
    /// A message to or from a model holds any number of blocks; before, one.
    SamplingBlocks,
    /// A message to a model has metadata.
    SamplingMessageMetadata,
    /// `structuredContent` and `outputSchema` are not limited to objects.
    AnyStructuredContent,
    /// There are tasks, of the core protocol or as an extension.
    Tasks,
    /// Tasks of the core protocol: `params.task`, `tasks/result`, `tasks/input_response`.
    CoreTasks,
    /// Questions of a core task may come with a `requestState`, which the client brings back with its answers.
    TaskRequestState,
    /// Tasks as an extension: `resultType: "task"`, `tasks/update`, `notifications/tasks`.
    TasksExtension,
}

impl Feature {
    /// Returns the set of revisions that have the feature. If the feature is a constant, so is the set, and asking is
    /// one instruction.
    pub(crate) const fn revisions(self) -> u8 {
        let row = self.row();
        let (mut revisions, mut at) = (0, 0);
        while at < row.len() {
            if row[at] {
                revisions |= Revision::ALL[at].bit();
            }
            at += 1;
        }
        revisions
    }

    #[expect(clippy::match_same_arms, reason = "one row a feature")]
    #[rustfmt::skip] // a table is read by its columns
    const fn row(self) -> [bool; 5] {
        match self {
            //                                2025-06-18  2025-11-25  draft-2026-02  sep-2322  2026-07-28
            Self::InterimResults          => [false,      false,      true,          true,     true],
            Self::InputsAsRequests        => [true,       true,       false,         false,    false],
            Self::ResultType              => [false,      false,      false,         true,     true],
            Self::ResultTypeExtensions    => [false,      false,      false,         false,    true],
            Self::InterimByFields         => [false,      false,      true,          false,    false],
            Self::RequestMetadata         => [false,      false,      false,         false,    true],
            Self::LogLevelPerRequest      => [false,      false,      false,         false,    true],
            Self::TraceContext            => [false,      false,      false,         false,    true],
            Self::ServerInfoInResults     => [false,      false,      false,         false,    true],
            Self::Discovery               => [false,      false,      false,         false,    true],
            Self::Subscriptions           => [false,      false,      false,         false,    true],
            Self::Sessions                => [true,       true,       true,          true,     false],
            Self::CancelledNamesRequest   => [true,       false,      false,         false,    true],
            Self::Extensions              => [false,      false,      true,          true,     true],
            Self::Icons                   => [false,      true,       true,          true,     true],
            Self::ImplementationDetails   => [false,      true,       true,          true,     true],
            Self::CachingHints            => [false,      false,      false,         false,    true],
            Self::MirroredHeaders         => [false,      false,      false,         false,    true],
            Self::PrimedStreams           => [false,      true,       false,         false,    false],
            Self::HttpErrorStatus         => [false,      false,      false,         false,    true],
            Self::ResourceNotFoundCode    => [true,       true,       true,          true,     false],
            Self::MissingCapabilityCode   => [false,      false,      false,         false,    true],
            Self::UnsupportedVersionCode  => [false,      false,      false,         false,    true],
            Self::RetryOnAnyRequest       => [false,      false,      true,          false,    false],
            Self::RetryParams             => [false,      false,      false,         true,     true],
            Self::AskOnCompletion         => [false,      false,      true,          false,    false],
            Self::RootsAsInput            => [false,      false,      false,         true,     true],
            Self::RootsAsRequest          => [true,       true,       true,          false,    false],
            Self::RootsListChanged        => [true,       true,       true,          true,     false],
            Self::NamespacedInputs        => [false,      false,      false,         false,    true],
            Self::InputMetadata           => [true,       true,       true,          false,    false],
            Self::ElicitationModes        => [false,      true,       true,          true,     true],
            Self::ElicitationId           => [false,      true,       true,          true,     false],
            Self::TitledSelects           => [false,      true,       true,          true,     true],
            Self::MultiSelects            => [false,      true,       true,          true,     true],
            Self::FormDefaults            => [false,      true,       true,          true,     true],
            Self::SamplingCapabilities    => [false,      true,       true,          true,     true],
            Self::SamplingTools           => [false,      true,       true,          true,     true],
            Self::SamplingBlocks          => [false,      true,       true,          true,     true],
            Self::SamplingMessageMetadata => [false,      true,       true,          true,     true],
            Self::AnyStructuredContent    => [false,      false,      false,         false,    true],
            Self::Tasks                   => [false,      false,      true,          true,     true],
            Self::CoreTasks               => [false,      false,      true,          true,     false],
            Self::TaskRequestState        => [false,      false,      false,         true,     false],
            Self::TasksExtension          => [false,      false,      false,         false,    true],
        }
    }
}
