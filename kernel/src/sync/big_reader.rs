//! The entry lock, which a core takes at each kernel entry: *shared*, to use the state that it owns, or
//! *exclusive*, to use the state of all cores. It is a per-core reader-writer lock (a big-reader lock;
//! *brlock* in Linux).
//!
//! A core that enters the kernel announces this in a word of its own, and checks whether another core holds
//! the lock exclusively. Usually none does: the core is then in shared mode. No lock is taken, and nothing is
//! written that another core reads, unless that core wants exclusive mode.
//!
//! For exclusive mode a core queues up for a fair lock, sets the flag `exclusive`, and waits until no other
//! core is in shared mode. A core that finds the flag set waits in the same queue, so that all cores get
//! their turn in order of arrival. User programs of other cores continue as long as they do not enter the
//! kernel.
//!
//! ```text
//!          try_lock_shared                 unlock_shared
//!   outside ------------> shared --------------------------> outside
//!      |                     | lock_exclusive
//!      |  flag is set        v           unlock_exclusive
//!      +-------------> wait for the lock -> exclusive -------> outside
//! ```
//!
//! That no core is in shared mode while another is in exclusive mode rests on Dekker's idea: each of the two
//! first writes what it wants and then reads what the other one wants (Dijkstra, *Cooperating Sequential
//! Processes*, EWD 123, 1965, section 2.1). So at least one of them sees the other.

use super::atomic::{AtomicBool, AtomicUsize, Ordering, constant, each, fence, spin_loop};
use super::ticket::Ticket;

/// State of a core: in user mode, or idle.
pub const UNLOCKED: usize = 0;
/// State of a core: in the kernel, in shared mode.
pub const SHARED: usize = 1;
/// State of a core: waiting for the lock, or in exclusive mode.
const WAITING: usize = 2;

/// The state of a core. A cache line of its own, because other cores read it only for exclusive mode.
#[derive(Debug)]
#[repr(align(64))]
struct ReaderState {
    state: AtomicUsize,
}

/// A flag that all cores read and that is rarely written.
#[derive(Debug)]
#[repr(align(64))]
struct ExclusiveFlag(AtomicBool);

/// The entry lock of `CORES` cores.
#[derive(Debug)]
pub struct BigReaderLock<const CORES: usize> {
    exclusive: ExclusiveFlag,
    readers: [ReaderState; CORES],
    lock: Ticket,
}

impl ReaderState {
    constant! {
        fn new() -> Self {
            Self { state: AtomicUsize::new(UNLOCKED) }
        }
    }
}

impl<const CORES: usize> BigReaderLock<CORES> {
    constant! {
        /// No core is in the kernel.
        pub fn new() -> Self {
            Self {
                exclusive: ExclusiveFlag(AtomicBool::new(false)),
                readers: each!(ReaderState::new(); CORES),
                lock: Ticket::new(),
            }
        }
    }

    /// Enters in shared mode, unless another core holds the lock exclusively. Returns whether it did.
    #[inline(always)]
    pub fn try_lock_shared(&self, core: usize) -> bool {
        let state = &self.readers[core].state;
        // Relaxed, because of the fence.
        state.store(SHARED, Ordering::Relaxed);
        // Sequentially consistent, like the fence in `lock_exclusive`: the stores before the two fences have one order
        // for both cores, and the core with the later store sees the earlier one.
        fence(Ordering::SeqCst);
        // Acquire: the writes of the last core in exclusive mode.
        if !self.exclusive.0.load(Ordering::Acquire) {
            return true;
        }
        // Nothing was done in shared mode.
        state.store(UNLOCKED, Ordering::Relaxed);
        false
    }

    /// Called outside the kernel: waits for the lock, and enters in shared mode. Calls `handle_requests`
    /// while it waits. Returns whether it had to.
    pub fn lock_shared(&self, core: usize, mut handle_requests: impl FnMut()) -> bool {
        let state = &self.readers[core].state;
        // Release: a core in exclusive mode may read what this core has written.
        state.store(WAITING, Ordering::Release);
        let mut waited = false;
        self.lock.acquire(|| {
            waited = true;
            handle_requests();
        });
        // Relaxed: the release of the lock follows, and the next core in exclusive mode has acquired it.
        state.store(SHARED, Ordering::Relaxed);
        // SAFETY: acquired above.
        unsafe { self.lock.release() };
        waited
    }

    /// Called outside the kernel or in shared mode: waits for the lock, and enters in exclusive mode. Calls
    /// `handle_requests` while it waits for the lock. Returns whether it had to wait.
    pub fn lock_exclusive(&self, core: usize, mut handle_requests: impl FnMut()) -> bool {
        // Release: as in `lock_shared`.
        self.readers[core].state.store(WAITING, Ordering::Release);
        let mut waited = false;
        self.lock.acquire(|| {
            waited = true;
            handle_requests();
        });
        // Relaxed, because of the fence; see `try_lock_shared`.
        self.exclusive.0.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        for (_, other) in self.readers.iter().enumerate().filter(|it| it.0 != core) {
            // Acquire: the writes made in shared mode.
            while other.state.load(Ordering::Acquire) == SHARED {
                waited = true;
                spin_loop();
            }
        }
        waited
    }

    /// A core in shared mode exits.
    #[inline(always)]
    pub fn unlock_shared(&self, core: usize) {
        // Release: the writes made in shared mode, to the next core in exclusive mode.
        self.readers[core].state.store(UNLOCKED, Ordering::Release);
    }

    /// A core in exclusive mode exits and releases the lock.
    pub fn unlock_exclusive(&self, core: usize) {
        self.unlock_shared(core);
        // Release: the writes made in exclusive mode, to all cores that enter.
        self.exclusive.0.store(false, Ordering::Release);
        // SAFETY: a core in exclusive mode holds the lock.
        unsafe { self.lock.release() };
    }

    /// The address of the word with the state of a core, for fast paths in assembly.
    pub fn state_address(&self, core: usize) -> *const usize {
        core::ptr::from_ref(&self.readers[core].state).cast()
    }

    /// The address of the byte that indicates whether a core holds the lock exclusively.
    pub fn exclusive_flag(&self) -> *const u8 {
        core::ptr::from_ref(&self.exclusive.0).cast()
    }

    /// Whether another core waits for the lock, as seen by the core in exclusive mode.
    pub fn is_waiting(&self, core: usize) -> bool {
        // Acquire: the writes made before it began to wait.
        self.readers[core].state.load(Ordering::Acquire) == WAITING
    }

    /// Whether another core waits for the lock, which this core holds exclusively.
    pub fn is_contended(&self) -> bool {
        self.lock.is_contended()
    }
}
