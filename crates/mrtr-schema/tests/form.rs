//! Makes a form of a Rust type, or says why it cannot.
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]
#![allow(dead_code, reason = "the types are only described, never made")]

use std::collections::{BTreeMap, BTreeSet};

use mrtr_schema::{Form, FormError, Revision, Wire};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

fn form<T: JsonSchema + 'static>() -> Value {
    serde_json::from_str(Form::of::<T>().unwrap().as_str()).unwrap()
}

fn reason<T: JsonSchema + 'static>() -> String {
    let error = Form::of::<T>().expect_err("not a form");
    match &error {
        FormError::Field { field, reason, .. } => {
            assert!(error.to_string().contains(&format!("field `{field}` of `form::")), "{error}");
            format!("{field}: {reason}")
        }
        FormError::Type { reason, .. } => reason.clone(),
        other => panic!("{other}"),
    }
}

/// Not part of the form: the question's message says what it is about.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Everything {
    /// Your name
    full_name: String,
    #[schemars(length(min = 3, max = 8), title = "Nick")]
    nick: Option<String>,
    #[schemars(email)]
    mail: String,
    #[serde(default = "thirty")]
    age: u8,
    #[schemars(range(min = 0.5, max = 9.5))]
    height: f64,
    balance: i32,
    views: u64,
    #[serde(rename = "wants-news", default)]
    news: bool,
    color: Color,
    size: Option<Size>,
    toppings: BTreeSet<Color>,
    sizes: Option<Vec<Size>>,
}

fn thirty() -> u8 {
    30
}

#[derive(Deserialize, JsonSchema, PartialEq, Eq, PartialOrd, Ord)]
enum Color {
    Red,
    #[serde(rename = "bright green")]
    Green,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Size {
    /// Fits a child
    Small,
    #[schemars(title = "Fits a giant")]
    Large,
    Medium,
}

#[test]
fn every_kind_of_field_has_its_place() {
    // schemars names the variants that say nothing of themselves first.
    let sizes = json!([
        { "const": "medium", "title": "medium" },
        { "const": "small", "title": "Fits a child" },
        { "const": "large", "title": "Fits a giant" },
    ]);
    let colors = json!(["Red", "bright green"]);
    assert_eq!(
        form::<Everything>(),
        json!({
            "type": "object",
            "properties": {
                "fullName": { "type": "string", "description": "Your name" },
                "nick": { "type": "string", "title": "Nick", "minLength": 3, "maxLength": 8 },
                "mail": { "type": "string", "format": "email" },
                "age": { "type": "integer", "minimum": 0, "maximum": 255, "default": 30 },
                "height": { "type": "number", "minimum": 0.5, "maximum": 9.5 },
                "balance": { "type": "integer", "minimum": -2_147_483_648_i64, "maximum": 2_147_483_647 },
                "views": { "type": "integer", "minimum": 0 },
                "wants-news": { "type": "boolean", "default": false },
                "color": { "type": "string", "enum": colors },
                "size": { "type": "string", "oneOf": sizes },
                "toppings": { "type": "array", "items": { "type": "string", "enum": colors } },
                "sizes": { "type": "array", "items": { "anyOf": sizes } },
            },
            "required": ["fullName", "mail", "height", "balance", "views", "color", "toppings"],
        })
    );
}

#[test]
fn fields_stand_in_the_order_of_the_type() {
    let form = Form::of::<Everything>().unwrap();
    let names: Vec<_> = form.fields().map(|field| field.name).take(4).collect();
    assert_eq!(names, ["fullName", "nick", "mail", "age"]);
    assert!(form.is_required("mail") && !form.is_required("nick"));
    assert_eq!(form.field("fullName").unwrap().description().as_deref(), Some("Your name"));
}

#[test]
fn a_form_is_built_once_and_reads_back_as_itself() {
    let form = Form::of::<Everything>().unwrap();
    assert!(std::ptr::eq(form.as_str(), Form::of::<Everything>().unwrap().as_str()));
    assert_eq!(Form::from_json(form.as_str(), Revision::Draft202602.strict()).unwrap(), form);
}

#[derive(JsonSchema)]
struct Nested {
    inner: Inner,
}

#[derive(JsonSchema)]
struct Inner {
    name: String,
}

#[derive(JsonSchema)]
struct List {
    names: Vec<String>,
}

#[derive(JsonSchema)]
struct Dictionary {
    entries: BTreeMap<String, String>,
}

#[derive(JsonSchema)]
struct Anything {
    value: Value,
}

#[derive(JsonSchema)]
struct Recursive {
    next: Option<Box<Recursive>>,
}

#[derive(JsonSchema)]
struct Carrier {
    shape: Shape,
}

#[derive(JsonSchema)]
enum Shape {
    Circle { radius: f64 },
    Dot,
}

#[derive(JsonSchema)]
struct Patterned {
    #[schemars(regex(pattern = "^a+$"))]
    code: String,
}

#[derive(JsonSchema)]
struct Open {
    name: String,
    #[schemars(flatten)]
    rest: BTreeMap<String, String>,
}

#[derive(JsonSchema)]
struct Keyed {
    name: String,
    #[schemars(flatten)]
    rest: BTreeMap<u32, String>,
}

#[derive(JsonSchema)]
struct Nameless {
    choice: Unit,
}

#[derive(JsonSchema)]
#[serde(untagged)]
enum Unit {
    A,
    B,
}

/// Says more of its fields than a form can show.
#[derive(JsonSchema)]
struct Annotated {
    #[schemars(example = &"bob")]
    name: String,
    #[serde(skip_serializing)]
    secret: String,
}

#[test]
fn what_only_annotates_a_field_is_left_out() {
    let plain = json!({ "type": "string" });
    assert_eq!(form::<Annotated>()["properties"], json!({ "name": plain, "secret": plain }));
}

#[derive(JsonSchema)]
struct Formatted {
    #[schemars(extend("format" = "uuid"))]
    id: String,
}

#[test]
fn what_a_form_cannot_hold_is_named() {
    let nested = "it is an object, and forms are flat: put its fields beside the others, as `#[serde(flatten)]` does, or \
                  ask for it in a question of its own";
    assert_eq!(reason::<Nested>(), format!("inner: {nested}"));
    assert_eq!(reason::<List>(), "names: it is a list, and a form has lists of options only");
    assert_eq!(reason::<Dictionary>(), format!("entries: {nested}"));
    assert_eq!(reason::<Anything>(), "value: its type accepts any value");
    assert_eq!(reason::<Recursive>(), "next: it refers to itself");
    assert_eq!(reason::<Carrier>(), "shape: one of its variants holds data, and the choices of a form are names only");
    assert_eq!(reason::<Patterned>(), "code: forms do not support `pattern`");
    assert_eq!(reason::<Formatted>(), "id: $.format: `uuid` is not one of email, uri, date, date-time");
    assert_eq!(reason::<Open>(), "a form needs all fields by name, and it has `additionalProperties`");
    assert_eq!(reason::<Keyed>(), "a form needs all fields by name, and it has `patternProperties`");
    assert_eq!(reason::<Nameless>(), "choice: none of its variants has a name on the wire");
    let no_struct = "it is not a struct with named fields; ask for one, such as `#[data] struct Name { name: String }`, \
                     and take the field from the answer";
    assert_eq!(reason::<Shape>(), no_struct);
    assert_eq!(reason::<String>(), no_struct);
    assert_eq!(reason::<Vec<Inner>>(), no_struct);
}

#[cfg(feature = "validate")]
mod answers {
    use mrtr_schema::elicitation::{ElicitAction, ElicitResult};
    use mrtr_schema::{Form, JsonObject, Revision, SchemaCheck, Wire};
    use schemars::JsonSchema;
    use serde::Deserialize;
    use serde_json::Value;
    use serde_json::value::RawValue;

    fn check(form: &Form, answer: &str) -> Result<(), String> {
        form.check(&JsonObject::parse(answer).unwrap()).map_err(|violations| violations.to_string())
    }

    #[test]
    fn el_5_an_answer_is_checked_against_the_form_it_was_asked_with() {
        let form = Form::parse(
            r#"{"type":"object","required":["mail"],"properties":{
                "mail":{"type":"string","format":"email","maxLength":20},
                "when":{"type":"string","format":"date"},
                "size":{"type":"string","oneOf":[{"const":"s","title":"Small"},{"const":"l","title":"Large"}]},
                "tags":{"type":"array","minItems":1,"maxItems":2,"items":{"type":"string","enum":["a","b","c"]}},
                "age":{"type":"integer","minimum":18}
            }}"#,
        )
        .unwrap();
        assert_eq!(check(&form, r#"{"mail":"a@b.example","size":"l","tags":["a"],"age":18,"unknown":{}}"#), Ok(()));
        for wrong in [
            r"{}",
            r#"{"mail":"nobody"}"#,
            r#"{"mail":7}"#,
            r#"{"mail":"a-long-name@b.example"}"#,
            r#"{"mail":"a@b.example","when":"tomorrow"}"#,
            r#"{"mail":"a@b.example","size":"Small"}"#,
            r#"{"mail":"a@b.example","tags":[]}"#,
            r#"{"mail":"a@b.example","tags":["a","b","c"]}"#,
            r#"{"mail":"a@b.example","tags":["d"]}"#,
            r#"{"mail":"a@b.example","age":18.5}"#,
        ] {
            assert!(check(&form, wrong).is_err(), "{wrong}");
        }
        let both = check(&form, r#"{"mail":7,"age":1}"#).unwrap_err();
        assert_eq!(both, "mail: not a text; age: expected at least 18");
    }

    #[test]
    fn a_form_is_explained_by_its_labels_and_in_the_words_of_its_fields() {
        let form = Form::parse(
            r#"{"type":"object","required":["mail","class","ghost"],"properties":{
                "name":{"type":"string","title":"Your name"},
                "mail":{"type":"string","title":"E-mail","format":"email"},
                "class":{"type":"string","title":"Class","oneOf":[{"const":"1","title":"First"},{"const":"2","title":"Second"}]},
                "extras":{"type":"array","maxItems":2,"items":{"type":"string","enum":["Bicycle","Dog"]}},
                "7":{"type":"integer","minimum":1,"maximum":9},
                "news":{"type":"boolean"}
            }}"#,
        )
        .unwrap();
        let said =
            check(&form, r#"{"name":7,"class":"Third","extras":["Bicycle","Nope"],"7":99,"news":"x"}"#).unwrap_err();
        assert_eq!(
            said,
            "Your name: not a text; E-mail: must be filled in; Class: `Third` is not one of the options: First, Second; \
             extras: `Nope` is not one of the options: Bicycle, Dog; 7: expected 1 to 9; news: not yes or no; \
             ghost: must be filled in, and the form has no such field"
        );
        for (value, said) in [("1.5", "not a whole number"), ("true", "not a number"), ("0", "expected 1 to 9")] {
            let answer = format!(r#"{{"mail":"a@b.example","class":"1","ghost":1,"7":{value}}}"#);
            assert!(check(&form, &answer).unwrap_err().starts_with(&format!("7: {said}")), "{value}");
        }
        let escaped = Form::parse(
            "{\"type\":\"object\",\"required\":[\"a\"],\"properties\":{\"a\":{\"type\":\"string\",\"title\":\"\\u001b[2J\"}}}",
        );
        assert_eq!(check(&escaped.unwrap(), "{}").unwrap_err(), r"\u{1b}[2J: must be filled in");
    }

    #[test]
    fn an_answer_that_passes_can_be_read() {
        #[derive(Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        struct Counted {
            small: u8,
            large: u64,
        }
        let form = Form::of::<Counted>().unwrap();
        let answer = JsonObject::parse(r#"{"small": 3e1, "large": 18446744073709551615.0, "else": 1e400}"#).unwrap();
        assert!(form.check(&answer).is_ok());
        let Counted { small, large } = form.answer(&answer).unwrap();
        assert_eq!((small, large), (30, u64::MAX));
    }

    #[test]
    fn el_5_what_is_taken_at_a_glance_is_what_the_schema_takes() {
        let fields = [
            r#"{"type":"boolean"}"#,
            r#"{"type":"string"}"#,
            r#"{"type":"string","maxLength":2}"#,
            r#"{"type":"string","minLength":2}"#,
            r#"{"type":"string","format":"email"}"#,
            r#"{"type":"integer"}"#,
            r#"{"type":"integer","minimum":5}"#,
            r#"{"type":"integer","minimum":0}"#,
            r#"{"type":"number"}"#,
            r#"{"type":"number","maximum":5}"#,
            r#"{"type":"string","enum":["red","1"]}"#,
        ];
        let values = [
            "true",
            "1",
            "7",
            "-3",
            "1.5",
            "007.0",
            "9e2",
            "12345678901234567890",
            "\"\"",
            "\"abc\"",
            "\"red\"",
            r#""r\u0065d""#,
            "\"1\"",
            "[]",
            "{}",
            "null",
        ];
        let mut plain = 0;
        for field in fields {
            for required in ["", r#","required":["a"]"#, r#","required":["a","b"]"#, r#","required":["c"]"#] {
                let text =
                    format!(r#"{{"type":"object","properties":{{"a":{field},"b":{{"type":"boolean"}}}}{required}}}"#);
                let form = Form::parse(&text).unwrap();
                let schema = schema(&text).unwrap();
                let answers = values.iter().map(|value| format!(r#"{{"a":{value}}}"#));
                for answer in answers.chain(["{}".to_owned(), r#"{"b":true}"#.to_owned()]) {
                    let Ok(answer) = JsonObject::parse(&answer) else { continue };
                    let by_schema = schema.check(answer.as_raw()).is_ok();
                    assert_eq!(form.check(&answer).is_ok(), by_schema, "{} for {text}", answer.as_str());
                    plain += usize::from(is_plain(&form, &answer));
                }
            }
        }
        assert!(plain > 40, "only {plain} answers were taken at a glance");
    }

    /// Returns true if an answer is read at a glance, and checks that the long way then reads it alike.
    fn is_plain(form: &Form, answer: &JsonObject) -> bool {
        let content = answer.as_str();
        let said = [
            (format!(r#"{{"action":"accept","content":{content}}}"#), true),
            (format!(r#"{{"content":{content},"action":"accept"}}"#), true),
            (format!(r#"{{"action":"decline","content":{content}}}"#), false),
            (format!(r#"{{"action":"accept","content":{content},"_meta":{{}}}}"#), false),
            (format!(r#"{{"action":"accept","content":{content},"content":{content}}}"#), false),
            (format!(r#"{{"action":"accept","content":[{content}]}}"#), false),
            (r#"{"action":"accept"}"#.to_owned(), false),
        ];
        let mut is_plain = None;
        for (response, may_be) in said {
            let response = RawValue::from_string(response).unwrap();
            let Some(found) = form.plain_answer(&response) else {
                assert!(!may_be || !*is_plain.get_or_insert(false), "{}", response.get());
                continue;
            };
            assert!(may_be && *is_plain.get_or_insert(true), "{}", response.get());
            let result = ElicitResult::read(&response, Revision::V2026_07_28.lenient()).unwrap();
            assert_eq!(result.action, ElicitAction::Accept);
            let by_schema = result.content.unwrap();
            assert!(form.check(by_schema.as_object()).is_ok(), "{content}");
            let read: Value = form.answer(by_schema.as_object()).unwrap();
            assert_eq!(serde_json::from_str::<Value>(found.get()).unwrap(), read);
        }
        is_plain == Some(true)
    }

    #[test]
    fn keywords_that_forms_do_not_have_are_not_followed() {
        let form = Form::parse(
            r##"{"type":"object","properties":{"a":{"type":"string","$ref":"#","pattern":"^b$"}},"$ref":"https://elsewhere.example/"}"##,
        )
        .unwrap();
        assert_eq!(check(&form, r#"{"a":"x"}"#), Ok(()));
        let form = Form::parse(
            r#"{"type":"object","properties":{
                "a":{"type":"array","items":{"type":"string","enum":["x"],"pattern":"^b$","$ref":"https://elsewhere.example/"}},
                "b":{"type":"string","oneOf":[{"const":"x","title":"X","pattern":"^b$"}]}
            }}"#,
        )
        .unwrap();
        assert_eq!(check(&form, r#"{"a":["x"],"b":"x"}"#), Ok(()));
    }

    fn schema(text: &str) -> Result<SchemaCheck, String> {
        SchemaCheck::new(serde_json::from_str(text).unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_schema_is_never_fetched() {
        for reference in ["https://example.com/schema.json", "http://127.0.0.1:9/x", "file:///etc/passwd", "other.json"]
        {
            let error = schema(&format!(r#"{{"$ref":"{reference}"}}"#)).expect_err(reference);
            assert!(error.starts_with("not a usable JSON Schema"), "{error}");
        }
        assert!(schema(r#"{"type":"nonsense"}"#).is_err());
    }

    #[test]
    fn sizes_depths_and_patterns_are_bounded() {
        let check = schema(r#"{"type":"array","items":{"type":"string"}}"#).unwrap();
        let raw = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
        let large = format!("[\"{}\"]", "x".repeat(1 << 20));
        assert_eq!(check.check(&raw(&large)).unwrap_err().to_string(), "$: larger than 1048576 bytes");
        let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
        assert!(check.check(&raw(&deep)).unwrap_err().to_string().contains("recursion limit"));
        let many = format!("[{}]", vec!["1"; 1000].join(","));
        assert_eq!(check.check(&raw(&many)).unwrap_err().iter().count(), 16);
        // A pattern that backtracks without end is cut off, and says so.
        let check = schema(r#"{"type":"string","pattern":"^(?:a|a(?=a)|aa)+$"}"#).unwrap();
        let hostile = format!("\"{}!\"", "a".repeat(60));
        assert!(check.check(&raw(&hostile)).unwrap_err().to_string().contains("backtracking"));
    }

    #[test]
    fn references_that_double_the_work_at_every_link_are_refused() {
        let link = |number: usize| {
            let next = number + 1;
            format!(r##""d{number}":{{"allOf":[{{"$ref":"#/$defs/d{next}"}},{{"$ref":"#/$defs/d{next}"}}]}}"##)
        };
        let chain = |length: usize| {
            let links: Vec<_> = (0..length).map(link).collect();
            format!(r##"{{"$ref":"#/$defs/d0","$defs":{{{},"d{length}":{{}}}}}}"##, links.join(","))
        };
        assert!(schema(&chain(8)).is_ok());
        assert!(schema(&chain(40)).unwrap_err().contains("references"));
        let recursive = r##"{"$ref":"#/$defs/node","$defs":{"node":{"properties":{"next":{"$ref":"#/$defs/node"}}}}}"##;
        assert!(schema(recursive).is_ok());
    }

    #[test]
    fn a_schema_is_read_in_the_draft_that_it_names() {
        let tuple = r#"{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"string"}]}"#;
        let check = schema(tuple).unwrap();
        assert!(check.check(serde_json::from_str("[1]").unwrap()).is_err());
    }
}
