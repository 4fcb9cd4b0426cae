//! What rmcp's client does with what it is asked, whether a result or a request asks it.

#![expect(deprecated, reason = "rmcp discourages sampling and roots, which servers still ask for")]

use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams,
    ElicitResult, ElicitationAction, ElicitationCapability, FormElicitationCapability, Implementation, ListRootsResult,
    ProtocolVersion, Root, SamplingMessage, UrlElicitationCapability,
};
use rmcp::service::RequestContext;
use rmcp::{ClientHandler, ErrorData, RoleClient};
use serde_json::Value;

use crate::peers::interop::Era;
use crate::peers::interop::person::{Answer, COMPLETION, MODEL, Person, ROOT};
use crate::peers::interop::scenario::Scenario;

pub(super) struct Handler {
    pub(super) person: Person,
    config: ClientConfig,
}

impl Handler {
    pub(super) fn new(scenario: Scenario, era: Era) -> Self {
        let modes = ElicitationCapability::new()
            .with_form(FormElicitationCapability::new())
            .with_url(UrlElicitationCapability::new());
        let capabilities =
            ClientCapabilities::builder().enable_roots().enable_sampling().enable_elicitation_with(modes);
        let capabilities =
            if scenario == Scenario::Task { capabilities.enable_tasks().build() } else { capabilities.build() };
        let mut config = ClientConfig::new(capabilities, Implementation::new("interop", "1.0.0"));
        if era == Era::Legacy {
            config.protocol_version = ProtocolVersion::LATEST_WITH_INITIALIZE;
        }
        Self { person: Person::new(scenario), config }
    }

    /// The answer to a form or a URL, wherever it was found.
    pub(super) fn elicit(&self, request: &ElicitRequestParams) -> ElicitResult {
        match request {
            ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
                match self.person.fill(message, requested_schema.properties.keys()) {
                    Answer::Accept(content) => {
                        ElicitResult::new(ElicitationAction::Accept).with_content(Value::Object(content))
                    }
                    Answer::Decline => ElicitResult::new(ElicitationAction::Decline),
                    Answer::Cancel => ElicitResult::new(ElicitationAction::Cancel),
                }
            }
            ElicitRequestParams::UrlElicitationParams { url, .. } => {
                self.person.visit(url);
                ElicitResult::new(ElicitationAction::Accept)
            }
            _ => ElicitResult::new(ElicitationAction::Decline),
        }
    }
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        self.config.clone()
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Ok(self.elicit(&request))
    }

    async fn create_message(
        &self,
        request: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let text = request.messages.first().and_then(|message| message.content.first()?.as_text());
        self.person.prompt_model(text.map(|text| text.text.as_str()).unwrap_or_default());
        Ok(CreateMessageResult::new(SamplingMessage::assistant_text(COMPLETION), MODEL.to_owned())
            .with_stop_reason(CreateMessageResult::STOP_REASON_END_TURN))
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        self.person.show_roots();
        Ok(ListRootsResult::new(vec![Root::new(ROOT)]))
    }
}
