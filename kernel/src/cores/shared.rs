//! The state between the cores.

use core::sync::atomic::{AtomicUsize, Ordering};

use super::RemoteRequest;
use crate::arch::Arch;
use crate::config::CORES;
use crate::sync::{BigReaderLock, Mailbox};

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
        match CORES {
            1 => 1,
            _ => self.count.load(Ordering::Relaxed),
        }
    }

    pub(super) fn set_count(&self, count: usize) {
        self.count.store(count, Ordering::Relaxed);
    }
}
