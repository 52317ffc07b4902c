//! The JSON schema of `system.toml`, made from the types of [`crate::file`]: only the test that compares it with the
//! file in the repository needs it.

use std::borrow::Cow;
use std::{env, fs};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema, schema_for};
use serde_json::Value;

use crate::file::{At, File, Table, Uses};
use crate::{Duration, SCHEMA, Size};

impl<T: JsonSchema> JsonSchema for At<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<T>()
    }
}

impl<T: JsonSchema> JsonSchema for Table<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("TableOf{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let of = generator.subschema_for::<T>();
        json_schema!({ "type": "object", "additionalProperties": of })
    }
}

impl<T: JsonSchema> JsonSchema for Uses<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("UsesOf{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let of = generator.subschema_for::<T>();
        json_schema!({ "anyOf": [
            { "type": "array", "items": { "type": "string" } },
            { "type": "object", "additionalProperties": of },
        ] })
    }
}

impl JsonSchema for Duration {
    fn schema_name() -> Cow<'static, str> {
        "Duration".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "A length of time with its unit: ns, us, ms, s or min.",
            "pattern": "^\\s*[0-9][0-9_]*(\\.[0-9_]*)?\\s*(ns|us|µs|ms|s|min)\\s*$",
            "examples": ["10 ms", "2.5 ms", "20 us"],
        })
    }
}

impl JsonSchema for Size {
    fn schema_name() -> Cow<'static, str> {
        "Size".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "An amount of memory with its unit: B, KiB, MiB or GiB.",
            "pattern": "^\\s*[0-9][0-9_]*(\\.[0-9_]*)?\\s*(B|KiB|MiB|GiB)\\s*$",
            "examples": ["64 KiB", "1 MiB"],
        })
    }
}

#[test]
fn the_schema_is_current() {
    let schema = serde_json::to_string_pretty(&schema_for!(File)).unwrap() + "\n";
    if env::var_os("WRITE_SCHEMA").is_some() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/system.schema.json");
        fs::write(file, &schema).unwrap();
    } else {
        assert!(
            schema == SCHEMA,
            "write it again: WRITE_SCHEMA=1 cargo test -p system-description schema"
        );
    }
}

#[test]
fn the_schema_explains_every_key() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let mut tables = vec![&schema];
    tables.extend(schema["$defs"].as_object().unwrap().values());
    let properties = tables
        .into_iter()
        .filter_map(|table| table["properties"].as_object());
    for (key, value) in properties.flatten() {
        assert!(value["description"].is_string(), "{key}: {value}");
    }
}
