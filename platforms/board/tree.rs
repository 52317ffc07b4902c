//! The device tree that users get with their boot information, in the form of the *Devicetree Specification* 0.4.

use toml::{Table, Value};
use vm_fdt::{Error, FdtWriter};

/// The blob of a tree, whose root is `table`. Tables are nodes, everything else is a property: a text, a list of texts,
/// a number, a list of numbers, or `true` for a property without a value.
pub fn blob(table: &Table) -> Result<Vec<u8>, Error> {
    let mut tree = FdtWriter::new()?;
    node(&mut tree, "", table)?;
    tree.finish()
}

fn node(tree: &mut FdtWriter, name: &str, table: &Table) -> Result<(), Error> {
    let node = tree.begin_node(name)?;
    // Properties come before the nodes inside (section 5.4.2).
    for (name, value) in table {
        match value {
            Value::Table(_) => {}
            Value::Boolean(true) => tree.property_null(name)?,
            Value::String(text) => tree.property_string(name, text)?,
            Value::Array(list) if list.iter().all(Value::is_str) => {
                let texts = list.iter().filter_map(Value::as_str);
                tree.property_string_list(name, texts.map(str::to_string).collect())?;
            }
            Value::Array(list) => {
                let cells: Vec<_> = list.iter().map(|value| cell(name, value)).collect();
                tree.property_array_u32(name, &cells)?;
            }
            number => tree.property_u32(name, cell(name, number))?,
        }
    }
    for (name, value) in table {
        if let Value::Table(inside) = value {
            self::node(tree, name, inside)?;
        }
    }
    tree.end_node(node)
}

fn cell(name: &str, value: &Value) -> u32 {
    let number = value.as_integer().and_then(|number| number.try_into().ok());
    number
        .unwrap_or_else(|| panic!("`{name}` in `board.tree`: `{value}` is not a number of 32 bits"))
}
