//! What only kernels for several cores have: the state between the cores, and a core's side of the entry lock.

mod core_set;
mod entry_lock;
mod remote_request;

pub(crate) use core_set::CoreSet;
pub use entry_lock::EntryLock;
pub(crate) use entry_lock::Mode;
pub(crate) use remote_request::RemoteRequest;

pub use crate::sync::{SHARED, UNLOCKED};

use core::sync::atomic::{AtomicUsize, Ordering};

use crate::arch::Arch;
use crate::config::CORES;
use crate::sync::{BigReaderLock, Mailbox, Ticket, spin_loop};

/// The state between the cores.
pub(crate) struct Shared<A: Arch> {
    /// The number of cores.
    count: AtomicUsize,
    pub(crate) entry_lock: BigReaderLock<CORES>,
    /// The pending remote call of each core.
    pub(crate) requests: [Mailbox<RemoteRequest<A>>; CORES],
}

impl<A: Arch> Shared<A> {
    pub(super) const fn new() -> Self {
        Self {
            count: AtomicUsize::new(0),
            entry_lock: BigReaderLock::new(),
            requests: [const { Mailbox::new() }; CORES],
        }
    }

    /// The number of cores.
    pub(crate) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    pub(super) fn set_count(&self, count: usize) {
        self.count.store(count, Ordering::Relaxed);
    }
}

/// Held by the core that writes to the console, or to the log.
#[derive(Debug)]
pub(crate) struct OutputLock(Ticket);

impl OutputLock {
    pub(crate) const fn new() -> Self {
        Self(Ticket::new())
    }

    pub(crate) fn acquire(&self) {
        self.0.acquire(spin_loop);
    }

    /// # Safety
    /// This core holds the lock.
    pub(crate) unsafe fn release(&self) {
        // SAFETY: the caller's promise.
        unsafe { self.0.release() }
    }
}
