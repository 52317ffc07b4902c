//! Whether the components fit into the memory of the machine, with what else takes memory there.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use anyhow::anyhow;
use system_description::Size;
use system_table::{ArenaSize, Component, Gifts, OnTimeout, Table, Time};

use super::about::about;
use crate::Result;
use crate::image::elf::Executable;

const PAGE: u64 = Size::PAGE.as_bytes();
/// Pages of the kernel, and of what it gives the initialiser when it starts, at the most.
const KERNEL: u64 = (4 << 20) / PAGE;
/// Bytes of a replenishment.
const REFILL: u64 = 16;
/// Pages of a component's smaller objects, which are not in memory of its own.
const SMALLER: u64 = 4;

/// Checks all components of a table on a machine with this memory. The initialiser takes `image` pages of it, with the
/// archive of the programs; `program` reads the program of this name. What is not known yet counts as nothing.
pub(crate) fn check(
    table: &[u8],
    memory: Size,
    image: u64,
    program: impl Fn(&str) -> Result<Option<Executable>>,
) -> Result<()> {
    let table = Table::parse(table).map_err(|damage| anyhow!("{}", damage.what))?;
    let mut programs = BTreeMap::new();
    for (one, _) in table.components() {
        if let Entry::Vacant(new) = programs.entry(one.program) {
            new.insert(program(one.program)?);
        }
    }
    let taken = table.components().map(|(one, gifts)| {
        let file = programs.get(one.program).and_then(Option::as_ref);
        (pages_of(&table, &one, gifts, file), one.name)
    });
    let taken: Vec<_> = taken.collect();
    let shared = table.regions().map(|region| u64::from(region.pages)).sum();
    let shared = ArenaSize::of_frames(shared).most_pages();
    let components: u64 = taken.iter().map(|(pages, _)| pages).sum();
    let all = Size::from_bytes((KERNEL + image + shared + components) * PAGE);
    if let Some((most, name)) = taken.iter().max()
        && all > memory
    {
        let whole = |size: u64| Size::from_bytes(size.next_multiple_of(1 << 20));
        let message = format!(
            "the components, what they share, their programs and the kernel take {}, and the machine has {memory}; \
             `{name}` takes {}: make its program's variables, its stack or its heap smaller",
            whole(all.as_bytes()),
            whole(most * PAGE),
        );
        return Err(about(name, message));
    }
    Ok(())
}

/// The pages that a component takes.
fn pages_of(
    table: &Table<'_>,
    one: &Component<'_>,
    gifts: Gifts<'_>,
    program: Option<&Executable>,
) -> u64 {
    let segments = program.into_iter().flat_map(|program| &program.segments);
    let program: u64 = segments.map(|one| one.memory_size.div_ceil(PAGE)).sum();
    let own = program + u64::from(one.stack_pages) + u64::from(one.heap_pages);
    let arena = ArenaSize::of_component(own, table.mapped_pages(gifts));
    let emergency = match one.on_timeout {
        OnTimeout::Emergency { time } => context(time),
        _ => 0,
    };
    arena.most_pages() + context(one.time) + emergency + SMALLER
}

/// The pages of a context, whose size is a power of two.
fn context(time: Time) -> u64 {
    (u64::from(time.extra_refills) * 2 * REFILL).div_ceil(PAGE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::elf::{Class, Format, Machine, Segment};
    use crate::system::table::{self, tests::described};
    use object::elf::{FileFlags, PF_R, PF_W, PF_X, ProgramFlags};

    /// The pages of the initialiser, with programs.
    const IMAGE: u64 = 128;

    /// The complaint about components with a heap, whose program has variables of this size, on a machine with 128 MiB.
    fn complaint(heap: &str, more: &str, variables: Option<u64>) -> Option<String> {
        let text = format!(
            "[component.pump]\nprogram = 'pump-program'\nslice = '5 ms'\npriority = 1\nheap = '{heap}'\n{more}"
        );
        let bytes = table::of(&described(&text)).unwrap();
        let segment = |flags: ProgramFlags, memory_size| Segment {
            virtual_address: 0x40_0000,
            physical_address: 0x40_0000,
            data: Vec::new(),
            memory_size,
            flags,
        };
        let program = |_: &str| {
            Ok(variables.map(|variables| Executable {
                format: Format {
                    class: Class::Elf64,
                    machine: Machine::X86_64,
                },
                flags: FileFlags(0),
                entry: 0x40_0000,
                segments: vec![
                    segment(PF_R | PF_X, 0x10_0000),
                    segment(PF_R | PF_W, variables),
                ],
                is_static: true,
                symbols: Vec::new(),
            }))
        };
        let error = check(&bytes, Size::from_bytes(128 << 20), IMAGE, program).err();
        error.map(|error| error.to_string())
    }

    #[test]
    fn a_component_may_have_nearly_all_memory() {
        for more in ["", "on-fault = 'restart'"] {
            assert_eq!(complaint("100 MiB", more, Some(4096)), None);
            assert_eq!(complaint("4 KiB", more, Some(100 << 20)), None);
            assert_eq!(complaint("110 MiB", more, None), None);
        }
    }

    /// Those of the CNodes for the component and for what is shared, too.
    #[test]
    fn each_page_counts() {
        let shared = "memory.buffer = 'read-write'\n[memory.buffer]\nsize = '65540 KiB'\n";
        assert_eq!(complaint("56308 KiB", shared, None), None);
        assert!(complaint("56312 KiB", shared, None).is_some());
    }

    #[test]
    fn a_program_that_is_larger_than_the_memory_is_refused() {
        assert_eq!(
            complaint("1 MiB", "", Some(124 << 20)).unwrap(),
            "the components, what they share, their programs and the kernel take 135 MiB, and the machine has 128 MiB; \
             `pump` takes 130 MiB: make its program's variables, its stack or its heap smaller"
        );
    }

    #[test]
    fn all_components_together_have_a_limit() {
        let some = |instances: u32| complaint("2 MiB", &format!("instances = {instances}\n"), None);
        assert_eq!(some(40), None);
        // Before the programs are built, too.
        let shared = "memory.buffer = 'read-write'\n[memory.buffer]\nsize = '120 MiB'\n";
        let words = complaint("2 MiB", shared, None).unwrap();
        assert!(
            words.starts_with("the components, what they share"),
            "{words}"
        );
        assert!(
            words.contains("the machine has 128 MiB; `pump` takes "),
            "{words}"
        );
    }
}
