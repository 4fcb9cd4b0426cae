//! Recognises a block by its members, and by the messages before it.

use mrtr_schema::jsonrpc::InterimResponse;
use mrtr_schema::registry::{MethodTypes, method_types};
use mrtr_schema::{Revision, Wire};
use serde_json::{Map, Value};

use super::conversation::{Asked, Conversation, Inputs, Side};
use crate::schema::Fault;

/// The types that a block was recognised as, and its other faults.
pub(crate) struct Recognised {
    /// The types that the block, or something in it, must have; the first gives the block its name.
    pub(crate) parts: Vec<Part>,
    /// The faults of the block beyond its types.
    pub(crate) faults: Vec<Fault>,
}

/// A value of a block that is of a type.
pub(crate) struct Part {
    pub(crate) type_name: &'static str,
    /// The path of the value in the block.
    pub(crate) path: String,
    pub(crate) value: Value,
}

/// Recognises the blocks of one document, in their order.
pub(crate) struct Recogniser {
    revision: Revision,
    methods: Vec<MethodTypes>,
    conversation: Conversation,
    inputs: Inputs,
}

impl Recogniser {
    pub(crate) fn new(revision: Revision) -> Self {
        let methods = method_types(revision);
        Self { revision, methods, conversation: Conversation::default(), inputs: Inputs::default() }
    }

    pub(crate) fn recognise(&mut self, block: &Value) -> Recognised {
        let mut recognised = self.message_or_map(block);
        let name = recognised.parts.first().map(|part| part.type_name);
        self.inputs(block, name, &mut recognised.parts);
        recognised
    }

    /// Recognises members without the braces around them.
    pub(crate) fn fragment(&mut self, block: &Value) -> Recognised {
        let mut recognised = Recognised { parts: Vec::new(), faults: Vec::new() };
        for (key, value) in block.as_object().into_iter().flatten() {
            recognised = match key.as_str() {
                "inputRequests" => recognised.and("InputRequests", "$.inputRequests", value),
                "inputResponses" => recognised.and("InputResponses", "$.inputResponses", value),
                _ => recognised.with(&format!("$.{key}"), UNRECOGNISED_MEMBER),
            };
        }
        self.inputs(block, None, &mut recognised.parts);
        recognised
    }

    /// Notes what a block asks for, and adds what it answers.
    fn inputs(&mut self, block: &Value, name: Option<&str>, parts: &mut Vec<Part>) {
        let of_map = |map, pointer| if name == Some(map) { "" } else { pointer };
        for pointer in [of_map("InputRequests", "/inputRequests"), "/result/inputRequests"] {
            block.pointer(pointer).into_iter().for_each(|requests| self.inputs.ask(requests));
        }
        for pointer in [of_map("InputResponses", "/inputResponses"), "/params/inputResponses"] {
            let answers = block.pointer(pointer).map(|responses| self.inputs.answers(responses, pointer));
            parts.extend(answers.into_iter().flatten());
        }
    }

    fn message_or_map(&mut self, block: &Value) -> Recognised {
        let Value::Object(members) = block else {
            return unrecognised("not an object, so not a message or a map of inputs");
        };
        let has = |key: &str| members.contains_key(key);
        if has("method") && !has("jsonrpc") && !has("id") && is_input(members) {
            Recognised::of("InputRequest", block)
        } else if has("result") {
            self.response(members, block)
        } else if has("error") {
            self.error(members, block)
        } else if has("jsonrpc") || has("method") {
            self.request(members, block)
        } else if has("inputRequests") {
            Recognised::of(self.revision.type_name("InputRequiredResult"), block)
        } else if members.values().any(|value| value.get("method").is_some()) {
            Recognised::of("InputRequests", block)
        } else if members.values().any(is_answer) {
            Recognised::of("InputResponses", block)
        } else {
            unrecognised("neither a message nor a map of inputs")
        }
    }

    fn request(&mut self, members: &Map<String, Value>, block: &Value) -> Recognised {
        let method = members.get("method").and_then(Value::as_str).unwrap_or_default();
        let side = if is_input(members) { Side::Server } else { Side::Client };
        let types = self.types(method);
        let recognised = match types {
            Some(types) => Recognised::of(types.request, block),
            None if side == Side::Server => server_request(members, block),
            None if !members.contains_key("method") => Recognised::of("JSONRPCRequest", block),
            None => {
                let reason = format!("`{method}` is not a method of {}", self.revision);
                Recognised::of("JSONRPCRequest", block).with("$.method", &reason)
            }
        };
        let is_notification = types.is_some_and(|types| types.response.is_none());
        if !is_notification {
            let id = members.get("id").cloned().unwrap_or_default();
            let as_task = block.pointer("/params/task").is_some();
            self.conversation.ask(Asked { side, id, method: method.to_owned(), as_task });
        }
        recognised
    }

    fn response(&mut self, members: &Map<String, Value>, block: &Value) -> Recognised {
        let result = &members["result"];
        match self.conversation.answer(members.get("id").unwrap_or(&Value::Null)) {
            Some(asked) => self.response_to(&asked, result, block).with_id_of(&asked, members),
            None => self.response_to_nothing(result, block),
        }
    }

    fn response_to(&self, asked: &Asked, result: &Value, block: &Value) -> Recognised {
        let any = Recognised::of("JSONRPCResultResponse", block);
        let Some(response) = self.response_type(&asked.method) else {
            return match asked.side {
                Side::Server => any.and("InputResponse", "$.result", result).with("$.result", CLIENT_RESPONSE),
                Side::Client => any.with("$.result", UNKNOWN_METHOD),
            };
        };
        if is_interim(result) {
            let own_type = self.interim_response().filter(|_| self.revision.may_ask_on(&asked.method));
            Recognised::of(own_type.unwrap_or(response), block)
        } else if result["resultType"] == "task" {
            any.and("CreateTaskResult", "$.result", result)
        } else if asked.as_task {
            Recognised::of("CreateTaskResultResponse", block)
        } else if let Some(type_name) = self.task_result_type(asked) {
            Recognised::of(response, block).and(type_name, "$", block)
        } else {
            Recognised::of(response, block)
        }
    }

    /// Returns the response type of the request that became the task: `tasks/result` answers with the same type.
    fn task_result_type(&self, asked: &Asked) -> Option<&'static str> {
        let method = self.conversation.task_method().filter(|_| asked.method == "tasks/result")?;
        self.response_type(method)
    }

    /// Recognises a response to no request. A document shows an interim result by itself to explain it; of any other,
    /// the type cannot be told.
    fn response_to_nothing(&self, result: &Value, block: &Value) -> Recognised {
        match (is_interim(result), self.interim_response()) {
            (true, Some(type_name)) => Recognised::of(type_name, block),
            (true, None) => {
                Recognised::of("InputRequiredResult", result).at("$.result").and("JSONRPCResultResponse", "$", block)
            }
            (false, _) => Recognised::of("JSONRPCResultResponse", block).with("$.result", NO_REQUEST),
        }
    }

    fn error(&mut self, members: &Map<String, Value>, block: &Value) -> Recognised {
        let recognised = Recognised::of("JSONRPCErrorResponse", block);
        match members.get("id").and_then(|id| self.conversation.answer(id)) {
            Some(asked) => recognised.with_id_of(&asked, members),
            None => recognised,
        }
    }

    /// Returns the type of interim responses, in a revision that has one for them.
    fn interim_response(&self) -> Option<&'static str> {
        InterimResponse::name_in(self.revision)
    }

    fn response_type(&self, method: &str) -> Option<&'static str> {
        self.types(method).and_then(|types| types.response)
    }

    fn types(&self, method: &str) -> Option<MethodTypes> {
        self.methods.iter().copied().find(|types| types.method == method)
    }
}

impl Recognised {
    fn of(type_name: &'static str, block: &Value) -> Self {
        Self { parts: vec![Part { type_name, path: "$".to_owned(), value: block.clone() }], faults: Vec::new() }
    }

    fn at(mut self, path: &str) -> Self {
        self.parts.iter_mut().for_each(|part| path.clone_into(&mut part.path));
        self
    }

    fn and(mut self, type_name: &'static str, path: &str, value: &Value) -> Self {
        self.parts.push(Part { type_name, path: path.to_owned(), value: value.clone() });
        self
    }

    fn with(mut self, path: &str, reason: &str) -> Self {
        self.faults.push(fault(path, reason));
        self
    }

    fn with_id_of(self, asked: &Asked, members: &Map<String, Value>) -> Self {
        match members.get("id") {
            Some(id) if *id != asked.id => {
                let reason = format!("{id} is not the id of the request before it, which is {}", asked.id);
                self.with("$.id", &reason)
            }
            _ => self,
        }
    }
}

/// Recognises a request of the server, as older protocols have them.
fn server_request(members: &Map<String, Value>, block: &Value) -> Recognised {
    let input: Map<_, _> = members.clone().into_iter().filter(|(key, _)| key == "method" || key == "params").collect();
    let recognised = Recognised::of("JSONRPCRequest", block).and("InputRequest", "$", &input.into());
    recognised.with("$.method", SERVER_REQUEST)
}

fn is_input(members: &Map<String, Value>) -> bool {
    members.get("method").and_then(Value::as_str).is_some_and(|method| INPUT_METHODS.contains(&method))
}

fn is_interim(result: &Value) -> bool {
    result["resultType"] == "input_required"
        || ["inputRequests", "requestState"].iter().any(|key| result.get(key).is_some())
}

fn is_answer(value: &Value) -> bool {
    ["action", "role", "roots"].iter().any(|key| value.get(key).is_some())
}

fn unrecognised(reason: &str) -> Recognised {
    Recognised { parts: Vec::new(), faults: vec![fault("$", reason)] }
}

fn fault(path: &str, reason: &str) -> Fault {
    Fault { path: path.to_owned(), reason: reason.to_owned() }
}

const INPUT_METHODS: [&str; 3] = ["elicitation/create", "sampling/createMessage", "roots/list"];
const SERVER_REQUEST: &str = "a server-to-client request, as in older protocols; it belongs in `inputRequests`";
const CLIENT_RESPONSE: &str = "a response to a server-to-client request; it belongs in `inputResponses`";
const NO_REQUEST: &str = "no request stands before it, so its type is not known";
const UNKNOWN_METHOD: &str = "the method of its request is not known, so its type is not known";
const UNRECOGNISED_MEMBER: &str = "it matches no type";
