//! Any value of any wire type, in any revision: its JSON is accepted by its schema and reads back as the same value.
#![cfg(feature = "proptest")]

use jsonschema::ValidatorMap;
use mrtr_schema::registry::{TypeVisitor, visit_types};
use mrtr_schema::{Json, Revision, Wire, json_schema};
use proptest::test_runner::{Config, TestCaseError, TestRunner};

#[test]
fn a_value_is_accepted_by_its_schema_and_reads_back_equal() {
    for revision in Revision::ALL {
        let schemas = jsonschema::draft202012::options().build_map(&json_schema::document(revision.strict()));
        let mut types = EveryType { revision, schemas: schemas.expect("generated schemas are schemas"), seen: 0 };
        visit_types(revision, &mut types);
        assert!(types.seen > 115, "{} types of {revision}", types.seen);
    }
}

#[test]
fn arbitrary_json_is_read_or_refused_but_never_panics() {
    struct Read<'a>(Revision, &'a str);

    impl TypeVisitor for Read<'_> {
        fn visit<T: Wire>(&mut self, name: &'static str) {
            for dialect in [self.0.strict(), self.0.lenient()] {
                if let Ok(value) = T::from_json(self.1, dialect) {
                    value.to_json(self.0).unwrap_or_else(|error| panic!("{name} was read but not written: {error}"));
                }
            }
        }
    }

    let mut runner = TestRunner::new(Config::with_cases(256));
    let outcome = runner.run(&mrtr_schema::arbitrary::json(), |json| {
        for revision in Revision::ALL {
            visit_types(revision, &mut Read(revision, json.as_str()));
        }
        Ok(())
    });
    outcome.unwrap();
}

/// A message with one of its values replaced by arbitrary JSON comes closer to the types than arbitrary JSON does.
#[test]
fn a_message_with_a_wrong_part_is_refused_with_its_path_or_read_and_written() {
    struct Mutate(Revision);

    impl TypeVisitor for Mutate {
        fn visit<T: Wire>(&mut self, name: &'static str) {
            let revision = self.0;
            let strategy = (T::any_value(revision), mrtr_schema::arbitrary::json(), proptest::num::usize::ANY);
            let outcome = TestRunner::new(Config::with_cases(24)).run(&strategy, |(value, junk, place)| {
                let text = value.to_json(revision).map_err(|error| TestCaseError::fail(error.to_string()))?;
                let mut tree: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
                let Ok(junk) = junk.to::<serde_json::Value>() else { return Ok(()) };
                replace(&mut tree, &junk, &mut (place % 16));
                match T::from_json(&tree.to_string(), revision.strict()) {
                    Err(error) => assert!(error.to_string().starts_with('$')),
                    Ok(value) => assert!(value.to_json(revision).is_ok()),
                }
                Ok(())
            });
            outcome.unwrap_or_else(|error| panic!("{name} of {revision}: {error}"));
        }
    }

    for revision in Revision::ALL {
        visit_types(revision, &mut Mutate(revision));
    }
}

/// Replaces the value at which `countdown` reaches zero, counting depth first.
fn replace(tree: &mut serde_json::Value, junk: &serde_json::Value, countdown: &mut usize) {
    if *countdown == 0 {
        *tree = junk.clone();
        *countdown = usize::MAX;
        return;
    }
    *countdown = countdown.saturating_sub(1);
    match tree {
        serde_json::Value::Object(members) => members.values_mut().for_each(|value| replace(value, junk, countdown)),
        serde_json::Value::Array(elements) => elements.iter_mut().for_each(|value| replace(value, junk, countdown)),
        _ => {}
    }
}

struct EveryType {
    revision: Revision,
    schemas: ValidatorMap,
    seen: usize,
}

impl TypeVisitor for EveryType {
    fn visit<T: Wire>(&mut self, name: &'static str) {
        self.seen += 1;
        let revision = self.revision;
        let schema = self.schemas.get(&format!("#/$defs/{name}")).expect("every type has a definition");
        let outcome = TestRunner::new(Config::with_cases(48)).run(&T::any_value(revision), |value| {
            let fail = |reason: String| TestCaseError::fail(reason);
            let text = value.to_json(revision).map_err(|error| fail(error.to_string()))?;
            let json = Json::parse(&text).map_err(|error| fail(error.to_string()))?;
            // A number that no machine type holds is beyond the validator, not beyond the types.
            if let Ok(tree) = json.to::<serde_json::Value>() {
                schema.validate(&tree).map_err(|violation| fail(format!("{violation}\nin {text}")))?;
            }
            let again = T::from_json(&text, revision.strict()).map_err(|error| fail(format!("{error}\nin {text}")))?;
            if again != value {
                return Err(fail(format!("reads back as {again:?}\nfrom {text}")));
            }
            Ok(())
        });
        outcome.unwrap_or_else(|error| panic!("{name} of {revision}: {error}"));
    }
}
