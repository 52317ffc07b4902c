//! The log of kernel entries that a benchmark requests with `BenchmarkSetLogBuffer`: kind, start and duration
//! of each entry, in a frame of the user. In kernels of kind `bench` only.
//!
//! The format of an entry is that of seL4's kernels that track kernel entries (`benchmark_track_types.h`);
//! times are in ticks.

use super::Scheduler;
use super::usage::Entry;
use crate::arch::{Arch, ArchCap, Frame, Interrupt, UserContext};
use crate::cap::Cap;
use crate::object::{Fault, ThreadSlot};
use abi::registers::{CAP, INFO, SYSCALL};
use abi::{MessageInfo, Rights, Syscall};

/// Bytes of an entry.
const ENTRY_BYTES: usize = 24;
/// Offsets of the duration and of the two parts of the description.
const DURATION: usize = 8;
const PATH: usize = 12;
const DETAILS: usize = 13;
/// The width of each detail: of wider values, the lower bits.
const WORD_BITS: u32 = 26;
const SYSCALL_BITS: u32 = 4;
const CAP_BITS: u32 = 5;
const LABEL_BITS: u32 = 19;

/// The reason for a kernel entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Path {
    Interrupt = 1,
    UnknownSyscall = 2,
    UserException = 3,
    Debug = 4,
    Memory = 5,
    Syscall = 6,
}

/// The description of a kernel entry in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Description {
    path: Path,
    details: u32,
}

const fn low(value: usize, bits: u32) -> u32 {
    value as u32 & ((1 << bits) - 1)
}

impl Description {
    const fn of_word(path: Path, word: usize) -> Self {
        // The bits below the word are the number of the core.
        let details = low(word, WORD_BITS) << 3;
        Self { path, details }
    }

    /// An interrupt.
    const fn interrupt(number: usize) -> Self {
        Self::of_word(Path::Interrupt, number)
    }

    /// A fault.
    const fn fault(fault: Fault) -> Self {
        match fault {
            Fault::UserException { number, .. } => Self::of_word(Path::UserException, number),
            Fault::Debug { reason, .. } => Self::of_word(Path::Debug, reason),
            Fault::UnknownSyscall { number } => Self::of_word(Path::UnknownSyscall, number),
            _ => Self::of_word(Path::Memory, 0),
        }
    }

    const fn syscall(call: Syscall, tag: u8, label: usize) -> Self {
        let number = low(call.number().wrapping_neg(), SYSCALL_BITS);
        let cap = low(tag as usize, CAP_BITS) << SYSCALL_BITS;
        // The bit between them marks fast paths, which are not taken while the log is written.
        let label = low(label, LABEL_BITS) << (SYSCALL_BITS + CAP_BITS + 1);
        let details = number | cap | label;
        Self {
            path: Path::Syscall,
            details,
        }
    }
}

/// The log.
#[derive(Debug, Default)]
pub(super) struct EntryLog {
    frame: Option<Frame>,
    entries: usize,
    /// The description of the current kernel entry.
    entry: Option<Description>,
}

impl EntryLog {
    /// No log.
    pub(super) const NONE: Self = Self {
        frame: None,
        entries: 0,
        entry: None,
    };

    /// Empties the log.
    pub(super) fn clear(&mut self) {
        (self.entries, self.entry) = (0, None);
    }

    /// The number of entries.
    pub(super) const fn len(&self) -> usize {
        self.entries
    }

    /// Adds an entry, if there is room and a description.
    pub(super) fn write<A: Arch>(&mut self, start: u64, duration: u64) {
        let (Some(frame), Some(entry)) = (self.frame, self.entry.take()) else {
            return;
        };
        let offset = self.entries * ENTRY_BYTES;
        if offset + ENTRY_BYTES > 1 << frame.bits {
            return;
        }
        self.entries += 1;
        let mut bytes = [0; ENTRY_BYTES];
        bytes[..DURATION].copy_from_slice(&start.to_ne_bytes());
        let duration = u32::try_from(duration).unwrap_or(u32::MAX);
        bytes[DURATION..PATH].copy_from_slice(&duration.to_ne_bytes());
        bytes[PATH] = entry.path as u8;
        bytes[DETAILS..DETAILS + 4].copy_from_slice(&entry.details.to_ne_bytes());
        let place = (A::to_virtual(frame.address) + offset) as *mut [u8; ENTRY_BYTES];
        // SAFETY: the entry lies in a frame of RAM to which a capability exists: when one is deleted,
        // `drop_log` drops the log. User memory holds no kernel data; volatile, because user programs read
        // it.
        unsafe { place.write_volatile(bytes) }
    }
}

impl<A: Arch> Scheduler<A> {
    /// Makes a frame the log. Returns false unless it is RAM to which the caller has read and write access.
    pub(crate) fn set_log(&mut self, root: Cap<A>, address: usize) -> bool {
        let cap = self.lookup_cap(root, address).map(|slot| self[slot].cap());
        let Ok(Cap::Arch(cap)) = cap else {
            return false;
        };
        match cap.frame() {
            Some(frame) if !frame.device && frame.rights.contains(Rights::READ_WRITE) => {
                self.core.measurement.log = EntryLog {
                    frame: Some(frame),
                    ..EntryLog::NONE
                };
                true
            }
            _ => false,
        }
    }

    /// A capability is deleted: if it refers to the frame of the log, logging ends.
    pub(crate) fn drop_log(&mut self, deleted: A::Cap) {
        let log = &mut self.core.measurement.log;
        if cfg!(feature = "bench")
            && let (Some(frame), Some(deleted)) = (log.frame, deleted.frame())
            && frame.address == deleted.address
        {
            *log = EntryLog::NONE;
        }
    }

    /// Stores the description of the current kernel entry, if there is a log.
    pub(super) fn describe_entry(&mut self, entry: &Entry) {
        if self.core.measurement.log.frame.is_none() {
            return;
        }
        let description = match *entry {
            Entry::Syscall(call) => self.describe_syscall(call),
            Entry::Fault(fault) => Some(Description::fault(fault)),
            Entry::Interrupt(Interrupt::Line(irq)) => Some(Description::interrupt(irq.0)),
            Entry::Interrupt(_) => Some(Description::interrupt(0)),
        };
        self.core.measurement.log.entry = description;
    }

    fn describe_syscall(&self, call: Option<Syscall>) -> Option<Description> {
        let thread = self.core.current?;
        let context = &self[thread].context;
        let Some(call) = call else {
            let number = context.get(SYSCALL);
            return Some(Description::fault(Fault::UnknownSyscall { number }));
        };
        let root = self[thread].cap(ThreadSlot::CSpace);
        let tag = self
            .lookup_cap(root, context.get(CAP))
            .map_or(0, |slot| self[slot].raw().tag());
        let label = MessageInfo(context.get(INFO)).label();
        Some(Description::syscall(call, tag, label))
    }
}
