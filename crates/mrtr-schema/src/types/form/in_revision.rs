//! Forms in older revisions: some parts have another spelling there, some are left out, and some cannot be said.

use super::{Fields, Form};
use crate::error::NotInRevision;
use crate::revision::{Feature, Revision};
use crate::types::elicitation::{LegacyTitledEnumSchema, PrimitiveSchema, TitledSingleSelectEnumSchema};

impl Form {
    /// Returns the form as a revision can say it: titles of options are spelt as the revision spells them, and a
    /// default that it does not have is left out. Fails for a field that the revision does not have, and names it.
    ///
    /// Answers are still checked against this form: both take the same ones.
    ///
    /// ```
    /// use mrtr_schema::{Form, Revision};
    ///
    /// let colour = r##"{"type": "string", "oneOf": [{"const": "#f00", "title": "Red"}], "default": "#f00"}"##;
    /// let form = Form::parse(&format!(r#"{{"type": "object", "properties": {{"colour": {colour}}}}}"#))?;
    /// assert_eq!(form.in_revision(Revision::V2025_11_25), Ok(form.clone()));
    /// assert_eq!(
    ///     form.in_revision(Revision::V2025_06_18).unwrap().as_str(),
    ///     r##"{"type":"object","properties":{"colour":{"type":"string","enum":["#f00"],"enumNames":["Red"]}}}"##,
    /// );
    /// # Ok::<(), mrtr_schema::ReadError>(())
    /// ```
    pub fn in_revision(&self, revision: Revision) -> Result<Self, NotInRevision> {
        if Self::is_said_as_it_is(revision) {
            return Ok(self.clone());
        }
        let said = self.fields().map(|field| {
            let said = in_revision(field.schema, revision);
            said.map(|said| (field.name.to_owned(), said))
                .ok_or_else(|| NotInRevision::Field { field: field.name.to_owned(), revision })
        });
        let fields = Fields { properties: said.collect::<Result<_, _>>()?, ..self.0.fields.clone() };
        // A form that stays as it is keeps the text that it was read from.
        Ok(if fields == self.0.fields { self.clone() } else { Self::from_fields(fields) })
    }

    /// Returns true if a revision can say every form, as it is.
    pub(super) fn is_said_as_it_is(revision: Revision) -> bool {
        [Feature::TitledSelects, Feature::MultiSelects, Feature::FormDefaults].into_iter().all(|it| revision.has(it))
    }
}

/// Returns the field as a revision can say it, if it can.
fn in_revision(field: &PrimitiveSchema, revision: Revision) -> Option<PrimitiveSchema> {
    let mut said = match field {
        PrimitiveSchema::UntitledMultiSelect(_) | PrimitiveSchema::TitledMultiSelect(_)
            if !revision.has(Feature::MultiSelects) =>
        {
            return None;
        }
        PrimitiveSchema::TitledSingleSelect(select) if !revision.has(Feature::TitledSelects) => {
            PrimitiveSchema::LegacyTitledSelect(with_names_beside(select))
        }
        other => other.clone(),
    };
    if !revision.has(Feature::FormDefaults) {
        forget_default(&mut said);
    }
    Some(said)
}

fn with_names_beside(select: &TitledSingleSelectEnumSchema) -> LegacyTitledEnumSchema {
    let (values, names): (Vec<_>, Vec<_>) =
        select.options.iter().map(|option| (option.value.clone(), option.title.clone())).unzip();
    LegacyTitledEnumSchema {
        title: select.title.clone(),
        description: select.description.clone(),
        enum_names: Some(names),
        default: select.default.clone(),
        extra: select.extra.clone(),
        ..LegacyTitledEnumSchema::new(values)
    }
}

/// Removes the default, except of yes or no: every revision with forms has that one.
fn forget_default(field: &mut PrimitiveSchema) {
    match field {
        PrimitiveSchema::Boolean(_) => {}
        PrimitiveSchema::String(schema) => schema.default = None,
        PrimitiveSchema::Number(schema) => schema.default = None,
        PrimitiveSchema::UntitledSingleSelect(schema) => schema.default = None,
        PrimitiveSchema::TitledSingleSelect(schema) => schema.default = None,
        PrimitiveSchema::UntitledMultiSelect(schema) => schema.default = None,
        PrimitiveSchema::TitledMultiSelect(schema) => schema.default = None,
        PrimitiveSchema::LegacyTitledSelect(schema) => schema.default = None,
    }
}
