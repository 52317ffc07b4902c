//! Who may be in the kernel: every core in what is its own, or one alone in everything.
//!
//! A core that enters the kernel says so in a place of its own and looks whether somebody has stopped the
//! world. Usually nobody has: then it is *inside*, and may use what belongs to it. No lock is taken, and
//! nothing is written that another core reads unless that one wants to stop the world.
//!
//! Who needs more becomes *alone*: it queues up for a lock, stops the world, and waits until nobody else is
//! inside. Who comes meanwhile waits *at the gate*, in the same queue, so that everybody gets its turn in
//! the order of coming. User programs of other cores go on as long as they do not enter the kernel.
//!
//! ```text
//!             enter                    leave
//!   outside --------> inside --------------------> outside
//!      |                | stop: at the gate, then ...
//!      |   stopped      v                 leave
//!      +------------> at the gate -> alone ------> outside
//! ```
//!
//! That nobody is inside while another is alone rests on Dekker's idea: each of the two first writes
//! what it wants and then looks at what the other one wants (Dijkstra, *Cooperating Sequential Processes*,
//! EWD 123, 1965, section 2.1). So one of them at least sees the other.

use super::atomic::{AtomicBool, AtomicUsize, Ordering, constant, each, fence, spin_loop};
use super::{KernelLock, Lock};

/// Whereabouts of a core: in a program, or idle.
pub const OUTSIDE: usize = 0;
/// Whereabouts of a core: in the kernel, for what is its own.
pub const INSIDE: usize = 1;
/// Whereabouts of a core: waiting, or alone.
const AT_GATE: usize = 2;

/// Where a core is. A cache line, as others look at it only when they stop the world.
#[derive(Debug)]
#[repr(align(64))]
struct Place {
    whereabouts: AtomicUsize,
}

/// A word that is read by all and rarely written.
#[derive(Debug)]
#[repr(align(64))]
struct Stopped(AtomicBool);

/// Who may be in the kernel, of so many cores.
#[derive(Debug)]
pub struct World<const CORES: usize> {
    stopped: Stopped,
    places: [Place; CORES],
    lock: KernelLock<CORES>,
}

impl Place {
    constant! {
        fn new() -> Self {
            Self { whereabouts: AtomicUsize::new(OUTSIDE) }
        }
    }
}

impl<const CORES: usize> World<CORES> {
    constant! {
        /// Nobody is in the kernel.
        pub fn new() -> Self {
            Self {
                stopped: Stopped(AtomicBool::new(false)),
                places: each!(Place::new(); CORES),
                lock: KernelLock::new(),
            }
        }
    }

    /// Goes inside, unless somebody has stopped the world. Returns whether it did.
    #[inline(always)]
    pub fn try_enter(&self, core: usize) -> bool {
        let place = &self.places[core].whereabouts;
        // Relaxed, because of the fence.
        place.store(INSIDE, Ordering::Relaxed);
        // Sequentially consistent, like the one in `stop`: of the two stores before them one comes first
        // for both cores, and who comes second sees it.
        fence(Ordering::SeqCst);
        // Acquire: what was done by the last who was alone.
        if !self.stopped.0.load(Ordering::Acquire) {
            return true;
        }
        // Nothing was done inside.
        place.store(OUTSIDE, Ordering::Relaxed);
        false
    }

    /// A core that is outside waits at the gate until it is its turn, and goes inside. While it waits it
    /// calls `serve`.
    pub fn wait(&self, core: usize, serve: impl FnMut()) {
        let place = &self.places[core].whereabouts;
        // Release: who is alone may look at what this core has left.
        place.store(AT_GATE, Ordering::Release);
        // SAFETY: a core has its own number, and does not have the lock outside.
        unsafe { self.lock.acquire_with(core, serve) };
        // Relaxed: the release of the lock is behind it, and the next to stop the world has acquired it.
        place.store(INSIDE, Ordering::Relaxed);
        // SAFETY: acquired above.
        unsafe { self.lock.release(core) };
    }

    /// A core that is inside or outside waits at the gate until it is its turn, and is alone then. While it
    /// waits for its turn it calls `serve`.
    pub fn stop(&self, core: usize, serve: impl FnMut()) {
        // Release: as in `wait`.
        self.places[core]
            .whereabouts
            .store(AT_GATE, Ordering::Release);
        // SAFETY: a core has its own number, and has the lock only while it is alone.
        unsafe { self.lock.acquire_with(core, serve) };
        // Relaxed, because of the fence; see `try_enter`.
        self.stopped.0.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        for (_, other) in self.places.iter().enumerate().filter(|it| it.0 != core) {
            // Acquire: what was done inside.
            while other.whereabouts.load(Ordering::Acquire) == INSIDE {
                spin_loop();
            }
        }
    }

    /// A core that is inside leaves the kernel.
    #[inline(always)]
    pub fn leave(&self, core: usize) {
        // Release: what was done inside, to the next who is alone.
        self.places[core]
            .whereabouts
            .store(OUTSIDE, Ordering::Release);
    }

    /// A core that is alone leaves the kernel, and the world goes on.
    pub fn resume(&self, core: usize) {
        self.leave(core);
        // Release: what was done alone, to all who enter.
        self.stopped.0.store(false, Ordering::Release);
        // SAFETY: who is alone has the lock.
        unsafe { self.lock.release(core) };
    }

    /// Where the whereabouts of a core are, for fast paths in assembly.
    pub fn place_of(&self, core: usize) -> *const usize {
        core::ptr::from_ref(&self.places[core].whereabouts).cast()
    }

    /// Where it stands whether the world is stopped: a byte.
    pub fn stopped(&self) -> *const u8 {
        core::ptr::from_ref(&self.stopped.0).cast()
    }

    /// Whether another core waits at the gate, as seen by one that is there, too.
    pub fn is_at_gate(&self, core: usize) -> bool {
        // Acquire: what it has left.
        self.places[core].whereabouts.load(Ordering::Acquire) == AT_GATE
    }

    /// Whether anybody waits for the core that is alone.
    pub fn is_waited_for(&self, core: usize) -> bool {
        self.lock.is_waited_for(core)
    }
}

impl<const CORES: usize> Default for World<CORES> {
    fn default() -> Self {
        Self::new()
    }
}
