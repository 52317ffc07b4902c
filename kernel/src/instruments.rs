//! State of kernels that observe themselves, in one field of each thread and one of the kernel; that of a core is
//! its `measurement` (`sched::usage`). Other kernels do not use it.

use crate::arch::Arch;
#[cfg(any(test, feature = "invariants"))]
pub use crate::invariants::Watch;
use crate::object::Thread;
use crate::token::Ptr;

/// The state of the invariant checks: none in kernels without them.
#[cfg(not(any(test, feature = "invariants")))]
pub type Watch<A> = core::marker::PhantomData<A>;

/// Whether the kernel checks its invariants.
pub(crate) const CHECKED: bool = cfg!(any(test, feature = "invariants"));

/// A link in the list of all threads.
pub(crate) type Link<A> = Option<Ptr<Thread<A>>>;

/// What a thread stores.
pub(crate) struct ThreadInstruments<A: Arch> {
    /// Its processor time, in `bench` kernels.
    pub(crate) usage: Usage,
    /// Its links in the list of all threads, in debug kernels.
    pub(crate) newer: Link<A>,
    pub(crate) older: Link<A>,
}

impl<A: Arch> ThreadInstruments<A> {
    /// No processor time, and in no list.
    pub(crate) fn new() -> Self {
        Self {
            usage: Usage::default(),
            newer: None,
            older: None,
        }
    }
}

/// What the kernel of a core stores.
pub struct Instruments<A: Arch> {
    /// The state of the invariant checks.
    pub watch: Watch<A>,
    /// The youngest of all threads, in debug kernels.
    pub(crate) threads: Link<A>,
}

impl<A: Arch> Instruments<A> {
    /// The state before the first kernel entry.
    pub(crate) fn new() -> Self {
        Self {
            watch: Watch::default(),
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

/// The hooks of the invariant checks, for kernels without them.
#[cfg(not(any(test, feature = "invariants")))]
mod unchecked {
    use abi::Syscall;

    use crate::Kernel;
    use crate::arch::Arch;
    use crate::cap::{CNode, Capabilities};
    use crate::object::Thread;
    use crate::slot::Slot;
    use crate::token::Ptr;

    #[expect(clippy::unused_self, reason = "the hooks of kernels that check")]
    impl<A: Arch> Capabilities<A> {
        #[inline(always)]
        pub(crate) fn note_change(&mut self, _slot: Ptr<Slot<A>>) {}

        #[inline(always)]
        pub(crate) fn note_fast_path(&mut self) {}
    }

    #[expect(clippy::unused_self, reason = "the hooks of kernels that check")]
    impl<A: Arch> Kernel<A> {
        #[inline(always)]
        pub(crate) fn note_deletion(&mut self, _cnode: &CNode<A>) {}

        #[inline(always)]
        pub(crate) fn check_after_entry(&mut self) {}

        #[inline(always)]
        pub(crate) fn check_after_preemption(&self, _thread: Ptr<Thread<A>>, _call: Syscall) {}
    }
}
