//! `subscriptions/listen`: a stream of what was asked for, acknowledged first, with a result when the server ends it.

use std::collections::HashSet;
use std::fmt;

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use mrtr_flow::ProtocolError;
use mrtr_flow::for_server::internal_error;
use mrtr_schema::jsonrpc::Notification;
use mrtr_schema::meta::NotificationMeta;
use mrtr_schema::methods::{
    NotificationMethod, PromptListChanged, ResourceListChanged, ResourceUpdated, SubscriptionsAcknowledged,
    ToolListChanged,
};
use mrtr_schema::params::{NotificationParams, Optional};
use mrtr_schema::resources::ResourceUpdatedParams;
use mrtr_schema::subscriptions::{
    ListenParams, ListenResult, ListenResultMeta, SubscriptionFilter, SubscriptionsAcknowledgedParams,
};
use mrtr_schema::{ErrorObject, HeapSize, RawMembers, RequestId, Revision, Wire};
use serde::de::{Deserialize, Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use crate::definition::extension_reply::ExtensionNotice;
use crate::definition::parts::{Parts, ResultWriter};
use crate::error::invalid_params;
use crate::protocol::gate;
use crate::protocol::reply::{Reply, ReplyStream};
use crate::round::request::Request;
use crate::support::changes::Change;
use crate::support::contained::ContainedStream;

/// Begins a subscription.
pub(crate) async fn listen(parts: &Parts, id: &RequestId, request: &Request<'_>) -> Result<Reply, ErrorObject> {
    let revision = request.context.revision;
    check_names(request)?;
    let params: ListenParams = request.params.clone().read(revision.strict()).map_err(invalid_params)?;
    let wanted = unique(params.notifications);
    let changes = parts.shared.changes.subscribe();
    let mut honoured = parts.honoured(&wanted);
    for uri in honoured.resource_subscriptions.iter().flatten() {
        gate::check_resource(parts, request, uri).await?;
    }
    let mut notices = stream::pending().boxed();
    for extension in &parts.extensions {
        let told = extension.listen(&wanted, &request.for_extension()).map_err(ProtocolError::into_object)?;
        if let Some(told) = told {
            honoured.task_ids = honoured.task_ids.take().or(told.acknowledged.task_ids);
            notices = stream::select(notices, ContainedStream::new(extension.name(), told.notices)).boxed();
        }
    }
    let subscription = Subscription {
        id: id.clone(),
        revision,
        told: Told::of(&honoured),
        result: parts.results.listen_result(id, revision)?,
        changes,
        notices,
    };
    let mut acknowledged = SubscriptionsAcknowledgedParams::new(honoured);
    acknowledged.meta = Some(subscription.meta());
    let acknowledged = subscription.write(&Notification::<SubscriptionsAcknowledged>::new(acknowledged))?;
    let kept = subscription.told.resources.heap_bytes() + subscription.result.heap_bytes() + PER_SUBSCRIPTION;
    let first = stream::once(async { acknowledged });
    let rest = stream::unfold(Some(subscription), |subscription| async {
        let mut subscription = subscription?;
        match subscription.next().await {
            Some(text) => Some((text, Some(subscription))),
            None => Some((subscription.result.clone(), None)),
        }
    });
    Ok(Reply::Subscription(ReplyStream::new(first.chain(rest)).keeping(kept)))
}

/// Makes sure that a filter names no more resources and tasks than a subscription may: before any of the names is kept.
fn check_names(request: &Request<'_>) -> Result<(), ErrorObject> {
    let Some(filter) = request.params.get("notifications") else { return Ok(()) };
    let Ok(filter) = RawMembers::of(filter) else { return Ok(()) };
    let named: usize =
        ["resourceSubscriptions", "taskIds"].iter().filter_map(|member| filter.get(member)).map(count).sum();
    if named <= MOST_NAMES {
        return Ok(());
    }
    let text = format!("`notifications` names {named} resources and tasks; a subscription may name {MOST_NAMES}");
    Err(ProtocolError::invalid_params(text).into_object())
}

/// Counts the elements of an array; none if it is no array, which is told where it is read.
fn count(array: &RawValue) -> usize {
    serde_json::from_str(array.get()).map_or(0, |Count(elements)| elements)
}

/// The number of elements of an array, read without keeping any.
struct Count(usize);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Counting;

        impl<'de> Visitor<'de> for Counting {
            type Value = Count;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<Count, A::Error> {
                let mut count = 0;
                while array.next_element::<IgnoredAny>()?.is_some() {
                    count += 1;
                }
                Ok(Count(count))
            }
        }

        deserializer.deserialize_seq(Counting)
    }
}

/// A filter that names each resource and each task once, in the order in which they came.
fn unique(mut filter: SubscriptionFilter) -> SubscriptionFilter {
    for names in [&mut filter.resource_subscriptions, &mut filter.task_ids].into_iter().flatten() {
        let mut seen = HashSet::new();
        let is_first: Vec<_> = names.iter().map(|name| seen.insert(name.as_str())).collect();
        let mut is_first = is_first.into_iter();
        names.retain(|_| is_first.next().unwrap_or(true));
    }
    filter
}

/// The things that a subscriber is told of, in the form that is kept.
struct Told {
    tools: bool,
    prompts: bool,
    resource_list: bool,
    resources: Uris,
}

impl Told {
    fn of(honoured: &SubscriptionFilter) -> Self {
        let SubscriptionFilter { tools_list_changed, prompts_list_changed, resources_list_changed, .. } = honoured;
        Self {
            tools: *tools_list_changed == Some(true),
            prompts: *prompts_list_changed == Some(true),
            resource_list: *resources_list_changed == Some(true),
            resources: honoured.resource_subscriptions.as_deref().map(Uris::new).unwrap_or_default(),
        }
    }
}

/// A subscriber, and what it is to hear.
struct Subscription {
    id: RequestId,
    revision: Revision,
    told: Told,
    /// The last message.
    result: String,
    changes: Receiver<Change>,
    notices: BoxStream<'static, Result<ExtensionNotice, ErrorObject>>,
}

impl Subscription {
    /// The next notification; `None` when the subscription ends.
    async fn next(&mut self) -> Option<String> {
        loop {
            let told = tokio::select! {
                changed = self.changes.recv() => match changed {
                    // A client that missed some had better subscribe anew than believe that it is up to date.
                    Ok(Change::End) | Err(RecvError::Closed | RecvError::Lagged(_)) => return None,
                    Ok(change) => self.tell(&change),
                },
                Some(notice) = self.notices.next() => match notice {
                    Ok(notice) => self.forward(&notice),
                    // The client would believe that it is up to date.
                    Err(error) => {
                        self.fail(error);
                        return None;
                    }
                },
            };
            if let Some(text) = told {
                return Some(text);
            }
        }
    }

    /// Ends with an error rather than with a result.
    fn fail(&mut self, error: ErrorObject) {
        if let Reply::Message { body, .. } = Reply::error(Some(self.id.clone()), error.into(), self.revision) {
            self.result = body;
        }
    }

    /// The notification of a change, if it was asked for.
    fn tell(&self, change: &Change) -> Option<String> {
        match change {
            Change::Tools if self.told.tools => self.list_changed::<ToolListChanged>(),
            Change::Prompts if self.told.prompts => self.list_changed::<PromptListChanged>(),
            Change::Resources if self.told.resource_list => self.list_changed::<ResourceListChanged>(),
            Change::Resource(uri) if self.told.resources.contains(uri) => {
                let mut params = ResourceUpdatedParams::new(&**uri);
                params.meta = Some(self.meta());
                self.write(&Notification::<ResourceUpdated>::new(params)).ok()
            }
            _ => None,
        }
    }

    fn list_changed<N>(&self) -> Option<String>
    where
        N: NotificationMethod<Params = Optional<NotificationParams>>,
    {
        let mut params = NotificationParams::new();
        params.meta = Some(self.meta());
        self.write(&Notification::<N>::new(params)).ok()
    }

    fn forward(&self, notice: &ExtensionNotice) -> Option<String> {
        let mut params: serde_json::Map<String, serde_json::Value> = notice.params.to().ok()?;
        let id = serde_json::to_value(&self.id).ok()?;
        let meta = serde_json::json!({ "io.modelcontextprotocol/subscriptionId": id });
        params.insert("_meta".to_owned(), meta);
        let message = serde_json::json!({ "jsonrpc": "2.0", "method": notice.method, "params": params });
        Some(message.to_string())
    }

    fn meta(&self) -> NotificationMeta {
        let mut meta = NotificationMeta::new();
        meta.subscription_id = Some(self.id.clone());
        meta
    }

    fn write<N: NotificationMethod>(&self, notification: &Notification<N>) -> Result<String, ErrorObject> {
        notification.to_json(self.revision).map_err(|error| {
            tracing::error!(%error, "a notification cannot be written in this revision");
            internal_error()
        })
    }
}

impl Parts {
    /// The part of a filter that the server can tell of.
    fn honoured(&self, wanted: &SubscriptionFilter) -> SubscriptionFilter {
        let offered = |wanted: Option<bool>, offers: bool| wanted.filter(|wanted| *wanted && offers);
        let has_resources = self.has_resources();
        let mut honoured = SubscriptionFilter::new();
        honoured.tools_list_changed = offered(wanted.tools_list_changed, !self.tools.is_empty());
        honoured.prompts_list_changed = offered(wanted.prompts_list_changed, !self.prompts.is_empty());
        honoured.resources_list_changed = offered(wanted.resources_list_changed, has_resources);
        honoured.resource_subscriptions = wanted.resource_subscriptions.clone().filter(|_| has_resources);
        honoured
    }
}

impl ResultWriter {
    /// The last message of a subscription.
    fn listen_result(&self, id: &RequestId, revision: Revision) -> Result<String, ErrorObject> {
        let mut meta = ListenResultMeta::new(id.clone());
        meta.server_info = Some(self.info.clone());
        let result = ListenResult::new(meta).to_json(revision).map_err(|_| internal_error())?;
        match Reply::result(id, result) {
            Reply::Message { body, .. } => Ok(body),
            _ => Err(internal_error()),
        }
    }
}

const MOST_NAMES: usize = SubscriptionFilter::MOST_NAMES;
/// The bytes that a subscription takes besides the names of what it watches: about as many as were measured.
const PER_SUBSCRIPTION: usize = 1024;

/// A set of URIs. A list of texts would take sixty bytes for each, which for short ones is most of it.
#[derive(Debug, Default)]
pub(super) struct Uris {
    /// All of them, one after the other, in order.
    text: Box<str>,
    /// The place at which each ends.
    ends: Box<[u32]>,
}

impl Uris {
    /// Makes a set of these URIs. It leaves out those past 4 GiB of text, which no message holds.
    pub(super) fn new(uris: &[String]) -> Self {
        let mut sorted: Vec<&str> = uris.iter().map(String::as_str).collect();
        sorted.sort_unstable();
        sorted.dedup();
        let mut end = 0_usize;
        let ends = sorted.iter().map_while(|uri| {
            end += uri.len();
            u32::try_from(end).ok()
        });
        let ends: Box<[u32]> = ends.collect();
        Self { text: sorted[..ends.len()].concat().into(), ends }
    }

    pub(super) fn contains(&self, uri: &str) -> bool {
        let (mut low, mut high) = (0, self.ends.len());
        while low < high {
            let middle = low.midpoint(high);
            match self.at(middle).cmp(uri) {
                std::cmp::Ordering::Equal => return true,
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        false
    }

    fn at(&self, place: usize) -> &str {
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        &self.text[start..self.ends[place] as usize]
    }
}

impl HeapSize for Uris {
    fn heap_bytes(&self) -> usize {
        self.text.heap_bytes() + size_of_val(&*self.ends)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_what_was_put_in_and_nothing_else() {
        let uris = ["b", "a", "", "abc", "a"].map(str::to_owned);
        let set = Uris::new(&uris);
        assert!(uris.iter().all(|uri| set.contains(uri)));
        assert!(["ab", "c", "ba", "aabcb"].iter().all(|uri| !set.contains(uri)));
        assert!(!Uris::default().contains(""));
        assert_eq!(&*set.text, "aabcb", "each is there once");
    }
}
