//! Memory for the rings of all cores, reserved at boot: each core is traced from its first kernel entry on.
//!
//! A ring begins at a page boundary and says what it is, so that a copy of the machine's RAM is all that a tool needs.

use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use abi::sizes::STREAM_RING_BITS;
use trace_format::{Clocks, Detail, Kinds, Known, Mode, Settings};

use super::calibration::costs;
use crate::arch::Arch;
use crate::boot::BootAllocator;
use crate::config::CORES;
use crate::object::{SchedContext, Thread};
use crate::sched::Scheduler;
use crate::token::Ptr;

/// log2 of the bytes of a ring: room for half a million events. A ring of a stream has room for 16,000, as the
/// root task gets a capability to each page.
const RING_BITS: usize = match MODE {
    Mode::Stream => STREAM_RING_BITS,
    Mode::Stop | Mode::Overwrite => 24,
};

/// What happens when a ring is full: later events are lost, or with the environment variable `ESCAPEMENT_TRACE_KEEP`
/// set to `last` when the kernel was built, the first ones are overwritten; set to `stream`, the root task has the memory
/// and makes room.
const MODE: Mode = match option_env!("ESCAPEMENT_TRACE_KEEP") {
    Some(kept) if matches!(kept.as_bytes(), b"last") => Mode::Overwrite,
    Some(kept) if matches!(kept.as_bytes(), b"stream") => Mode::Stream,
    _ => Mode::Stop,
};

/// Which events are written: all, or those that the environment variable `ESCAPEMENT_TRACE_EVENTS` named when the kernel
/// was built. Without details, each takes half of the memory. What tracing costs is measured with `off`, for which no
/// memory is reserved, and `nothing`, with which no event is written into it.
const EVENTS: (Detail, Kinds) = match option_env!("ESCAPEMENT_TRACE_EVENTS") {
    Some(names) if matches!(names.as_bytes(), b"nothing" | b"off") => {
        (Detail::Lite, Kinds::NOTHING)
    }
    None => (Detail::Full, Kinds::ALL),
    Some(names) if matches!(names.as_bytes(), b"switches") => (Detail::Lite, Kinds::LITE),
    Some(names) => match Kinds::of_groups(names) {
        Some(kinds) => (Detail::Full, kinds),
        None => panic!("ESCAPEMENT_TRACE_EVENTS names a group of events that does not exist"),
    },
};

/// The rings of this kernel.
pub(super) enum Built {}

impl Known for Built {
    const DETAIL: Option<Detail> = Some(EVENTS.0);
    const MODE: Option<Mode> = Some(MODE);
    /// A lite ring has two kinds, and its kernel no code for others. Kernels with full rings have code for all kinds, since
    /// calibration measures those that were not chosen, too; and so have those that measure what hooks cost.
    const KINDS: Kinds = match option_env!("ESCAPEMENT_TRACE_EVENTS") {
        Some(names) if matches!(names.as_bytes(), b"switches") => Kinds::LITE,
        _ => Kinds::ALL,
    };
    /// A kernel for one core needs not look it up.
    const CORE: Option<u8> = if CORES == 1 { Some(0) } else { None };
}

/// Whether any memory is reserved.
const IS_ON: bool = !matches!(option_env!("ESCAPEMENT_TRACE_EVENTS"), Some(names) if matches!(names.as_bytes(), b"off"));

/// The address of the memory for each core's ring until the core takes it; 0 before and after.
static RINGS: [AtomicUsize; CORES] = [const { AtomicUsize::new(0) }; CORES];

/// Reserves memory for the rings of `cores` cores, unless the kernel was built with events off.
///
/// # Panics
/// If there is too little memory.
pub(crate) fn reserve<A: Arch>(boot: &mut BootAllocator<A>, cores: usize) {
    let rings = if IS_ON { cores } else { 0 };
    for ring in RINGS.iter().take(rings) {
        ring.store(A::to_virtual(boot.alloc(RING_BITS)), Relaxed);
    }
}

/// Whether user level has the memory of the rings.
const IS_SHARED: bool = IS_ON && matches!(MODE, Mode::Stream);

/// The bytes of the rings of `cores` cores that user level reads.
pub(crate) const fn shared_bytes(cores: usize) -> usize {
    if IS_SHARED { cores << RING_BITS } else { 0 }
}

/// The kernel's addresses of these rings, core by core, until the cores take them.
pub(crate) fn shared_rings() -> impl Iterator<Item = usize> {
    let rings = RINGS.iter().filter(|_| IS_SHARED);
    let rings = rings.map(|ring| ring.load(Relaxed));
    rings.filter(|&ring| ring != 0)
}

impl<A: Arch> Scheduler<A> {
    /// Lets this core write events from now on, if memory is reserved for them. The boot core measures what they cost,
    /// by hooks about the first thread and its context.
    pub(crate) fn trace_from_boot(
        &mut self,
        first: Option<(Ptr<Thread<A>>, Ptr<SchedContext<A>>)>,
    ) {
        let address = RINGS[self.core.id].swap(0, Relaxed);
        if address == 0 {
            return;
        }
        let start = core::ptr::with_exposed_provenance_mut(address);
        // SAFETY: `reserve` allocated this memory, and it is taken only once. Users may map it, too: the kernel
        // reads nothing from it but the reader's position, atomically.
        let memory =
            unsafe { core::slice::from_raw_parts_mut(start, (1 << RING_BITS) / size_of::<u64>()) };
        let settings = Settings {
            core: self.core.id as u8,
            detail: EVENTS.0,
            kinds: EVENTS.1,
            mode: MODE,
            frequency: self.arch.clock().frequency(),
            clocks: match A::IS_CLOCK_SHARED {
                true => Clocks::Shared,
                false => Clocks::Synchronous,
            },
        };
        if self.start_tracing(memory, settings) {
            if let Some((thread, context)) = first {
                self.calibrate(thread, context);
            }
            self.instruments.tracer.restart();
            self.instruments.tracer.set_costs(costs());
            self.trace_start_of_ring();
        }
    }
}
