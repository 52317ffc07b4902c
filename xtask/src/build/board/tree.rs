//! The device tree that users get with their boot information, in the form of the *Devicetree Specification* 0.4.

use anyhow::Context;
use toml::{Table, Value};
use vm_fdt::FdtWriter;

use crate::Result;

/// The blob of a tree, whose root is `table`. Tables are nodes, everything else is a property: a text, a list of texts,
/// a number, a list of numbers, or `true` for a property without a value.
pub(super) fn blob(table: &Table) -> Result<Vec<u8>> {
    let mut tree = FdtWriter::new()?;
    node(&mut tree, "", table)?;
    Ok(tree.finish()?)
}

fn node(tree: &mut FdtWriter, name: &str, table: &Table) -> Result<()> {
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
                let cells: Result<Vec<_>> = list.iter().map(|value| cell(name, value)).collect();
                tree.property_array_u32(name, &cells?)?;
            }
            number => tree.property_u32(name, cell(name, number)?)?,
        }
    }
    for (name, value) in table {
        if let Value::Table(inside) = value {
            self::node(tree, name, inside)?;
        }
    }
    Ok(tree.end_node(node)?)
}

fn cell(name: &str, value: &Value) -> Result<u32> {
    let number = value.as_integer().and_then(|number| number.try_into().ok());
    number
        .with_context(|| format!("`{name}` in `board.tree`: `{value}` is not a number of 32 bits"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of a tree with one property of each kind and a node.
    #[test]
    fn a_table_is_a_node() {
        let text = "null = true\ntext = 'one'\ntexts = ['a', 'b']\nnumbers = [1, 2]\n[inside]\nnumber = 3\n";
        let blob = blob(&text.parse().unwrap()).unwrap();
        // Section 5.2: the magic number, and the size of the whole.
        assert_eq!(blob[..4], 0xd00d_feed_u32.to_be_bytes());
        assert_eq!(blob[4..8], u32::try_from(blob.len()).unwrap().to_be_bytes());
        let holds = |bytes: &[u8]| blob.windows(bytes.len()).any(|window| window == bytes);
        assert!(holds(b"a\0b\0") && holds(b"one\0") && holds(b"inside\0"));
        assert!(holds(&[0, 0, 0, 1, 0, 0, 0, 2]) && holds(b"null\0"));
    }

    #[test]
    fn a_number_of_more_than_32_bits_is_refused() {
        let error = blob(&"size = 0x1_0000_0000".parse().unwrap()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`size` in `board.tree`: `4294967296` is not a number of 32 bits"
        );
    }
}
