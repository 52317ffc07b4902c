//! What Microkit's tool computes of a kernel that it has not seen running: it lays a system out in memory that it takes to
//! be free, by the kernel's file and by three descriptions. A stand-in for the tool, so that a test can compare the result
//! with what the kernel gives.

use std::collections::BTreeMap;

use anyhow::{Context, bail, ensure};

use super::configuration::Values;
use super::description::{Memory, Range};
use crate::Result;
use crate::image::elf::{Class, Executable, Segment};

/// Bytes of a page, and of a block by which the loader maps the kernel.
const PAGE: u64 = 4 << 10;
const BLOCK: u64 = 2 << 20;
const GIB: u64 = 1 << 30;
/// The initial task begins at a multiple of this.
const TASK: u64 = 64 << 10;
/// Bytes of the initial task's scheduling context.
const SCHED_CONTEXT: u64 = 128;
/// The spans of the tables below the root of an address space.
const SPANS: [u64; 3] = [1 << 39, 1 << 30, 1 << 21];

/// The memory of a kernel, by its file: physical addresses.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Kernel {
    start: u64,
    /// The end of what is there only until the initial task runs.
    boot_end: u64,
    end: u64,
}

impl Kernel {
    /// Refuses files that the tool or its loader would not understand.
    pub(super) fn of(file: &Executable) -> Result<Self> {
        ensure!(
            file.format.class == Class::Elf64,
            "the kernel is no 64-bit file"
        );
        let first = file
            .segments
            .first()
            .context("the kernel has nothing to load")?;
        let offset = |segment: &Segment| {
            segment
                .virtual_address
                .wrapping_sub(segment.physical_address)
        };
        let all = || file.segments.iter();
        ensure!(
            all().all(|one| offset(one) == offset(first)),
            "the kernel's segments have different offsets between virtual and physical addresses"
        );
        ensure!(
            all().all(|one| one.virtual_address >= first.virtual_address),
            "the kernel's first segment is not the lowest"
        );
        ensure!(
            offset(first) % BLOCK == 0,
            "the kernel cannot be mapped by blocks of 2 MiB"
        );
        let end = all().map(Segment::virtual_end).max().unwrap_or_default();
        ensure!(
            first.virtual_address / GIB == (end - 1) / GIB,
            "the kernel crosses a multiple of 1 GiB"
        );
        ensure!(
            (first.virtual_address..end).contains(&file.entry),
            "the kernel's entry point is no virtual address of it"
        );
        let symbol = |name| -> Result<u64> {
            let value = file.symbol(name);
            let value = value.with_context(|| format!("the kernel has no symbol `{name}`"))?;
            Ok(value.wrapping_sub(offset(first)))
        };
        let kernel = Self {
            start: first.physical_address,
            boot_end: symbol("ki_boot_end")?,
            end: symbol("ki_end")?,
        };
        ensure!(
            kernel.end >= end.wrapping_sub(offset(first)),
            "the kernel ends before its last segment"
        );
        Ok(kernel)
    }
}

/// The descriptions in the folder of a configuration.
pub(super) struct Folder {
    /// `gen_config.json`.
    pub(super) values: Values,
    /// `object_sizes.json`.
    pub(super) sizes: BTreeMap<String, u64>,
    /// `platform_gen.json`.
    pub(super) memory: Memory,
}

impl Folder {
    fn bytes(&self, object: &str) -> Result<u64> {
        let bits = self.sizes.get(object);
        let bits = bits.with_context(|| format!("object_sizes.json has no number `{object}`"))?;
        Ok(1 << bits)
    }
}

/// What the initial task may rely on.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Promise {
    /// Where it begins.
    pub(super) task: u64,
    /// Free memory, in order.
    pub(super) memory: Vec<Range>,
}

impl Promise {
    /// The promise to a task with these virtual addresses.
    pub(super) fn of(kernel: &Kernel, folder: &Folder, task: Range) -> Result<Self> {
        let mut free = folder.memory.memory.clone();
        remove(
            &mut free,
            Range {
                start: kernel.start,
                end: kernel.end,
            },
        );
        let start = kernel.end.next_multiple_of(TASK);
        let own = Range {
            start,
            end: start + (task.end - task.start),
        };
        let fits = |one: &Range| one.start <= own.start && own.end <= one.end;
        if !free.iter().any(fits) {
            bail!("the initial task does not fit into memory behind the kernel");
        }
        remove(&mut free, own);
        // Boot code is free later.
        free.push(Range {
            start: kernel.start,
            end: kernel.boot_end,
        });
        free.retain(|one| one.start < one.end);
        free.sort_by_key(|one| one.start);

        let cnode = folder.bytes("slot")? << folder.values.number("ROOT_CNODE_SIZE_BITS")?;
        // IPC buffer and boot information are behind the task.
        let end = task.end + 2 * PAGE;
        let tables = SPANS.map(|span| end.div_ceil(span) - task.start / span);
        let size = cnode
            + folder.bytes("tcb")?
            + 2 * PAGE
            + folder.bytes("asid_pool")?
            + folder.bytes("vspace")?
            + tables.iter().sum::<u64>() * folder.bytes("page_table")?
            + SCHED_CONTEXT;
        let place = |one: &Range| {
            let start = one.end.checked_sub(size)? / cnode * cnode;
            (start >= one.start).then_some(start)
        };
        let start = free.iter().filter_map(place).max();
        let start = start.context("the initial objects do not fit into memory")?;
        remove(
            &mut free,
            Range {
                start,
                end: start + size,
            },
        );
        Ok(Self {
            task: own.start,
            memory: free,
        })
    }
}

/// Removes a range from others.
fn remove(ranges: &mut Vec<Range>, hole: Range) {
    let parts = ranges.iter().flat_map(|one| {
        let before = Range {
            start: one.start,
            end: one.end.min(hole.start),
        };
        let behind = Range {
            start: one.start.max(hole.end),
            end: one.end,
        };
        [before, behind]
    });
    *ranges = parts.filter(|part| part.start < part.end).collect();
}
