//! Builds the JSON Schema of a type.

use std::collections::BTreeMap;

use schemars::Schema;
use serde_json::{Map, Value, json};

use super::Wire;
use crate::revision::Dialect;

/// The definitions of one document, filled as types refer to each other.
///
/// ```
/// use mrtr_schema::json_schema::Definitions;
/// use mrtr_schema::{Revision, Wire};
/// use mrtr_schema::content::Role;
///
/// let mut definitions = Definitions::new(Revision::V2026_07_28.strict());
/// assert_eq!(definitions.reference::<Role>().get("$ref").unwrap(), "#/$defs/Role");
/// assert_eq!(definitions.reference::<String>(), String::schema(&mut definitions), "it has no name of its own");
/// ```
#[derive(Debug)]
pub struct Definitions {
    dialect: Dialect,
    pub(crate) schemas: BTreeMap<&'static str, Schema>,
}

impl Definitions {
    /// Makes a document without definitions.
    pub fn new(dialect: Dialect) -> Self {
        Self { dialect, schemas: BTreeMap::new() }
    }

    /// The dialect that the document describes.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// A schema that stands for `T`: a reference to its definition, or the schema itself where it has none.
    pub fn reference<T: Wire>(&mut self) -> Schema {
        let Some(name) = T::name_in(self.dialect.revision) else {
            return T::schema(self);
        };
        if !self.schemas.contains_key(name) {
            self.schemas.insert(name, Schema::default()); // a type may refer to itself
            let schema = T::schema(self);
            self.schemas.insert(name, schema);
        }
        schemars::json_schema!({ "$ref": format!("#/$defs/{name}") })
    }
}

/// The schema of an object, under construction.
#[derive(Debug)]
pub(crate) struct ObjectSchema {
    about: &'static str,
    properties: Map<String, Value>,
    required: Vec<&'static str>,
    open: bool,
}

impl ObjectSchema {
    pub(crate) fn new(about: &'static str) -> Self {
        Self { about, properties: Map::new(), required: Vec::new(), open: false }
    }

    pub(crate) fn constant(&mut self, key: &'static str, value: &'static str) {
        self.property(key, Property(json!({ "type": "string", "const": value })), true);
    }

    pub(crate) fn property(&mut self, key: &'static str, property: Property, required: bool) {
        self.properties.insert(key.to_owned(), property.0);
        if required {
            self.required.push(key);
        }
    }

    /// The schema of an object that has the members of another as well.
    pub(crate) fn merged(mut schema: Schema, more: &Schema) -> Schema {
        for keyword in ["properties", "required"] {
            match (schema.get_mut(keyword), more.get(keyword)) {
                (Some(Value::Object(properties)), Some(Value::Object(more))) => properties.extend(more.clone()),
                (Some(Value::Array(required)), Some(Value::Array(more))) => required.extend(more.clone()),
                _ => {}
            }
        }
        schema
    }

    /// Says that members without a name in the type are meant to be there.
    pub(crate) fn open(&mut self) {
        self.open = true;
    }

    pub(crate) fn finish(self) -> Schema {
        let mut object = Map::new();
        if !self.about.is_empty() {
            object.insert("description".to_owned(), self.about.into());
        }
        object.insert("type".to_owned(), "object".into());
        object.insert("properties".to_owned(), self.properties.into());
        if !self.required.is_empty() {
            object.insert("required".to_owned(), self.required.into());
        }
        if self.open {
            object.insert("additionalProperties".to_owned(), json!({}));
        }
        Schema::from(object)
    }
}

/// The schema of a member.
#[derive(Debug)]
pub(crate) struct Property(Value);

impl From<Value> for Property {
    fn from(schema: Value) -> Self {
        Self(schema)
    }
}

impl Property {
    pub(crate) fn of<T: Wire>(definitions: &mut Definitions, about: &'static str) -> Self {
        let mut schema = definitions.reference::<T>();
        if !about.is_empty() {
            schema.insert("description".to_owned(), about.into());
        }
        Self(schema.into())
    }

    /// A peer that is read leniently may spell absence as null.
    pub(crate) fn or_null_unless(self, strict: bool) -> Self {
        if strict { self } else { Self(json!({ "anyOf": [self.0, { "type": "null" }] })) }
    }

    pub(crate) fn with_format(mut self, format: &'static str) -> Self {
        self.0["format"] = format.into();
        self
    }
}
