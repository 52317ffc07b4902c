//! Reads from a flattened device tree what the kernel needs: the ranges of RAM (*Devicetree Specification*,
//! release 0.4, chapter 5 for the format, 2.3.5 for cells and 3.4 for memory nodes).
//!
//! A general device tree library would bring procedural macros and a library for unaligned records into the
//! kernel; this is a loop over five tokens. For any content it terminates and reads nothing outside it.

use core::ops::Range;

/// Words of the header, by their index.
pub mod header {
    /// The word [`super::MAGIC`].
    pub const MAGIC: usize = 0;
    /// The size of the tree in bytes, with free space after its content.
    pub const TOTAL_SIZE: usize = 1;
    /// The offset of the structure block in bytes.
    pub const STRUCTURE: usize = 2;
    /// The offset of the strings block in bytes.
    pub const STRINGS: usize = 3;
    /// The version of the format. Before version 17 the header has no size of the structure block.
    pub const VERSION: usize = 5;
    /// The oldest version of the format with which the tree is compatible.
    pub const COMPATIBLE: usize = 6;
    /// The size of the strings block in bytes.
    pub const STRINGS_SIZE: usize = 8;
    /// The size of the structure block in bytes.
    pub const STRUCTURE_SIZE: usize = 9;
    /// The size of the header in bytes.
    pub const BYTES: usize = 40;
}
/// The first word of a tree.
pub const MAGIC: u32 = 0xd00d_feed;
/// The version of the format that this module reads.
const VERSION: u32 = 17;

/// The tokens of the structure block.
mod token {
    pub(super) const BEGIN_NODE: u32 = 1;
    pub(super) const END_NODE: u32 = 2;
    pub(super) const PROPERTY: u32 = 3;
    pub(super) const NOP: u32 = 4;
}

/// The depth of the root's properties, and that of its children's.
const ROOT: u32 = 1;
const CHILD: u32 = 2;

/// The words per address and size, unless the root specifies others.
const ADDRESS_CELLS: u32 = 2;
const SIZE_CELLS: u32 = 1;

/// The two blocks of a tree.
#[derive(Clone, Copy, Debug)]
pub struct Tree<'a> {
    structure: &'a [u8],
    strings: &'a [u8],
}

impl<'a> Tree<'a> {
    /// The tree in these bytes, if their header is that of a tree within them.
    pub fn new(data: &'a [u8]) -> Option<Self> {
        let word = |index: usize| {
            let bytes = data.get(index * 4..)?.first_chunk()?;
            Some(u32::from_be_bytes(*bytes))
        };
        let block = |offset, size| {
            let (start, size) = (word(offset)? as usize, word(size)? as usize);
            data.get(start..start.checked_add(size)?)
        };
        let is_known = word(header::MAGIC)? == MAGIC
            && word(header::VERSION)? >= VERSION
            && word(header::COMPATIBLE)? <= VERSION;
        is_known.then_some(Self {
            structure: block(header::STRUCTURE, header::STRUCTURE_SIZE)?,
            strings: block(header::STRINGS, header::STRINGS_SIZE)?,
        })
    }

    /// The ranges of RAM, in bytes of physical addresses: the registers of the nodes `memory` below the root. A tree that
    /// is damaged ends at the damage.
    pub fn ram(self) -> impl Iterator<Item = Range<u64>> {
        let mut reader = Reader(self.structure);
        let (mut depth, mut is_memory) = (0_u32, false);
        let (mut address_cells, mut size_cells) = (ADDRESS_CELLS, SIZE_CELLS);
        let mut registers = Reader(&[]);
        core::iter::from_fn(move || {
            loop {
                if let Some(start) = registers.cells(address_cells)
                    && let Some(size) = registers.cells(size_cells)
                {
                    let Some(end) = start.checked_add(size) else {
                        continue;
                    };
                    return Some(start..end);
                }
                match reader.word()? {
                    token::BEGIN_NODE => {
                        let name = reader.name()?;
                        depth += 1;
                        is_memory =
                            depth == CHILD && name.split(|byte| *byte == b'@').next()? == b"memory";
                    }
                    token::END_NODE => {
                        depth = depth.checked_sub(1)?;
                        is_memory = false;
                    }
                    token::PROPERTY => {
                        let size = reader.word()? as usize;
                        let name = Reader(self.strings.get(reader.word()? as usize..)?).text()?;
                        let value = reader.padded(size)?;
                        match name {
                            b"#address-cells" if depth == ROOT => {
                                address_cells = Reader(value).word()?;
                            }
                            b"#size-cells" if depth == ROOT => size_cells = Reader(value).word()?,
                            b"reg" if is_memory => registers = Reader(value),
                            _ => {}
                        }
                    }
                    token::NOP => {}
                    _ => return None,
                }
            }
        })
    }
}

/// Bytes of which the first ones have been read.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    #[cfg_attr(target_os = "none", optimize(size))]
    fn take(&mut self, size: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(size)?;
        self.0 = rest;
        Some(taken)
    }

    /// The next `size` bytes, and what fills the last word.
    fn padded(&mut self, size: usize) -> Option<&'a [u8]> {
        self.take(size.checked_next_multiple_of(4)?)?.get(..size)
    }

    fn word(&mut self) -> Option<u32> {
        let bytes = self.take(4)?;
        Some(u32::from_be_bytes(bytes.try_into().ok()?))
    }

    /// A number of this many words. One word or two: no machine here has longer addresses.
    fn cells(&mut self, count: u32) -> Option<u64> {
        let mut number = 0;
        if !(1..=2).contains(&count) {
            return None;
        }
        for _ in 0..count {
            number = number << 32 | u64::from(self.word()?);
        }
        Some(number)
    }

    /// A text up to its zero byte.
    fn text(&self) -> Option<&'a [u8]> {
        let end = self.0.iter().position(|byte| *byte == 0)?;
        Some(&self.0[..end])
    }

    /// The name of a node.
    fn name(&mut self) -> Option<&'a [u8]> {
        let name = self.text()?;
        self.padded(name.len() + 1)?;
        Some(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vm_fdt::FdtWriter;

    /// A tree with these cells of the root and these memory nodes, between others.
    fn tree(cells: Option<(u32, u32)>, memory: &[&[u32]]) -> Vec<u8> {
        let mut fdt = FdtWriter::new().unwrap();
        let root = fdt.begin_node("").unwrap();
        fdt.property_string("model", "a board").unwrap();
        if let Some((address, size)) = cells {
            fdt.property_u32("#address-cells", address).unwrap();
            fdt.property_u32("#size-cells", size).unwrap();
        }
        let bus = fdt.begin_node("bus").unwrap();
        fdt.property_u32("#address-cells", 1).unwrap();
        let no = fdt.begin_node("memory@0").unwrap();
        fdt.property_array_u32("reg", &[9, 9, 9]).unwrap();
        fdt.end_node(no).unwrap();
        fdt.end_node(bus).unwrap();
        for (index, registers) in memory.iter().enumerate() {
            let name = ["memory", "memory@40000000", "memory@80000000"][index];
            let node = fdt.begin_node(name).unwrap();
            fdt.property_string("device_type", "memory").unwrap();
            fdt.property_array_u32("reg", registers).unwrap();
            fdt.end_node(node).unwrap();
        }
        let other = fdt.begin_node("memory-controller@0").unwrap();
        fdt.property_array_u32("reg", &[7, 7, 7, 7]).unwrap();
        fdt.end_node(other).unwrap();
        fdt.end_node(root).unwrap();
        fdt.finish().unwrap()
    }

    fn ram(data: &[u8]) -> Vec<Range<u64>> {
        Tree::new(data).into_iter().flat_map(Tree::ram).collect()
    }

    #[test]
    fn memory_below_the_root_is_found() {
        let data = tree(
            Some((2, 2)),
            &[&[0, 0x1000, 0, 0x2000], &[1, 0, 1, 0, 2, 0, 0, 1]],
        );
        let expected = [0x1000..0x3000, 1 << 32..2 << 32, 2 << 32..(2 << 32) + 1];
        assert_eq!(ram(&data), expected);
    }

    #[test]
    fn cells_are_those_of_the_root() {
        let expected = vec![(16, 48)];
        let ram = |data: &[u8]| -> Vec<_> {
            ram(data)
                .iter()
                .map(|range| (range.start, range.end))
                .collect()
        };
        assert_eq!(ram(&tree(Some((1, 1)), &[&[16, 32]])), expected);
        assert_eq!(ram(&tree(Some((1, 2)), &[&[16, 0, 32]])), expected);
        // By default two and one.
        assert_eq!(ram(&tree(None, &[&[0, 16, 32]])), expected);
        // Longer ones than this reader knows, and none.
        assert_eq!(ram(&tree(Some((3, 1)), &[&[0, 0, 16, 32]])), []);
        assert_eq!(ram(&tree(Some((1, 0)), &[&[16]])), []);
    }

    #[test]
    fn ranges_that_wrap_or_are_cut_off_are_left_out() {
        let wraps = u32::MAX;
        let data = tree(
            Some((2, 1)),
            &[&[wraps, wraps, 2, 0, 64, 16], &[0, 5, 5, 0]],
        );
        assert_eq!(ram(&data), [64..80, 5..10]);
    }

    #[test]
    fn what_is_no_tree_is_refused() {
        let good = tree(Some((2, 2)), &[&[0, 0, 0, 1]]);
        assert!(Tree::new(&good).is_some());
        assert!(Tree::new(&[]).is_none());
        assert!(Tree::new(&good[..header::BYTES - 1]).is_none());
        assert!(Tree::new(&good[..good.len() - 1]).is_none());
        for (word, value) in [
            (header::MAGIC, 0),
            (header::VERSION, VERSION - 1),
            (header::COMPATIBLE, VERSION + 1),
            (header::STRUCTURE, u32::MAX),
            (header::STRINGS_SIZE, u32::MAX),
        ] {
            let mut bad = good.clone();
            bad[word * 4..][..4].copy_from_slice(&value.to_be_bytes());
            assert!(Tree::new(&bad).is_none(), "word {word}");
        }
    }

    /// Any byte may be wrong: reading ends, and without a panic.
    #[test]
    fn damaged_trees_are_read_to_an_end() {
        let good = tree(Some((2, 2)), &[&[0, 0, 0, 1], &[1, 0, 1, 0]]);
        for index in header::BYTES..good.len() {
            for value in [0, 1, 2, 3, 4, 9, 0x7f, 0xff] {
                let mut bad = good.clone();
                bad[index] = value;
                assert!(ram(&bad).len() < 100);
            }
        }
    }
}
