//! Facts about a method that do not depend on its parameters.

use super::requests::row;
use crate::revision::{Feature, Revision};

/// Facts about a method: the member that names its subject, and what peers may do with it. Servers, clients and
/// transports read them here.
///
/// ```
/// use mrtr_schema::{MethodInfo, Revision};
///
/// let read = MethodInfo::of("resources/read");
/// assert_eq!(read.named_by, Some("uri"));
/// assert!(read.runs_flow && !read.only_reads);
/// assert!(MethodInfo::of("completion/complete").may_ask_in(Revision::Draft202602));
/// assert!(!MethodInfo::of("completion/complete").may_ask_in(Revision::V2026_07_28));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct MethodInfo {
    /// The name of the method, as the table spells it. A method that is not in the table has none, so that a peer's
    /// text never becomes a label.
    pub name: Option<&'static str>,
    /// The member of the parameters that names the subject: a tool, prompt, resource or task.
    pub named_by: Option<&'static str>,
    /// True if calling it twice is calling it once: a client may send the request again when no response came. A method
    /// that runs an application's handler is never marked so, even if it is called `read` or `get`.
    pub only_reads: bool,
    /// True if the flow of a handler answers it.
    pub runs_flow: bool,
    pub(super) may_ask: MayAsk,
    /// The set of revisions that have it.
    pub(super) revisions: u8,
}

/// The revisions in which a server may ask while it answers, of those that have the method (SV-1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MayAsk {
    Never,
    Always,
    When(Feature),
}

impl MethodInfo {
    /// Returns the facts about the method of this name. For a method that the protocol does not have, such as an
    /// extension's, these are only the facts that the name itself tells.
    ///
    /// ```
    /// use mrtr_schema::{MethodInfo, Revision};
    ///
    /// assert_eq!(MethodInfo::of("tasks/get").named_by, Some("taskId"));
    /// assert_eq!(MethodInfo::of("tasks/pause").named_by, Some("taskId"));
    /// assert!(MethodInfo::of("com.example/list").only_reads);
    /// assert!(!MethodInfo::of("com.example/list").exists_in(Revision::V2026_07_28));
    /// ```
    pub fn of(method: &str) -> Self {
        row(method).unwrap_or_else(|| Self {
            name: None,
            named_by: method.starts_with("tasks/").then_some("taskId"),
            only_reads: method.ends_with("/list"),
            runs_flow: false,
            may_ask: MayAsk::Never,
            revisions: 0,
        })
    }

    /// Makes a method of which only the revisions are known: those with any of these features, where `None` stands for
    /// all of them.
    pub(super) const fn plain(name: &'static str, when: &[Option<Feature>]) -> Self {
        let (mut revisions, mut at) = (0, 0);
        while at < when.len() {
            revisions |= match when[at] {
                Some(feature) => feature.revisions(),
                None => u8::MAX,
            };
            at += 1;
        }
        Self {
            name: Some(name),
            named_by: None,
            only_reads: false,
            runs_flow: false,
            may_ask: MayAsk::Never,
            revisions,
        }
    }

    /// Returns true if a revision has the method.
    ///
    /// ```
    /// use mrtr_schema::{MethodInfo, Revision};
    ///
    /// assert!(MethodInfo::of("initialize").exists_in(Revision::Sep2322));
    /// assert!(!MethodInfo::of("initialize").exists_in(Revision::V2026_07_28));
    /// ```
    #[inline]
    pub fn exists_in(&self, revision: Revision) -> bool {
        self.revisions & revision.bit() != 0
    }

    /// Returns true if a server may ask on the method there: by an interim result (SV-1), or in a session by requests
    /// of its own.
    ///
    /// The draft says "any client-initiated request"; these are the ones for which it makes sense there.
    #[inline]
    pub fn may_ask_in(&self, revision: Revision) -> bool {
        let may_ask = match self.may_ask {
            MayAsk::Never => false,
            MayAsk::Always => true,
            MayAsk::When(feature) => revision.has(feature),
        };
        may_ask && self.exists_in(revision)
    }
}

impl Revision {
    /// Returns true if a server may ask on this method (SV-1): see [`MethodInfo::may_ask_in`].
    ///
    /// ```
    /// use mrtr_schema::Revision;
    ///
    /// assert!(Revision::V2026_07_28.may_ask_on("tools/call"));
    /// assert!(!Revision::V2026_07_28.may_ask_on("tools/list"));
    /// ```
    pub fn may_ask_on(self, method: &str) -> bool {
        MethodInfo::of(method).may_ask_in(self)
    }
}
