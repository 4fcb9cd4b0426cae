//! Every message that a server sends in these tests, held against the strict types and the generated schema.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use jsonschema::Validator;
use mrtr_schema::registry::{TypeVisitor, visit_types};
use mrtr_schema::{Feature, Revision, Wire, json_schema};
use serde_json::{Value, json};

/// Makes sure that a message is one that the revision allows in answer to a request of this method.
pub(crate) fn check(revision: Revision, method: &str, message: &Value) {
    let name = type_of(revision, method, message);
    let mut reader = Reader { revision, name, text: message.to_string(), read: None };
    visit_types(revision, &mut reader);
    match reader.read {
        Some(Ok(())) => {}
        Some(Err(error)) => panic!("not a {name} of {revision}: {error}\n{message}"),
        None => panic!("{revision} has no {name}"),
    }
    let errors: Vec<_> = validator(revision, name).iter_errors(message).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "not a {name} by the schema of {revision}: {errors:?}\n{message}");
    check_signature(revision, message);
    check_interim(message);
}

/// The definition that a message must follow.
fn type_of(revision: Revision, method: &str, message: &Value) -> &'static str {
    if let Some(notification) = message["method"].as_str() {
        return find(&NOTIFICATIONS, notification);
    }
    match message["error"]["code"].as_i64() {
        Some(-32020) => "HeaderMismatchError",
        Some(-32021) => "MissingRequiredClientCapabilityError",
        Some(-32022) => "UnsupportedProtocolVersionError",
        Some(_) => "JSONRPCErrorResponse",
        None if revision.has(Feature::InterimByFields) && is_interim(message) => "JSONRPCIncompleteResultResponse",
        None => find(&RESPONSES, method),
    }
}

fn find(table: &[(&str, &'static str)], method: &str) -> &'static str {
    let found = table.iter().find(|(known, _)| *known == method);
    found.unwrap_or_else(|| panic!("no type is known for `{method}`")).1
}

const RESPONSES: [(&str, &str); 12] = [
    ("tools/call", "CallToolResultResponse"),
    ("tools/list", "ListToolsResultResponse"),
    ("prompts/get", "GetPromptResultResponse"),
    ("prompts/list", "ListPromptsResultResponse"),
    ("resources/read", "ReadResourceResultResponse"),
    ("resources/list", "ListResourcesResultResponse"),
    ("resources/templates/list", "ListResourceTemplatesResultResponse"),
    ("completion/complete", "CompleteResultResponse"),
    ("server/discover", "DiscoverResultResponse"),
    ("subscriptions/listen", "SubscriptionsListenResultResponse"),
    ("initialize", "InitializeResultResponse"),
    ("ping", "PingResultResponse"),
];

const NOTIFICATIONS: [(&str, &str); 7] = [
    ("notifications/progress", "ProgressNotification"),
    ("notifications/message", "LoggingMessageNotification"),
    ("notifications/tools/list_changed", "ToolListChangedNotification"),
    ("notifications/prompts/list_changed", "PromptListChangedNotification"),
    ("notifications/resources/list_changed", "ResourceListChangedNotification"),
    ("notifications/resources/updated", "ResourceUpdatedNotification"),
    ("notifications/subscriptions/acknowledged", "SubscriptionsAcknowledgedNotification"),
];

/// HT-7: every result names its server, and errors do not; older revisions have no such member.
fn check_signature(revision: Revision, message: &Value) {
    let signature = message.pointer("/result/_meta/io.modelcontextprotocol~1serverInfo");
    let is_signed = message.get("result").is_some() && revision.has(Feature::RequestMetadata);
    assert_eq!(signature.is_some(), is_signed, "{message}");
}

/// HT-6: an interim result has no caching hints.
fn check_interim(message: &Value) {
    if is_interim(message) {
        assert_eq!((message["result"].get("ttlMs"), message["result"].get("cacheScope")), (None, None), "{message}");
    }
}

fn is_interim(message: &Value) -> bool {
    ["inputRequests", "requestState"].iter().any(|member| message["result"].get(member).is_some())
}

/// Reads a message as the type of one name, strictly.
struct Reader {
    revision: Revision,
    name: &'static str,
    text: String,
    read: Option<Result<(), String>>,
}

impl TypeVisitor for Reader {
    fn visit<T: Wire>(&mut self, name: &'static str) {
        if name == self.name {
            let read = T::from_json(&self.text, self.revision.strict());
            self.read = Some(read.map(drop).map_err(|error| error.to_string()));
        }
    }
}

/// The validators that were needed so far.
#[derive(Default)]
struct Validators(HashMap<(Revision, &'static str), Arc<Validator>>);

fn validator(revision: Revision, name: &'static str) -> Arc<Validator> {
    static ALL: OnceLock<Mutex<Validators>> = OnceLock::new();
    let mut all = ALL.get_or_init(Mutex::default).lock().unwrap();
    let made = all.0.entry((revision, name)).or_insert_with(|| {
        let mut schema = json_schema::document(revision.strict());
        schema["$ref"] = json!(format!("#/$defs/{name}"));
        Arc::new(jsonschema::validator_for(&schema).unwrap())
    });
    Arc::clone(made)
}
