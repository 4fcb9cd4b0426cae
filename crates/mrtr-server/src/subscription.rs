//! `subscriptions/listen`: a stream of what was asked for, acknowledged first, with a result when the server ends it.

use std::fmt;

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use mrtr_schema::{
    ErrorObject, Json, ListenParams, ListenResult, ListenResultMeta, Notification, NotificationMeta,
    NotificationMethod, NotificationParams, Optional, PromptListChanged, RequestId, ResourceListChanged,
    ResourceUpdated, ResourceUpdatedParams, Revision, SubscriptionFilter, SubscriptionsAcknowledged,
    SubscriptionsAcknowledgedParams, ToolListChanged, Wire,
};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use crate::changes::Change;
use crate::dispatch::{Request, internal_error, invalid_params};
use crate::reply::ReplyStream;
use crate::{Reply, Server};

/// A notification of an extension's, for a subscriber.
///
/// ```
/// use mrtr_server::ExtensionNotice;
///
/// let params = serde_json::json!({ "kelvin": 290 }).into();
/// let notice = ExtensionNotice { method: "com.example/weather/changed", params };
/// ```
#[derive(Debug, Clone)]
#[expect(clippy::exhaustive_structs, reason = "a method and its parameters are all there is")]
pub struct ExtensionNotice {
    /// Its method.
    pub method: &'static str,
    /// Its parameters, without metadata.
    pub params: Json,
}

/// What an extension tells a subscriber.
///
/// ```
/// use futures_util::{StreamExt, stream};
/// use mrtr_schema::SubscriptionFilter;
/// use mrtr_server::{ExtensionNotice, ExtensionNotices};
///
/// let params = serde_json::json!({ "kelvin": 290 }).into();
/// let notice = ExtensionNotice { method: "com.example/weather/changed", params };
/// let notices = ExtensionNotices {
///     acknowledged: SubscriptionFilter::new(),
///     notices: stream::once(async { notice }).boxed(),
/// };
/// ```
#[expect(clippy::exhaustive_structs, reason = "an extension fills in both")]
pub struct ExtensionNotices {
    /// What it will tell, out of what was asked for.
    pub acknowledged: SubscriptionFilter,
    /// What it tells.
    pub notices: BoxStream<'static, ExtensionNotice>,
}

impl fmt::Debug for ExtensionNotices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExtensionNotices").field("acknowledged", &self.acknowledged).finish_non_exhaustive()
    }
}

/// Begins a subscription.
pub(crate) fn listen(
    server: &Server,
    id: &RequestId,
    request: &Request<'_>,
    capabilities: &mrtr_schema::ClientCapabilities,
) -> Result<Reply, ErrorObject> {
    let revision = request.context.revision;
    let params: ListenParams = request.params.clone().read(revision.strict()).map_err(invalid_params)?;
    let wanted = params.notifications;
    let changes = server.changes().subscribe();
    let mut honoured = server.honoured(&wanted);
    let mut notices = stream::pending().boxed();
    for extension in &server.0.extensions {
        if let Some(told) = extension.listen(&wanted, request.context, capabilities) {
            honoured.task_ids = honoured.task_ids.take().or(told.acknowledged.task_ids);
            notices = stream::select(notices, told.notices).boxed();
        }
    }
    let subscription = Subscription {
        id: id.clone(),
        revision,
        honoured: honoured.clone(),
        result: server.listen_result(id, revision)?,
        changes,
        notices,
    };
    let mut acknowledged = SubscriptionsAcknowledgedParams::new(honoured);
    acknowledged.meta = Some(subscription.meta());
    let acknowledged = subscription.write(&Notification::<SubscriptionsAcknowledged>::new(acknowledged))?;
    let first = stream::once(async { acknowledged });
    let rest = stream::unfold(Some(subscription), |subscription| async {
        let mut subscription = subscription?;
        match subscription.next().await {
            Some(text) => Some((text, Some(subscription))),
            None => Some((subscription.result.clone(), None)),
        }
    });
    Ok(Reply::Stream(ReplyStream::new(first.chain(rest))))
}

/// A subscriber, and what it is to hear.
struct Subscription {
    id: RequestId,
    revision: Revision,
    honoured: SubscriptionFilter,
    /// The last message.
    result: String,
    changes: Receiver<Change>,
    notices: BoxStream<'static, ExtensionNotice>,
}

impl Subscription {
    /// The next notification; `None` when the subscription ends.
    async fn next(&mut self) -> Option<String> {
        loop {
            let told = tokio::select! {
                changed = self.changes.recv() => match changed {
                    // If it missed some, better that it subscribes anew than that it believes to be up to date.
                    Ok(Change::End) | Err(RecvError::Closed | RecvError::Lagged(_)) => return None,
                    Ok(change) => self.tell(&change),
                },
                Some(notice) = self.notices.next() => self.forward(&notice),
            };
            if let Some(text) = told {
                return Some(text);
            }
        }
    }

    /// The notification of a change, if it was asked for.
    fn tell(&self, change: &Change) -> Option<String> {
        let SubscriptionFilter { tools_list_changed, prompts_list_changed, resources_list_changed, .. } =
            &self.honoured;
        match change {
            Change::Tools if *tools_list_changed == Some(true) => self.list_changed::<ToolListChanged>(),
            Change::Prompts if *prompts_list_changed == Some(true) => self.list_changed::<PromptListChanged>(),
            Change::Resources if *resources_list_changed == Some(true) => self.list_changed::<ResourceListChanged>(),
            Change::Resource(uri) if self.honoured.resource_subscriptions.as_ref()?.contains(uri) => {
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

impl Server {
    /// What of a filter the server can tell of.
    fn honoured(&self, wanted: &SubscriptionFilter) -> SubscriptionFilter {
        let inner = &self.0;
        let offered = |wanted: Option<bool>, offers: bool| wanted.filter(|wanted| *wanted && offers);
        let has_resources = inner.has_resources();
        let mut honoured = SubscriptionFilter::new();
        honoured.tools_list_changed = offered(wanted.tools_list_changed, !inner.tools.is_empty());
        honoured.prompts_list_changed = offered(wanted.prompts_list_changed, !inner.prompts.is_empty());
        honoured.resources_list_changed = offered(wanted.resources_list_changed, has_resources);
        honoured.resource_subscriptions = wanted.resource_subscriptions.clone().filter(|_| has_resources);
        honoured
    }

    /// The last message of a subscription.
    fn listen_result(&self, id: &RequestId, revision: Revision) -> Result<String, ErrorObject> {
        let mut meta = ListenResultMeta::new(id.clone());
        meta.server_info = Some(self.0.info.clone());
        let result = ListenResult::new(meta).to_json(revision).map_err(|_| internal_error())?;
        match Reply::result(id, result) {
            Reply::Message { body, .. } => Ok(body),
            _ => Err(internal_error()),
        }
    }
}
