//! The notifications that a session sends by itself.

use mrtr_schema::jsonrpc::Notification;
use mrtr_schema::methods::{
    Cancelled, ElicitationComplete, NotificationMethod, PromptListChanged, ResourceListChanged, ResourceUpdated,
    ToolListChanged,
};
use mrtr_schema::notifications::{CancelledParams, ElicitationCompleteParams};
use mrtr_schema::params::NotificationParams;
use mrtr_schema::resources::ResourceUpdatedParams;
use mrtr_schema::{Feature, Revision, Wire};

use crate::support::changes::Change;

/// A question is asked no more.
pub(super) fn withdrawn(question: i64, revision: Revision) -> Option<String> {
    let mut params = CancelledParams::default();
    params.request_id = Some(question.into());
    params.reason = Some("The question is not asked any more".to_owned());
    written(&Notification::<Cancelled>::new(params), revision)
}

/// What a person did at a URL is done.
pub(super) fn visited(elicitation: &str, revision: Revision) -> Option<String> {
    let has = revision.has(Feature::ElicitationId);
    let params = has.then(|| ElicitationCompleteParams::new(elicitation))?;
    written(&Notification::<ElicitationComplete>::new(params), revision)
}

/// Something changed on the server. Of a resource, one hears that watches it.
pub(super) fn changed(change: &Change, watches: impl Fn(&str) -> bool, revision: Revision) -> Option<String> {
    let plain = NotificationParams::new;
    match change {
        Change::Tools => written(&Notification::<ToolListChanged>::new(plain()), revision),
        Change::Prompts => written(&Notification::<PromptListChanged>::new(plain()), revision),
        Change::Resources => written(&Notification::<ResourceListChanged>::new(plain()), revision),
        Change::Resource(uri) if watches(uri) => {
            written(&Notification::<ResourceUpdated>::new(ResourceUpdatedParams::new(&**uri)), revision)
        }
        Change::Resource(_) | Change::End => None,
    }
}

fn written<N: NotificationMethod>(notification: &Notification<N>, revision: Revision) -> Option<String> {
    let written = notification.to_json(revision);
    written.inspect_err(|error| tracing::warn!(%error, "a notification cannot be written in this revision")).ok()
}
