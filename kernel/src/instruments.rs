//! State of kernels that observe themselves, in one field of each thread and one of the kernel; that of a core is
//! its `measurement` (`sched::usage`). Other kernels do not use it.

use crate::arch::Arch;
#[cfg(any(test, feature = "invariants"))]
pub use crate::invariants::Watch;
#[cfg(feature = "debug")]
use crate::threads::Link;
#[cfg(feature = "tracing")]
use crate::tracing::Tracer;
use core::marker::PhantomData;

/// The state of the invariant checks: none in kernels without them.
#[cfg(not(any(test, feature = "invariants")))]
pub type Watch<A> = PhantomData<A>;

/// Whether the kernel checks its invariants.
pub(crate) const CHECKED: bool = cfg!(any(test, feature = "invariants"));

/// What a thread stores: nothing in a release kernel, in which a thread would take longer to create.
pub(crate) struct ThreadInstruments<A: Arch> {
    /// Its processor time.
    #[cfg(feature = "bench")]
    pub(crate) usage: Usage,
    /// Its links in the list of all threads.
    #[cfg(feature = "debug")]
    pub(crate) newer: Link<A>,
    #[cfg(feature = "debug")]
    pub(crate) older: Link<A>,
    arch: PhantomData<A>,
}

impl<A: Arch> ThreadInstruments<A> {
    /// No processor time, and in no list.
    pub(crate) fn new() -> Self {
        Self {
            #[cfg(feature = "bench")]
            usage: Usage::default(),
            #[cfg(feature = "debug")]
            newer: None,
            #[cfg(feature = "debug")]
            older: None,
            arch: PhantomData,
        }
    }
}

/// What the kernel of a core stores.
pub struct Instruments<A: Arch> {
    /// The state of the invariant checks.
    pub watch: Watch<A>,
    /// Where trace events are written.
    #[cfg(feature = "tracing")]
    pub(crate) tracer: Tracer,
    /// The youngest of all threads.
    #[cfg(feature = "debug")]
    pub(crate) threads: Link<A>,
}

impl<A: Arch> Instruments<A> {
    /// The state before the first kernel entry.
    pub(crate) fn new() -> Self {
        Self {
            watch: Watch::default(),
            #[cfg(feature = "tracing")]
            tracer: Tracer::new(),
            #[cfg(feature = "debug")]
            threads: None,
        }
    }
}

/// The processor time of one thread, or of all, since the last reset. Times are in ticks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    pub(crate) time: u64,
    pub(crate) schedules: u64,
    pub(crate) kernel_time: u64,
    pub(crate) kernel_entries: u64,
}

impl Usage {
    /// The counters in the ABI's order.
    pub(crate) const fn words(self) -> [u64; 4] {
        let Self {
            time,
            schedules,
            kernel_time,
            kernel_entries,
        } = self;
        [time, schedules, kernel_time, kernel_entries]
    }
}

/// Calls a hook of the invariant checks, in kernels that check them.
macro_rules! checked {
    ($this:ident.$hook:ident($($argument:expr),*)) => {{
        #[cfg(any(test, feature = "invariants"))]
        $this.$hook($($argument),*);
        #[cfg(not(any(test, feature = "invariants")))]
        let _ = ($(&$argument),*);
    }};
}
pub(crate) use checked;
