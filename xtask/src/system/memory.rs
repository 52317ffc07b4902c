//! What the initialiser has limits for: the memory that a component may write, if it may have to start again, since all
//! of it is filled then; and the memory of all components, since each page takes a slot of the initialiser's CNode.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use abi::config::ROOT_CNODE_BITS;
use abi::{MAX_BOOT_UNTYPEDS, slots};
use anyhow::anyhow;
use object::elf::PF_W;
use system_description::Size;
use system_table::{Component, Gift, Gifts, MOST_WRITABLE_PAGES, SLOTS_OF_COMPONENT, Table};

use super::about::about;
use crate::Result;
use crate::image::elf::Executable;

/// Pages of the initialiser itself, and of what the kernel tells it, at the most.
const INITIALISER: u64 = 128;
/// Slots that the initialiser takes for itself: its endpoint for faults, a clock, tables of pages.
const OWN_SLOTS: u64 = 64;
/// Slots for the device memory that is left when the first page of a device is taken out of it.
const SLOTS_OF_DEVICE: u64 = 40;

/// Checks all components of a table; `program` reads the program of this name, if it is known.
pub(crate) fn check(
    table: &[u8],
    program: impl Fn(&str) -> Result<Option<Executable>>,
) -> Result<()> {
    let table = Table::parse(table).map_err(|damage| anyhow!("{}", damage.what))?;
    let mut programs = BTreeMap::new();
    for (one, _) in table.components() {
        let file = match programs.entry(one.program) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(program(one.program)?),
        };
        if one.may_restart() {
            fits(&one, file.as_ref().map_or(0, writable_pages))?;
        }
    }
    all_fit(&table, &programs)
}

/// Checks that the initialiser has a slot for each page of all components, and for what else they consist of.
fn all_fit(table: &Table<'_>, programs: &BTreeMap<&str, Option<Executable>>) -> Result<()> {
    let taken = table.components().map(|(one, gifts)| {
        let file = programs.get(one.program).and_then(Option::as_ref);
        (slots_of(table, &one, gifts, file), one.name)
    });
    let taken: Vec<_> = taken.collect();
    let shared: u64 = table.regions().map(|region| u64::from(region.pages)).sum();
    let endpoints = 2 * table.endpoints().count() as u64;
    let all = taken.iter().map(|(slots, _)| slots).sum::<u64>() + shared + endpoints + OWN_SLOTS;
    let files = programs.values().flatten();
    let image = INITIALISER + files.map(pages_of_file).sum::<u64>();
    let left = slots_left(image);
    if let Some((most, name)) = taken.iter().max()
        && all > left
    {
        let message = format!(
            "the components take {all} slots of the initialiser, one for each page of their memory and \
             {SLOTS_OF_COMPONENT} for each of them, and it has {left}; `{name}` takes {most}: make its program's \
             variables, its stack or its heap smaller, or write a root task, and name it as `root`"
        );
        return Err(about(name, message));
    }
    Ok(())
}

/// The slots that the initialiser needs for a component.
fn slots_of(
    table: &Table<'_>,
    one: &Component<'_>,
    gifts: Gifts<'_>,
    program: Option<&Executable>,
) -> u64 {
    let of_gift = |gift: Gift<'_>| match gift {
        Gift::Memory { region, .. } => {
            let region = table.regions().nth(region.into());
            region.map_or(0, |region| u64::from(region.pages))
        }
        Gift::Registers { pages, .. } => u64::from(pages) + SLOTS_OF_DEVICE,
        Gift::Interrupt { .. } => 1,
        _ => 0,
    };
    let given: u64 = gifts.iter().map(of_gift).sum();
    let segments = program.into_iter().flat_map(|program| &program.segments);
    let program: u64 = segments.map(|one| one.memory_size.div_ceil(PAGE)).sum();
    let own = u64::from(one.stack_pages) + u64::from(one.heap_pages);
    program + own + given + SLOTS_OF_COMPONENT as u64
}

/// The pages of a program's file in the image.
fn pages_of_file(program: &Executable) -> u64 {
    let bytes: usize = program.segments.iter().map(|one| one.data.len()).sum();
    // The headers are less than a page.
    (bytes as u64).div_ceil(PAGE) + 1
}

/// The slots that the kernel leaves to an initial thread with so many pages, at the least
/// (`kernel/src/boot/initial_thread.rs`): if its image would take more than half of them, there are more.
fn slots_left(image: u64) -> u64 {
    /// One SchedControl for each core.
    const MOST_CORES: usize = 64;
    const OTHERS: usize = MAX_BOOT_UNTYPEDS + slots::FIRST_DYNAMIC + MOST_CORES;
    let all = 1 << ROOT_CNODE_BITS;
    let tables = image.div_ceil(1 << 8) + 8;
    let left = u64::saturating_sub(all, OTHERS as u64 + image + tables);
    left.max(all / 2)
}

/// Checks a component whose program has so many pages that it may write.
fn fits(one: &Component<'_>, program: u64) -> Result<()> {
    /// The buffer for messages.
    const BUFFER: u64 = 1;
    let most = MOST_WRITABLE_PAGES as u64;
    let (stack, heap) = (u64::from(one.stack_pages), u64::from(one.heap_pages));
    let all = program + stack + heap + BUFFER;
    if all <= most {
        return Ok(());
    }
    let size = |pages: u64| Size::from_bytes(pages * PAGE);
    let variables = match program {
        0 => String::new(),
        pages => format!("{} of its program `{}`, ", size(pages), one.program),
    };
    let message = format!(
        "`{}` may write {}: {variables}a stack of {}, a heap of {}, a message buffer of {}; a component that can be \
         restarted may write {}: reduce them, or remove `restart`",
        one.name,
        size(all),
        size(stack),
        size(heap),
        size(BUFFER),
        size(most),
    );
    Err(about(one.name, message))
}

const PAGE: u64 = Size::PAGE.as_bytes();

fn writable_pages(program: &Executable) -> u64 {
    let segments = program.segments.iter();
    let writable = segments.filter(|segment| segment.flags.contains(PF_W));
    writable
        .map(|segment| segment.memory_size.div_ceil(PAGE))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::elf::{Class, Format, Machine, Segment};
    use crate::system::table::{self, tests::described};
    use object::elf::{FileFlags, PF_R, PF_X, ProgramFlags};

    /// The complaint about a component with a heap, whose program has variables of this size.
    fn complaint(heap: &str, more: &str, variables: u64) -> Option<String> {
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
            Ok(Some(Executable {
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
        let error = check(&bytes, program).err();
        error.map(|error| error.to_string())
    }

    #[test]
    fn a_component_that_restarts_may_write_so_much_and_no_more() {
        const RESTART: &str = "on-fault = 'restart'";
        assert_eq!(complaint("488 KiB", RESTART, 4096), None);
        assert_eq!(
            complaint("488 KiB", RESTART, 4097).unwrap(),
            "`pump` may write 516 KiB: 8 KiB of its program `pump-program`, a stack of 16 KiB, a heap of 488 KiB, a \
             message buffer of 4 KiB; a component that can be restarted may write 512 KiB: reduce them, or remove \
             `restart`"
        );
        assert_eq!(complaint("2 MiB", "", 4097), None);
    }

    #[test]
    fn a_program_that_is_larger_than_all_slots_is_refused() {
        assert_eq!(complaint("4 KiB", "", 8 << 20), None);
        let words = complaint("4 KiB", "", 64 << 20).unwrap();
        let begin = "the components take 16774 slots of the initialiser, one for each page of their memory and 65";
        assert!(words.starts_with(begin), "{words}");
        assert!(words.contains("; `pump` takes 16710: "), "{words}");
    }

    #[test]
    fn all_components_together_have_a_limit() {
        let complaint = |instances: u32| {
            let text = format!(
                "[component.pump]\nprogram = 'pump'\nslice = '5 ms'\npriority = 1\nheap = '2 MiB'\n\
                 instances = {instances}\n"
            );
            let error = table::of(&described(&text)).err();
            error.map(|error| error.to_string())
        };
        // Before the programs are built, too.
        assert_eq!(complaint(5), None);
        let words = complaint(7).unwrap();
        let begin = "the components take 4131 slots";
        assert!(words.starts_with(begin), "{words}");
    }

    #[test]
    fn half_of_the_slots_are_left_whatever_the_image() {
        let half = 1 << (ROOT_CNODE_BITS - 1);
        assert!(slots_left(INITIALISER) > 3_500);
        for image in [0, 1_000, 1_700, 1_800, 5_000, u64::MAX >> 1] {
            assert!(slots_left(image) >= half, "{image}");
        }
    }
}
