//! The extension that adds tasks to a server: what it declares, its methods, and the calls that it takes over.

use std::error::Error;

use async_trait::async_trait;
use mrtr_schema::subscriptions::SubscriptionFilter;
use mrtr_schema::tasks::extension;
use mrtr_schema::{Feature, Json, JsonObject, Revision, ServerCapabilities};
use mrtr_server::extend::{Extension, ExtensionNotices, ExtensionReply, ExtensionRequest, Host, OfferedCall};
use mrtr_server::{ProtocolError, TaskPolicy};

use crate::create::{can_have_task, core_capability};
use crate::tasks::Tasks;

#[async_trait]
impl Extension for Tasks {
    fn name(&self) -> &'static str {
        extension::NAME
    }

    fn capability(&self, revision: Revision) -> Option<JsonObject> {
        revision.has(Feature::TasksExtension).then(JsonObject::default)
    }

    fn declare(&self, revision: Revision, capabilities: &mut ServerCapabilities) {
        if let Some(capability) = self.capability(revision) {
            capabilities.extensions.get_or_insert_default().insert(self.name().to_owned(), capability);
        }
        if revision.has(Feature::CoreTasks) {
            capabilities.tasks = Some(core_capability());
        }
    }

    fn attached(&self, host: Host) -> Result<(), Box<dyn Error + Send + Sync>> {
        self.attach(host)?;
        self.start();
        Ok(())
    }

    fn shutdown_begins(&self) {
        self.stop_claiming();
    }

    async fn shut_down(&self) {
        // The method of `Tasks` itself.
        Self::shut_down(self).await;
    }

    fn owns(&self, method: &str, revision: Revision) -> bool {
        let is_core = revision.has(Feature::CoreTasks);
        (is_core || revision.has(Feature::TasksExtension)) && Self::owns_method(method, is_core)
    }

    fn asks_policy(&self, _: &str) -> bool {
        true
    }

    async fn handle(&self, request: &ExtensionRequest<'_>) -> Result<ExtensionReply, ProtocolError> {
        self.answer_method(request).await
    }

    fn listen(
        &self,
        wanted: &SubscriptionFilter,
        request: &ExtensionRequest<'_>,
    ) -> Result<Option<ExtensionNotices>, ProtocolError> {
        self.notices(wanted, request)
    }

    fn runs_tasks(&self) -> bool {
        true
    }

    fn wants(&self, call: &OfferedCall<'_>) -> bool {
        !matches!(Self::begins_as_task(call), Ok(false)) || Self::flow_beside_task(call).is_some()
    }

    async fn take_over(&self, call: &OfferedCall<'_>) -> Result<Option<Json>, ProtocolError> {
        if Self::begins_as_task(call)? {
            return self.create(call).await.map(Some);
        }
        if let Some(flow) = Self::flow_beside_task(call) {
            self.refuse_beside_task(call, flow).await?;
        }
        Ok(None)
    }

    fn may_become_task(&self, call: &OfferedCall<'_>) -> bool {
        call.tasks() != TaskPolicy::Never && can_have_task(call)
    }

    async fn continue_as_task(&self, call: &OfferedCall<'_>) -> Result<Option<Json>, ProtocolError> {
        // No instance would run the task of a tool that never becomes one, and no other client could follow it.
        if !self.may_become_task(call) {
            return Ok(None);
        }
        self.create(call).await.map(Some)
    }
}
