//! Types that are read from texts: the arguments of a prompt, the variables of a URI.

use mrtr_schema::JsonObject;
use mrtr_schema::prompts::PromptArgument;
use serde_json::Value;

/// The members of a type that is read from texts: arguments of a prompt, variables of a URI.
pub(crate) struct TextMembers(Vec<TextMember>);

struct TextMember {
    name: String,
    description: Option<String>,
    required: bool,
    /// True if it is an object or a list, which no text is.
    is_nested: bool,
    /// True if the text is a number or a boolean, and not a string.
    is_literal: bool,
}

impl TextMembers {
    /// The members of a type, or the reason why it cannot be read from texts.
    pub(super) fn of(schema: &JsonObject) -> Result<Self, String> {
        let schema: Value = schema.to().unwrap_or_default();
        if schema["type"].is_string() && schema["type"] != "object" {
            return Err("its handler's arguments are no object: take a struct with named fields".to_owned());
        }
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        let definitions = schema["$defs"].clone();
        let properties = schema["properties"].as_object().cloned().unwrap_or_default();
        let member = |(name, schema): (String, Value)| TextMember {
            required: required.iter().any(|required| *required == *name),
            description: schema["description"].as_str().map(str::to_owned),
            is_nested: NESTED_TYPES.iter().any(|nested| resolved(&schema, &definitions)["type"] == *nested),
            is_literal: LITERAL_TYPES.iter().any(|literal| is_of_type(resolved(&schema, &definitions), literal)),
            name,
        };
        let members: Vec<TextMember> = properties.into_iter().map(member).collect();
        match members.iter().find(|member| member.required && member.is_nested) {
            Some(TextMember { name, .. }) => Err(format!(
                "its handler needs `{name}`, an object or a list, and arguments come as texts: \
                 take a text, a number, a boolean or an enum"
            )),
            None => Ok(Self(members)),
        }
    }

    /// A required member for which there is no variable.
    pub(super) fn without_variable(&self, variables: &[&str]) -> Option<&str> {
        let needed = self.0.iter().filter(|member| member.required).map(|member| &*member.name);
        needed.into_iter().find(|name| !variables.contains(name))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The members as the arguments of a prompt.
    pub(super) fn prompt_arguments(&self) -> Vec<PromptArgument> {
        self.0.iter().map(TextMember::argument).collect()
    }

    /// The texts as an object that the type is read from.
    pub(crate) fn object<'a>(&self, texts: impl Iterator<Item = (&'a str, &'a str)>) -> JsonObject {
        let values = texts.map(|(name, text)| {
            let literal = self.0.iter().any(|member| member.name == name && member.is_literal);
            let value = if literal { serde_json::from_str(text).ok() } else { None };
            (name.to_owned(), value.unwrap_or_else(|| text.into()))
        });
        values.collect::<serde_json::Map<String, Value>>().into()
    }
}

impl TextMember {
    fn argument(&self) -> PromptArgument {
        let mut argument = PromptArgument::new(&*self.name);
        argument.description.clone_from(&self.description);
        argument.required = Some(self.required);
        argument
    }
}

const NESTED_TYPES: [&str; 2] = ["object", "array"];
const LITERAL_TYPES: [&str; 3] = ["integer", "number", "boolean"];

/// The schema that a reference leads to, which is that of a type of its own, such as a number with a name.
fn resolved<'a>(schema: &'a Value, definitions: &'a Value) -> &'a Value {
    let name = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix("#/$defs/"));
    name.and_then(|name| definitions.get(name)).unwrap_or(schema)
}

fn is_of_type(schema: &Value, name: &str) -> bool {
    match &schema["type"] {
        Value::String(one) => one == name,
        Value::Array(several) => several.iter().any(|one| one == name),
        _ => false,
    }
}
