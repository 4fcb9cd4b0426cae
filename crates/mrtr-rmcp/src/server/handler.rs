//! The methods of an rmcp handler, each answered by the flows or by the handler beside them.

use std::borrow::Cow;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CancelledNotificationParam, CompleteRequestParams,
    CompleteResult, CustomNotification, CustomRequest, CustomResult, DiscoverResult, ErrorCode, GetPromptRequestParams,
    GetPromptResponse, GetTaskParams, GetTaskResult, InitializeRequestParams, InitializeResult, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ProgressNotificationParam, ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, Reference,
    ServerConfig, SubscriptionFilter, Tool, UpdateTaskParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, json};

use super::Flows;
use super::lists::{Page, Place, union};
use super::message::{self, Response, read_asking};
use super::modern::{self, Told};

impl<H: ServerHandler> Flows<H> {
    /// Has our server answer a request, in the era that rmcp has settled with the client.
    async fn answer(
        &self,
        method: &str,
        params: &impl Serialize,
        context: &RequestContext<RoleServer>,
    ) -> Result<String, ErrorData> {
        let (params, identity) = (message::written(params)?, self.sender(context));
        // On the heap: rmcp has the futures of all methods in one, which would be as large as the largest of these.
        let answered = if modern::is_modern(context) {
            Box::pin(modern::call(&self.server, method, params, context, &identity)).await
        } else {
            Box::pin(self.sessions.call(method, &params, context, &identity)).await
        };
        // A client that was told the other handler's name is to meet no second server in the results.
        match &self.other {
            Some(other) => message::signed(answered?, || other.get_info().server_info),
            None => answered,
        }
    }

    async fn result<T: DeserializeOwned>(
        &self,
        method: &str,
        params: &impl Serialize,
        context: &RequestContext<RoleServer>,
    ) -> Result<T, ErrorData> {
        message::read(&self.answer(method, params, context).await?)
    }

    async fn response<T: Response>(
        &self,
        method: &str,
        params: &impl Serialize,
        context: &RequestContext<RoleServer>,
    ) -> Result<T, ErrorData> {
        T::read(&self.answer(method, params, context).await?)
    }

    /// Returns the other handler if our server does not know what a request asks for.
    fn other_for<T>(&self, answered: &Result<T, ErrorData>) -> Option<&H> {
        self.other.as_ref().filter(|_| is_unknown(answered))
    }

    /// Returns the other handler if a request is not for a flow.
    fn other_unless(&self, is_ours: bool, context: &RequestContext<RoleServer>) -> Option<&H> {
        let other = self.other.as_ref().filter(|_| !is_ours)?;
        // For the log: the other handler finds out by itself who calls.
        self.sender(context);
        Some(other)
    }

    /// Returns a page of a list that both have a part in.
    async fn page<'a, P: Page, F>(
        &'a self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
        theirs: impl FnOnce(&'a H, Option<PaginatedRequestParams>, RequestContext<RoleServer>) -> F,
        is_flow: impl Fn(&P::Item) -> bool,
    ) -> Result<P, ErrorData>
    where
        F: Future<Output = Result<P, ErrorData>>,
    {
        let Some(other) = &self.other else {
            return self.result(P::METHOD, &request.unwrap_or_default(), &context).await;
        };
        let cursor = |cursor| PaginatedRequestParams::default().with_cursor(cursor);
        match Place::of(request) {
            Place::Ours(place) => {
                let ours: P = self.result(P::METHOD, &cursor(place), &context).await?;
                let (ours, goes_on) = ours.ours();
                if goes_on {
                    return Ok(ours);
                }
                Ok(ours.and(theirs(other, None, context).await?.theirs(is_flow)))
            }
            Place::Theirs(place) => Ok(theirs(other, Some(cursor(place)), context).await?.theirs(is_flow)),
        }
    }
}

impl<H: ServerHandler> ServerHandler for Flows<H> {
    fn get_info(&self) -> ServerConfig {
        self.config()
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        match &self.other {
            Some(other) => other.supported_protocol_versions(),
            None => Cow::Borrowed(ProtocolVersion::KNOWN_VERSIONS),
        }
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        self.notices.serving(&self.server, &self.identify);
        let Some(other) = &self.other else {
            context.peer.set_peer_info(request.clone());
            let mut result = self.negotiate_initialize(&request)?;
            result.capabilities = self.declared.legacy.clone();
            return Ok(result);
        };
        let mut result = other.initialize(request, context).await?;
        result.capabilities = union(&self.declared.legacy, result.capabilities);
        Ok(result)
    }

    async fn discover(&self, context: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        self.notices.serving(&self.server, &self.identify);
        let Some(other) = &self.other else {
            return Ok(DiscoverResult::from_server_info(
                self.supported_protocol_versions().into_owned(),
                self.config(),
            ));
        };
        let mut result = other.discover(context).await?;
        result.capabilities = union(&self.declared.modern, result.capabilities);
        Ok(result)
    }

    async fn ping(&self, context: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        match &self.other {
            Some(other) => other.ping(context).await,
            None => Ok(()),
        }
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if let Some(other) = self.other_unless(self.server.offers().has_tool(&request.name), &context) {
            if other.get_info().capabilities.tools.is_some() {
                return other.call_tool(request, context).await;
            }
            let theirs = other.call_tool(request.clone(), context.clone()).await;
            if !has_no_method(&theirs) {
                return theirs;
            }
        }
        self.response("tools/call", &request, &context).await
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        if let Some(other) = self.other_unless(self.server.offers().has_prompt(&request.name), &context) {
            if other.get_info().capabilities.prompts.is_some() {
                return other.get_prompt(request, context).await;
            }
            let theirs = other.get_prompt(request.clone(), context.clone()).await;
            if !has_no_method(&theirs) {
                return theirs;
            }
        }
        self.response("prompts/get", &request, &context).await
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        if let Some(other) = self.other_unless(self.server.offers().reads(&request.uri), &context) {
            if other.get_info().capabilities.resources.is_some() {
                return other.read_resource(request, context).await;
            }
            let theirs = other.read_resource(request.clone(), context.clone()).await;
            if !has_no_method(&theirs) {
                return theirs;
            }
        }
        self.response("resources/read", &request, &context).await
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let offers = self.server.offers();
        let is_ours = match &request.r#ref {
            Reference::Prompt(prompt) => offers.has_prompt(&prompt.name),
            Reference::Resource(resource) => offers.has_template(&resource.uri),
            _ => false,
        };
        match &self.other {
            Some(other) if !is_ours => other.complete(request, context).await,
            _ => self.result("completion/complete", &request, &context).await,
        }
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let theirs = || self.other.as_ref().and_then(|other| other.get_tool(name));
        self.declared.tools.get(name).cloned().or_else(theirs)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let is_flow = |tool: &Tool| self.server.offers().has_tool(&tool.name);
        self.page(request, context, H::list_tools, is_flow).await
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        self.page(request, context, H::list_prompts, |prompt| self.server.offers().has_prompt(&prompt.name)).await
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.page(request, context, H::list_resources, |resource| self.server.offers().reads(&resource.uri)).await
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let offers = self.server.offers();
        let is_flow = |one: &rmcp::model::ResourceTemplate| offers.has_template(&one.uri_template);
        self.page(request, context, H::list_resource_templates, is_flow).await
    }

    #[expect(deprecated, reason = "clients that initialize set their log level so")]
    async fn set_level(
        &self,
        request: rmcp::model::SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let ours = self.result::<IgnoredAny>("logging/setLevel", &request, &context).await;
        // The level is meant for both, and either may have nothing to log.
        let theirs = match &self.other {
            Some(other) => other.set_level(request, context).await,
            None => return ours.map(drop),
        };
        theirs.or(ours.map(drop))
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let mut accepted = requested.supported_by(&self.declared.modern);
        if let Some(uris) = &mut accepted.resource_subscriptions {
            uris.retain(|uri| self.server.offers().reads(uri));
        }
        let theirs = self.other.as_ref().and_then(|other| other.accepted_subscription_filter(requested));
        Some(theirs.into_iter().fold(accepted, both))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let (request, sink) = (context.request_context(), context.sink().clone());
        let identity = self.sender(request);
        let subscription = modern::subscription(context.accepted(), request)?;
        let telling = modern::listen(&self.server, subscription, &sink, &identity);
        let Some(other) = &self.other else {
            tokio::select! {
                () = context.cancelled() => {}
                _ = telling => {}
            }
            return Ok(());
        };
        let telling = async {
            // The other handler's part goes on, unless our server ends all subscriptions, as it does when it shuts down.
            if telling.await == Told::Refused {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            ended = other.listen(context) => ended,
            () = telling => Ok(()),
        }
    }

    #[expect(deprecated, reason = "clients that initialize subscribe so")]
    async fn subscribe(
        &self,
        request: rmcp::model::SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        match &self.other {
            Some(other) if !self.server.offers().reads(&request.uri) => other.subscribe(request, context).await,
            _ => self.result::<IgnoredAny>("resources/subscribe", &request, &context).await.map(drop),
        }
    }

    #[expect(deprecated, reason = "clients that initialize end a subscription so")]
    async fn unsubscribe(
        &self,
        request: rmcp::model::UnsubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        match &self.other {
            Some(other) if !self.server.offers().reads(&request.uri) => other.unsubscribe(request, context).await,
            _ => self.result::<IgnoredAny>("resources/unsubscribe", &request, &context).await.map(drop),
        }
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let answered = self.answer("tasks/get", &request, &context).await.and_then(|text| read_asking(&text));
        match self.other_for(&answered) {
            Some(other) => more_telling(answered, other.get_task(request, context).await),
            None => answered,
        }
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let answered = self.result::<IgnoredAny>("tasks/update", &request, &context).await.map(drop);
        match self.other_for(&answered) {
            Some(other) => more_telling(answered, other.update_task(request, context).await),
            None => answered,
        }
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let answered = self.result::<IgnoredAny>("tasks/cancel", &request, &context).await.map(drop);
        match self.other_for(&answered) {
            Some(other) => more_telling(answered, other.cancel_task(request, context).await),
            None => answered,
        }
    }

    /// Answers methods of extensions, and requests that rmcp could not read: our server says what is wrong with those.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        // This would begin a session that has no client.
        if request.method == "initialize" {
            return Err(ErrorData::invalid_params("`initialize` cannot be read", None));
        }
        let params = request.params.clone().filter(Value::is_object).unwrap_or_else(|| json!({}));
        let answered = self.result(&request.method, &params, &context).await.map(CustomResult::new);
        // Only a task may be the other's under a method that ours knows.
        let is_refused = answered.as_ref().is_err_and(|error| error.code == ErrorCode::INVALID_PARAMS);
        match self.other_for(&answered) {
            Some(other) if !is_refused || request.method.starts_with("tasks/") => {
                more_telling(answered, other.on_custom_request(request, context).await)
            }
            _ => answered,
        }
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let theirs = async {
            if let Some(other) = &self.other {
                other.on_initialized(context.clone()).await;
            }
        };
        tokio::join!(theirs, self.sessions.tell_changes(&context.peer));
    }

    async fn on_cancelled(&self, notification: CancelledNotificationParam, context: NotificationContext<RoleServer>) {
        if let Some(other) = &self.other {
            other.on_cancelled(notification, context).await;
        }
    }

    async fn on_progress(&self, notification: ProgressNotificationParam, context: NotificationContext<RoleServer>) {
        if let Some(other) = &self.other {
            other.on_progress(notification, context).await;
        }
    }

    async fn on_roots_list_changed(&self, context: NotificationContext<RoleServer>) {
        if let Some(other) = &self.other {
            other.on_roots_list_changed(context).await;
        }
    }

    async fn on_custom_notification(&self, notification: CustomNotification, context: NotificationContext<RoleServer>) {
        if let Some(other) = &self.other {
            other.on_custom_notification(notification, context).await;
        }
    }
}

/// Returns true if a handler may not know what a request asks for. Both a task that it does not have and an answer that
/// does not fit are invalid parameters.
fn is_unknown<T>(answered: &Result<T, ErrorData>) -> bool {
    let unknown = [ErrorCode::METHOD_NOT_FOUND, ErrorCode::INVALID_PARAMS];
    answered.as_ref().is_err_and(|error| unknown.contains(&error.code))
}

/// Returns true if a handler does not have the method at all.
fn has_no_method<T>(answered: &Result<T, ErrorData>) -> bool {
    answered.as_ref().is_err_and(|error| error.code == ErrorCode::METHOD_NOT_FOUND)
}

/// Chooses between our server's refusal and what the other handler answered after it. If the other knows nothing of it
/// either, our server's reason stays: the request may well have been for a task of ours.
fn more_telling<T>(ours: Result<T, ErrorData>, theirs: Result<T, ErrorData>) -> Result<T, ErrorData> {
    let has_reason = ours.as_ref().is_err_and(|error| error.code == ErrorCode::INVALID_PARAMS);
    if has_reason && is_unknown(&theirs) { ours } else { theirs }
}

/// Unites what our server and the other handler accept.
fn both(mut accepted: SubscriptionFilter, theirs: SubscriptionFilter) -> SubscriptionFilter {
    let either = |ours: Option<bool>, theirs: Option<bool>| ours.filter(|accepted| *accepted).or(theirs);
    accepted.tools_list_changed = either(accepted.tools_list_changed, theirs.tools_list_changed);
    accepted.prompts_list_changed = either(accepted.prompts_list_changed, theirs.prompts_list_changed);
    accepted.resources_list_changed = either(accepted.resources_list_changed, theirs.resources_list_changed);
    if let Some(uris) = theirs.resource_subscriptions {
        accepted.resource_subscriptions.get_or_insert_default().extend(uris);
    }
    accepted
}
