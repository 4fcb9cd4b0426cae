//! A server that does not have the version: another that both know is tried, once each.

use mrtr_schema::error_object::UnsupportedVersionData;
use mrtr_schema::{Era, ErrorObject, Revision};

use super::{Call, CallOutcome, Phase, Sending};

impl Call {
    /// The call goes on in another revision, of another era perhaps. It has not begun, or begins anew.
    pub(crate) fn move_to(&mut self, revision: Revision) {
        self.pending.revision = revision;
    }

    /// The server has asked in so many rounds of a session. It holds the call, so that this is all there is to keep.
    pub(crate) fn hold(&mut self, rounds: u32) {
        self.pending.rounds = self.pending.rounds.max(rounds);
    }

    /// The call has failed with this error of the server's, and is not sent again for any reason that it may give.
    pub(crate) fn fail(&mut self, error: ErrorObject) {
        if let Phase::Sending(_) = self.phase {
            self.phase = Phase::Over(CallOutcome::Failed(error));
        }
    }

    pub(super) fn after_error(&mut self, sending: Sending, error: ErrorObject) -> Phase {
        match self.other_version(sending, &error) {
            Some(revision) => {
                self.refused.push(self.pending.revision);
                self.pending.revision = revision;
                Phase::Sending(Sending::Call)
            }
            None => Phase::Over(CallOutcome::Failed(error)),
        }
    }

    /// The revision that the server turned out to have, once it has replied in it, if it did not have the first one.
    ///
    /// ```
    /// use mrtr_client::{Action, Call, Limits};
    /// use mrtr_schema::{ErrorObject, Json, JsonObject, Revision};
    /// use mrtr_schema::error_object::UnsupportedVersionData;
    ///
    /// let mut call = Call::new(Revision::Published, "tools/list", JsonObject::default(), Limits::default(), 1);
    /// let data = UnsupportedVersionData::new("2026-07-28", ["sep-2322".to_owned(), "2020-01-01".to_owned()]);
    /// call.replied(Err(ErrorObject::with_data("unsupported", &data)), None);
    /// assert!(matches!(call.action(), Action::Send(_)), "it is sent again");
    /// call.replied(Ok(Json::parse(r#"{"tools": []}"#)?.as_raw()), None);
    /// assert_eq!(call.agreed_revision(), Some(Revision::Sep2322));
    /// # Ok::<(), mrtr_schema::ReadError>(())
    /// ```
    pub fn agreed_revision(&self) -> Option<Revision> {
        self.agreed
    }

    /// The latest version that both know and that was not refused before, if that is what the error is about.
    ///
    /// Only a call that has begun can have a state or a task, which belong to the revision they were made in.
    fn other_version(&self, sending: Sending, error: &ErrorObject) -> Option<Revision> {
        if sending != Sending::Call || self.pending.rounds > 0 || self.pending.state.is_some() {
            return None;
        }
        // In a session, the version is that of the session.
        if self.pending.revision.era() == Era::Legacy {
            return None;
        }
        let data: UnsupportedVersionData = error.data_as()?.ok()?;
        // A version of the legacy era needs a session, which is not for a call to begin.
        let theirs = data.supported.iter().filter_map(|version| version.parse().ok());
        let theirs = theirs.filter(|version: &Revision| version.era() == Era::Modern);
        let untried = theirs.filter(|version| !self.refused.contains(version));
        // A server that names the very version it refused is tried with it once more, after all others.
        untried.max_by_key(|version| (*version != self.pending.revision, *version))
    }
}
