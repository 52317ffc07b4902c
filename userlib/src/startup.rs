//! The startup page, by which a parent passes resources to a component.
//!
//! It is one page of named records, mapped read-only. The records have the addresses of capabilities in the
//! component's CSpace, and of shared memory in its address space.

use crate::cap::{CPtr, Capability, SchedContext};
use crate::{Microseconds, Result};
use abi::SlotRegion;
use core::fmt::{self, Debug};
use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Length of a name in bytes.
pub const NAME_LENGTH: usize = 32;
/// Bytes of all texts on a startup page.
pub const TEXTS: usize = 256;
/// Records on a startup page.
pub const RECORDS: usize = 64;

const MAGIC: usize = 0x5354_4152;

/// The kind of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum RecordKind {
    /// An unused record.
    None = 0,
    /// A capability: its address.
    Capability,
    /// Mapped memory: address and size in bytes.
    Memory,
    /// A number.
    Number,
    /// Untyped memory: address of the capability and log2 of the size in bytes.
    Untyped,
    /// The scheduling context of another component: its address, and the component's word in [`TIMES`].
    Watched,
    /// Budget and period of that context, in microseconds.
    Time,
    /// I/O ports: address of the capability, and the first port.
    Ports,
    /// An interrupt: address of its handler, and the bit of the component's notification.
    Interrupt,
    /// The reply object for the callers of the endpoint of this name: its address.
    Reply,
    /// A text: its place among the texts, and its length.
    Text,
    /// The memory of the heap, which nothing else may use: address and size in bytes.
    Heap,
}

// The names of what a component has beside that which its description gives. No name in a description begins with a
// point.

/// The notification for the signals and interrupts of the component.
pub const NOTIFICATION: &str = ".notification";

/// Memory with a word for each component. The supervisor adds the time that timeout faults have reported, in
/// microseconds, and the watcher takes it away. The kernel does not report it again.
pub const TIMES: &str = ".times";

/// The memory in which the component has its heap.
pub const HEAP: &str = ".heap";

/// What the component needs to read the monotonic clock.
pub const CLOCK: &str = ".clock";

/// What the component needs to set the one-shot timer: its registers, its interrupt, and what that signals.
pub const TIMER: &str = ".timer";
/// See [`TIMER`].
pub const TIMER_INTERRUPT: &str = ".timer-interrupt";
/// See [`TIMER`].
pub const TIMER_SIGNAL: &str = ".timer-signal";

/// Another component's time.
#[derive(Clone, Debug)]
pub struct Watched {
    context: SchedContext,
    reported: &'static AtomicUsize,
    /// Its budget.
    pub budget: Microseconds,
    /// Its period.
    pub period: Microseconds,
}

impl Watched {
    /// The time that it has used since this was last called, also before a restart of the watcher. The kernel tells
    /// it once, so a component should have one watcher.
    pub fn take(&self) -> Result<Microseconds> {
        let consumed = self.context.consumed()?;
        let reported = self.reported.swap(0, Relaxed);
        Ok(consumed + Microseconds(reported as u64))
    }
}

/// A named value.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Record {
    name: [u8; NAME_LENGTH],
    kind: usize,
    value: usize,
    size: usize,
}

/// The startup page.
#[repr(C)]
pub struct Startup {
    magic: usize,
    ipc_buffer: usize,
    /// Start and end of the first thread's stack.
    stack: [usize; 2],
    cnode_size_bits: usize,
    empty: SlotRegion,
    records: [Record; RECORDS],
    texts: [u8; TEXTS],
}

const _: () = assert!(size_of::<Startup>() <= 4096);

impl Startup {
    /// A page without records.
    pub const fn new(
        ipc_buffer: usize,
        stack: Range<usize>,
        cnode_size_bits: usize,
        empty: SlotRegion,
    ) -> Self {
        Self {
            magic: MAGIC,
            ipc_buffer,
            stack: [stack.start, stack.end],
            cnode_size_bits,
            empty,
            records: [Record {
                name: [0; NAME_LENGTH],
                kind: RecordKind::None as usize,
                value: 0,
                size: 0,
            }; RECORDS],
            texts: [0; TEXTS],
        }
    }

    /// Whether this is a valid startup page.
    pub(crate) fn is_valid(&self) -> bool {
        self.magic == MAGIC
    }

    /// Address of the first thread's IPC buffer.
    pub fn ipc_buffer(&self) -> usize {
        self.ipc_buffer
    }

    /// Where the stack of the first thread is.
    pub fn stack(&self) -> Range<usize> {
        let [start, end] = self.stack;
        start..end
    }

    /// log2 of the number of slots of the component's CNode.
    pub fn cnode_size_bits(&self) -> usize {
        self.cnode_size_bits
    }

    /// The free slots.
    pub fn empty(&self) -> SlotRegion {
        self.empty
    }

    /// Adds a record; returns false if the page is full.
    pub fn add(&mut self, name: &str, kind: RecordKind, value: usize, size: usize) -> bool {
        let free = self
            .records
            .iter_mut()
            .find(|record| record.kind == RecordKind::None as usize);
        let Some(record) = free else { return false };
        let mut bytes = [0; NAME_LENGTH];
        let length = name.len().min(NAME_LENGTH);
        bytes[..length].copy_from_slice(&name.as_bytes()[..length]);
        *record = Record {
            name: bytes,
            kind: kind as usize,
            value,
            size,
        };
        true
    }

    /// Adds a text; returns false if the page is full.
    pub fn add_text(&mut self, name: &str, text: &str) -> bool {
        let is_text = |record: &&Record| record.kind == RecordKind::Text as usize;
        let texts = self.records.iter().filter(is_text);
        let start = texts.map(|record| record.size).sum();
        let Some(place) = self.texts.get_mut(start..start + text.len()) else {
            return false;
        };
        place.copy_from_slice(text.as_bytes());
        self.add(name, RecordKind::Text, start, text.len())
    }

    /// Sets which slots are free.
    pub(crate) fn set_empty(&mut self, empty: SlotRegion) {
        self.empty = empty;
    }

    fn find(&self, name: &str, kind: RecordKind) -> Option<&Record> {
        let name = &name.as_bytes()[..name.len().min(NAME_LENGTH)];
        self.records.iter().find(|record| {
            record.kind == kind as usize
                && record.name[..name.len()] == *name
                && record.name[name.len()..].iter().all(|&byte| byte == 0)
        })
    }

    /// The capability of this name, if the parent gave it.
    pub fn find_capability<T: Capability>(&self, name: &str) -> Option<T> {
        let record = self.find(name, RecordKind::Capability)?;
        Some(T::at(CPtr(record.value)))
    }

    /// The capability of this name.
    ///
    /// # Panics
    /// If the parent did not give it.
    pub fn capability<T: Capability>(&self, name: &str) -> T {
        match self.find_capability(name) {
            Some(capability) => capability,
            None => panic!("the parent gave no capability named `{name}`"),
        }
    }

    /// The number of this name, if the parent gave it.
    pub fn find_number(&self, name: &str) -> Option<usize> {
        Some(self.find(name, RecordKind::Number)?.value)
    }

    /// The number of this name.
    ///
    /// # Panics
    /// If the parent did not give it.
    pub fn number(&self, name: &str) -> usize {
        match self.find_number(name) {
            Some(number) => number,
            None => panic!("the parent gave no number named `{name}`"),
        }
    }

    /// The text of this name, if the parent gave it.
    pub fn find_text(&self, name: &str) -> Option<&str> {
        let (start, length) = self.find_pair(name, RecordKind::Text)?;
        core::str::from_utf8(self.texts.get(start..)?.get(..length)?).ok()
    }

    /// Address and size of the memory of this name, if the parent gave it.
    pub fn find_memory(&self, name: &str) -> Option<(usize, usize)> {
        self.find_pair(name, RecordKind::Memory)
    }

    /// Both values of the record of this name and kind.
    pub(crate) fn find_pair(&self, name: &str, kind: RecordKind) -> Option<(usize, usize)> {
        let record = self.find(name, kind)?;
        Some((record.value, record.size))
    }

    /// The shared memory of this name, as words.
    ///
    /// # Panics
    /// If the parent did not give it.
    pub fn shared(&'static self, name: &str) -> &'static [AtomicUsize] {
        let Some((address, bytes)) = self.find_memory(name) else {
            panic!("the parent gave no memory named `{name}`");
        };
        // SAFETY: the parent mapped the pages before the component started and leaves them mapped; any word
        // is a valid AtomicUsize, and all components that share them use atomics.
        unsafe {
            core::slice::from_raw_parts(address as *const AtomicUsize, bytes / size_of::<usize>())
        }
    }

    /// The scheduling context of the component of this name, if the parent gave it.
    pub fn find_watched(&'static self, name: &str) -> Option<Watched> {
        let context = self.find(name, RecordKind::Watched)?;
        let time = self.find(name, RecordKind::Time)?;
        self.find_memory(TIMES)?;
        Some(Watched {
            reported: self.shared(TIMES).get(context.size)?,
            context: SchedContext(CPtr(context.value)),
            budget: Microseconds(time.value as u64),
            period: Microseconds(time.size as u64),
        })
    }

    /// The scheduling context of the component of this name.
    ///
    /// # Panics
    /// If the parent did not give it.
    pub fn watched(&'static self, name: &str) -> Watched {
        match self.find_watched(name) {
            Some(watched) => watched,
            None => panic!("the parent gave no scheduling context of `{name}`"),
        }
    }

    /// All untyped memory that the parent gave: capability and log2 of the size in bytes.
    pub fn untypeds(&self) -> impl Iterator<Item = (crate::cap::Untyped, usize)> + '_ {
        self.records
            .iter()
            .filter(|record| record.kind == RecordKind::Untyped as usize)
            .map(|record| (crate::cap::Untyped(CPtr(record.value)), record.size))
    }
}

impl Debug for Startup {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let mut map = out.debug_map();
        for record in &self.records {
            if record.kind != RecordKind::None as usize {
                let end = record.name.iter().position(|&byte| byte == 0);
                let name = &record.name[..end.unwrap_or(NAME_LENGTH)];
                map.entry(
                    &core::str::from_utf8(name).unwrap_or("?"),
                    &(record.kind, record.value, record.size),
                );
            }
        }
        map.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cap::Endpoint;

    #[test]
    fn texts_are_kept_until_the_page_is_full() {
        let mut startup = Startup::new(0, 0..0, 8, SlotRegion::default());
        assert!(startup.add_text("first", "one"));
        assert!(startup.add_text("empty", ""));
        assert!(startup.add_text("second", "zw\u{f6}"));
        assert!(!startup.add_text("long", &"x".repeat(TEXTS - 6)));
        assert_eq!(startup.find_text("first"), Some("one"));
        assert_eq!(startup.find_text("empty"), Some(""));
        assert_eq!(startup.find_text("second"), Some("zw\u{f6}"));
        assert_eq!(startup.find_text("long"), None);
    }

    #[test]
    fn records_are_found_by_name_and_kind() {
        let mut startup = Startup::new(0, 0..0, 8, SlotRegion::default());
        assert!(startup.is_valid());
        assert!(startup.add("server", RecordKind::Capability, 17, 0));
        assert!(startup.add("serve", RecordKind::Number, 3, 0));
        assert_eq!(startup.capability::<Endpoint>("server").cptr(), CPtr(17));
        assert_eq!(startup.find_number("server"), None);
        assert_eq!(startup.number("serve"), 3);
        assert_eq!(startup.find_capability::<Endpoint>("serv"), None);
        for _ in 2..RECORDS {
            assert!(startup.add("x", RecordKind::Number, 0, 0));
        }
        assert!(!startup.add("x", RecordKind::Number, 0, 0));
    }
}
