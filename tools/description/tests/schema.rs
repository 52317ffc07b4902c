//! The schema in the repository is that of the types.

use std::fs;

use system_description::schema;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/system.schema.json");

#[test]
fn the_schema_is_current() {
    let written = fs::read_to_string(FILE).unwrap_or_default();
    assert!(
        written == schema(),
        "write it again: cargo xtask system --schema > tools/description/system.schema.json"
    );
}

#[test]
fn the_schema_explains_every_key() {
    let schema: serde_json::Value = serde_json::from_str(&schema()).unwrap();
    let mut tables = vec![&schema];
    tables.extend(schema["$defs"].as_object().unwrap().values());
    let properties = tables
        .into_iter()
        .filter_map(|table| table["properties"].as_object());
    for (key, value) in properties.flatten() {
        assert!(value["description"].is_string(), "{key}: {value}");
    }
}
