//! The memory that a component may write, if it may have to start again: the initialiser fills all of it then, and
//! has a limit for that.

use anyhow::{anyhow, bail};
use object::elf::PF_W;
use system_description::Size;
use system_table::{Component, MOST_WRITABLE_PAGES, Table};

use crate::Result;
use crate::image::elf::Executable;

/// Checks all components of a table; `program` reads the program of this name, if it is known.
pub(crate) fn check(
    table: &[u8],
    program: impl Fn(&str) -> Result<Option<Executable>>,
) -> Result<()> {
    let table = Table::parse(table).map_err(|damage| anyhow!("{}", damage.what))?;
    for (one, _) in table.components().filter(|(one, _)| one.may_restart()) {
        fits(
            &one,
            program(one.program)?.map_or(0, |file| writable_pages(&file)),
        )?;
    }
    Ok(())
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
    bail!(
        "`{}` may write {}: {variables}a stack of {}, a heap of {}, a message buffer of {}; a component that can be \
         restarted may write {}: reduce them, or remove `restart`",
        one.name,
        size(all),
        size(stack),
        size(heap),
        size(BUFFER),
        size(most),
    )
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
}
