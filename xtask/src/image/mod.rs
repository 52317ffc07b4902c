//! The boot image: kernel and root task in one file for a loader of physical memory.
//!
//! The kernel is used as its linker wrote it, with physical load addresses in its program headers. The root
//! task, with the archive of its system's components behind it, is flattened to its memory contents, page by
//! page, and appended in further segments after the kernel. Its location is written to the kernel's variable
//! [`ROOT_TASK`], so that booting needs neither a second file nor an ELF loader in the kernel.
//!
//! If cores start in another state than the kernel needs, a stub is added. It is entered first, and finds the
//! kernel by its variable [`KERNEL_ENTRY`].

pub(crate) mod elf;
pub(crate) mod file;

use anyhow::{Context, bail};

use crate::Result;
use elf::{Executable, Format, Segment};

/// The kernel's variable: six little-endian words of 64 bits, namely a magic
/// number, the root task's physical start and end, its virtual start and end,
/// and its entry point.
const ROOT_TASK: &str = "ROOT_TASK";

/// The required first word of [`ROOT_TASK`]: "ESCAPEMT".
const MAGIC: u64 = 0x4553_4341_5045_4d54;

/// The symbol of the kernel's entry point, a physical address.
const START: &str = "_start";

/// The stub's variable with the kernel's entry point, in 64 bits.
const KERNEL_ENTRY: &str = "KERNEL_ENTRY";

/// The variable of a loader, seven words of 64 bits: the kernel's entry point, its first virtual and its first physical
/// address; the root task's physical start and end, the difference of its physical and its virtual addresses, and its
/// entry point. With such a loader the kernel's variable stays as it is.
const LOADED: &str = "LOADED";

/// The root task's variable with the address and the size of its archive, each a word of its machine; see
/// `userlib/src/archive.rs`.
const ARCHIVE: &str = "USERLIB_ARCHIVE";

const PAGE: u64 = 4096;

/// The root task's alignment: the largest of the boards' small page sizes, so that each of them can map it.
const ROOT_TASK_ALIGNMENT: u64 = 64 * 1024;

/// Reads a root task, puts `archive` behind it, and checks that it fits a machine of `format` with `memory` bytes.
pub(crate) fn root_task(
    bytes: &[u8],
    archive: Option<Vec<u8>>,
    format: Format,
    memory: u64,
) -> Result<Executable> {
    let mut task = Executable::parse(bytes)?;
    if task.format != format {
        bail!(
            "it is a {} program, and this platform runs {format} programs",
            task.format
        );
    }
    if !task.is_static {
        bail!("it is not statically linked to a fixed address");
    }
    if let Some(archive) = archive {
        attach(&mut task, archive)?;
    }
    let (start, end) = pages(&task).context("it has nothing to load")?;
    if end - start > memory {
        bail!(
            "it spans {} MiB of addresses, more than the machine has memory",
            (end - start) >> 20
        );
    }
    if !(start..end).contains(&task.entry) {
        bail!(
            "its entry point {:#x} lies outside of its segments",
            task.entry
        );
    }
    Ok(task)
}

/// Puts `archive` on the pages behind `task`, and writes where it is into the task's variable [`ARCHIVE`]. A task
/// without the variable uses no archive.
fn attach(task: &mut Executable, archive: Vec<u8>) -> Result<()> {
    if task.symbol(ARCHIVE).is_none() {
        return Ok(());
    }
    let (_, end) = pages(task).context("it has nothing to load")?;
    let size = archive.len() as u64;
    let word = match task.format.class {
        elf::Class::Elf32 => 4,
        elf::Class::Elf64 => 8,
    };
    let mut segments = task.segments.clone();
    let variable = variable(task, &mut segments, ARCHIVE, 2 * word)?;
    for (place, value) in variable.chunks_exact_mut(word).zip([end, size]) {
        place.copy_from_slice(&value.to_le_bytes()[..word]);
    }
    segments.push(Segment {
        virtual_address: end,
        physical_address: end,
        data: archive,
        memory_size: size,
        flags: object::elf::PF_R,
    });
    for segment in &segments {
        segment.check()?;
    }
    task.segments = segments;
    Ok(())
}

/// Puts `root_task` after `kernel` and `stub` before it, for a loader of `format`.
pub(crate) fn assemble(
    kernel: &Executable,
    root_task: &Executable,
    stub: Option<&Executable>,
    format: Format,
) -> Result<Vec<u8>> {
    let kernel_entry = kernel
        .symbol(START)
        .with_context(|| format!("it has no symbol `{START}`"))?;
    let end = kernel.segments.iter().map(Segment::physical_end).max();
    let physical_start = end
        .context("it has nothing to load")?
        .next_multiple_of(ROOT_TASK_ALIGNMENT);
    let (virtual_start, virtual_end) =
        pages(root_task).context("the root task has nothing to load")?;
    let physical_end = physical_start + (virtual_end - virtual_start);

    let words = [
        MAGIC,
        physical_start,
        physical_end,
        virtual_start,
        virtual_end,
        root_task.entry,
    ];
    let mut segments = kernel.segments.clone();
    let loader = stub.filter(|stub| stub.symbol(LOADED).is_some());
    if loader.is_none() {
        describe(kernel, &mut segments, &words)?;
    }
    let mut first = (kernel_entry, kernel);
    if let Some(stub) = stub {
        let mut own = stub.segments.clone();
        if loader.is_some() {
            let base = segments.iter().min_by_key(|one| one.physical_address);
            let base = base.context("it has nothing to load")?;
            let words = [
                kernel.entry,
                base.virtual_address,
                base.physical_address,
                physical_start,
                physical_end,
                physical_start.wrapping_sub(virtual_start),
                root_task.entry,
            ];
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            variable(stub, &mut own, LOADED, bytes.len())?.copy_from_slice(&bytes);
        } else {
            variable(stub, &mut own, KERNEL_ENTRY, 8)?.copy_from_slice(&kernel_entry.to_le_bytes());
        }
        segments.extend(own);
        first = (stub.entry, stub);
    }
    let (entry, first) = first;
    for (start, end, data) in pieces(root_task)? {
        segments.push(Segment {
            virtual_address: start,
            physical_address: physical_start + (start - virtual_start),
            data,
            memory_size: end - start,
            flags: object::elf::PF_R | object::elf::PF_W | object::elf::PF_X,
        });
    }
    for segment in &mut segments {
        segment.virtual_address = segment.physical_address;
    }
    segments.sort_by_key(|segment| segment.physical_address);
    check_order(&segments)?;
    let limit = if format.class == elf::Class::Elf32 {
        1 << 32
    } else {
        u64::MAX
    };
    if physical_end > limit || entry >= limit {
        bail!("its addresses do not fit into a {format} boot image");
    }
    Executable {
        format,
        entry,
        segments,
        ..first.clone()
    }
    .write()
}

/// The kernel alone for a boot loader of `format`, which brings the root task separately.
pub(crate) fn without_task(kernel: &Executable, format: Format) -> Result<Vec<u8>> {
    let entry = kernel.symbol(START);
    let mut alone = Executable {
        format,
        entry: entry.with_context(|| format!("it has no symbol `{START}`"))?,
        ..kernel.clone()
    };
    for segment in &mut alone.segments {
        segment.virtual_address = segment.physical_address;
    }
    alone.write()
}

/// Writes `bytes` into a variable of a task.
pub(crate) fn fill(task: &mut Executable, name: &str, bytes: &[u8]) -> Result<()> {
    let mut segments = task.segments.clone();
    variable(task, &mut segments, name, bytes.len())?.copy_from_slice(bytes);
    task.segments = segments;
    Ok(())
}

/// The range of pages that the segments cover.
pub(crate) fn pages(executable: &Executable) -> Option<(u64, u64)> {
    let start = executable
        .segments
        .iter()
        .map(|segment| segment.virtual_address)
        .min()?;
    let end = executable.segments.iter().map(Segment::virtual_end).max()?;
    Some((start / PAGE * PAGE, end.checked_next_multiple_of(PAGE)?))
}

/// How many pages the segments cover.
pub(crate) fn page_count(executable: &Executable) -> u64 {
    pages(executable).map_or(0, |(start, end)| (end - start) / PAGE)
}

/// The pages of a program in pieces that together cover all from its first to its last page: the addresses of start
/// and end, and the data up to the last byte that is not initially zero. Segments that share a page are in one piece.
fn pieces(executable: &Executable) -> Result<Vec<(u64, u64, Vec<u8>)>> {
    let mut segments: Vec<_> = executable.segments.iter().collect();
    segments.sort_by_key(|segment| segment.virtual_address);
    let mut pieces: Vec<(u64, u64, Vec<u8>)> = Vec::new();
    for segment in segments {
        let start = segment.virtual_address / PAGE * PAGE;
        let end = segment.virtual_end();
        let end = end
            .checked_next_multiple_of(PAGE)
            .context("it ends at the last address")?;
        match pieces.last_mut() {
            Some((_, last, _)) if *last > start => *last = end.max(*last),
            Some((_, last, _)) => {
                *last = start;
                pieces.push((start, end, Vec::new()));
            }
            None => pieces.push((start, end, Vec::new())),
        }
        let Some((start, _, memory)) = pieces.last_mut() else {
            continue;
        };
        let offset = usize::try_from(segment.virtual_address - *start)?;
        let end = offset + segment.data.len();
        memory.resize(memory.len().max(end), 0);
        memory[offset..end].copy_from_slice(&segment.data);
    }
    Ok(pieces)
}

/// Writes `words` into the kernel's variable [`ROOT_TASK`].
fn describe(kernel: &Executable, segments: &mut [Segment], words: &[u64; 6]) -> Result<()> {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let variable = variable(kernel, segments, ROOT_TASK, bytes.len())?;
    if variable[..8] != MAGIC.to_le_bytes() {
        bail!("its `{ROOT_TASK}` does not begin with the magic number");
    }
    variable.copy_from_slice(&bytes);
    Ok(())
}

/// The variable `name` of `executable`, in its segments.
fn variable<'a>(
    executable: &Executable,
    segments: &'a mut [Segment],
    name: &str,
    length: usize,
) -> Result<&'a mut [u8]> {
    let address = executable
        .symbol(name)
        .with_context(|| format!("it has no symbol `{name}`"))?;
    segments
        .iter_mut()
        .find_map(|segment| {
            let offset = usize::try_from(address.checked_sub(segment.virtual_address)?).ok()?;
            segment.data.get_mut(offset..offset.checked_add(length)?)
        })
        .with_context(|| format!("its `{name}` is not in initialised memory"))
}

/// Refuses segments that overlap in memory.
fn check_order(segments: &[Segment]) -> Result<()> {
    for pair in segments.windows(2) {
        if pair[0].physical_end() > pair[1].physical_address {
            bail!(
                "two of its segments overlap at physical address {:#x}",
                pair[1].physical_address
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
