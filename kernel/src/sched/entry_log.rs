//! The log of kernel entries that a benchmark requests with `BenchmarkSetLogBuffer`: kind, start and duration
//! of each entry, in a frame of the user. In kernels of kind `bench` only.
//!
//! The format of an entry is that of seL4's kernels that track kernel entries (`benchmark_track_types.h`);
//! times are in ticks.

use super::usage::EntryReason;
use super::{Exclusive, Scheduler};
use crate::arch::{Arch, ArchCap, Frame, Interrupt, UserContext};
use crate::object::{Fault, Thread};
use crate::token::Ptr;
use abi::registers::{CAP, INFO, SYSCALL};
use abi::{MessageInfo, Rights, Syscall};

/// An entry.
#[repr(C)]
struct LogEntry {
    start: u64,
    duration: u32,
    reason: u8,
    details: [u8; 4],
    padding: [u8; 7],
}

/// The width of each detail: of wider values, the lower bits.
const WORD_BITS: u32 = 26;
const SYSCALL_BITS: u32 = 4;
const CAP_BITS: u32 = 5;
const LABEL_BITS: u32 = 19;

/// The description of a kernel entry in the log: the number of its reason, and the details.
type Description = (u8, u32);

const INTERRUPT: u8 = 1;
const UNKNOWN_SYSCALL: u8 = 2;
const USER_EXCEPTION: u8 = 3;
const DEBUG: u8 = 4;
const MEMORY: u8 = 5;
const SYSTEM_CALL: u8 = 6;

const fn low(value: usize, bits: u32) -> u32 {
    value as u32 & ((1 << bits) - 1)
}

/// The description with a word as the details. The bits below it are the number of the core.
const fn with_word(reason: u8, word: usize) -> Description {
    (reason, low(word, WORD_BITS) << 3)
}

const fn of_fault(fault: Fault) -> Description {
    match fault {
        Fault::UserException { number, .. } => with_word(USER_EXCEPTION, number),
        Fault::Debug { reason, .. } => with_word(DEBUG, reason),
        Fault::UnknownSyscall { number } => with_word(UNKNOWN_SYSCALL, number),
        _ => with_word(MEMORY, 0),
    }
}

const fn of_syscall(call: Syscall, tag: u8, label: usize) -> Description {
    let number = low(call.number().wrapping_neg(), SYSCALL_BITS);
    let cap = low(tag as usize, CAP_BITS) << SYSCALL_BITS;
    // The bit between them marks fast paths, which are not taken while the log is written.
    let label = low(label, LABEL_BITS) << (SYSCALL_BITS + CAP_BITS + 1);
    (SYSTEM_CALL, number | cap | label)
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
        if (self.entries + 1) * size_of::<LogEntry>() > 1 << frame.bits {
            return;
        }
        let place = (A::to_virtual(frame.address) as *mut LogEntry).wrapping_add(self.entries);
        self.entries += 1;
        let entry = LogEntry {
            start,
            duration: duration.try_into().unwrap_or(u32::MAX),
            reason: entry.0,
            details: entry.1.to_ne_bytes(),
            padding: [0; 7],
        };
        // SAFETY: the entry lies in a frame of RAM to which a capability exists: when one is deleted,
        // `drop_log` drops the log. User memory holds no kernel data; volatile, because user programs read
        // it.
        unsafe { place.write_volatile(entry) }
    }
}

impl<A: Arch> Exclusive<'_, A> {
    /// A capability is deleted: if it refers to the frame of a core's log, that core's logging ends.
    pub(crate) fn drop_log(&mut self, deleted: A::Cap) {
        if cfg!(feature = "bench")
            && let Some(Frame { address, .. }) = deleted.frame()
        {
            self.each_core(|kernel| {
                let log = &mut kernel.core.measurement.log;
                if log.frame.is_some_and(|frame| frame.address == address) {
                    *log = EntryLog::default();
                }
            });
        }
    }
}

impl<A: Arch> Scheduler<A> {
    /// Makes a frame the log. Returns false unless it is RAM to which the caller has read and write access.
    pub(crate) fn set_log(&mut self, thread: Ptr<Thread<A>>, address: usize) -> bool {
        match A::Cap::packed_frame(self.cap_at(thread, address)) {
            Some(frame) if !frame.device && frame.rights.contains(Rights::READ_WRITE) => {
                self.core.measurement.log = EntryLog {
                    frame: Some(frame),
                    ..EntryLog::default()
                };
                true
            }
            _ => false,
        }
    }

    /// Stores the description of the current kernel entry, if there is a log.
    pub(super) fn describe_entry(&mut self, entry: &EntryReason) {
        if self.core.measurement.log.frame.is_none() {
            return;
        }
        let description = match *entry {
            EntryReason::Syscall(call) => self.describe_syscall(call),
            EntryReason::Fault(fault) => Some(of_fault(fault)),
            EntryReason::Interrupt(Interrupt::Line(irq)) => Some(with_word(INTERRUPT, irq.0)),
            EntryReason::Interrupt(_) => Some(with_word(INTERRUPT, 0)),
        };
        self.core.measurement.log.entry = description;
    }

    fn describe_syscall(&self, call: Option<Syscall>) -> Option<Description> {
        let thread = self.core.current?;
        let context = &self[thread].context;
        let Some(call) = call else {
            return Some(with_word(UNKNOWN_SYSCALL, context.get(SYSCALL)));
        };
        let tag = self.cap_at(thread, context.get(CAP)).tag();
        let label = MessageInfo(context.get(INFO)).label();
        Some(of_syscall(call, tag, label))
    }
}
