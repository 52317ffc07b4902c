//! The cores of the machine: each has a [`Kernel`] of its own.
//!
//! A core works on the state that it owns: its threads, its queues, its clock. Small state that rarely
//! changes and exists once in the system is replicated in every kernel ([`Exclusive::each_core`]). So a
//! core-local system call writes nothing that another core reads.
//!
//! An operation that needs more takes the entry lock (`BigReaderLock` in `sync`) in *exclusive mode*. Then it may
//! access the schedulers of other cores: a *remote access*. Those cores find out what has changed at their next
//! kernel entry; an IPI at the end of the operation makes this soon. Here is the storage of the kernels (`handle` has
//! the way to one), and a core's side of the entry lock. The module `entry` takes the lock, and `sched` has the
//! remote accesses.
//!
//! A kernel for one core has none of this: the owning core of everything is this one.
//!
//! [`Exclusive::each_core`]: crate::sched::Exclusive::each_core

#[cfg(feature = "smp")]
mod core_set;
#[cfg(feature = "smp")]
mod entry_lock;
mod handle;
mod irqs;
#[cfg(feature = "smp")]
mod remote_request;
#[cfg(not(feature = "smp"))]
mod single_core;

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
#[cfg(feature = "smp")]
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::Kernel;
use crate::arch::Arch;
use crate::config::CORES;
#[cfg(feature = "smp")]
use crate::sync::{BigReaderLock, Mailbox};

#[cfg(feature = "smp")]
pub use crate::sync::{SHARED, UNLOCKED};
#[cfg(feature = "smp")]
pub(crate) use core_set::CoreSet;
#[cfg(feature = "smp")]
pub use entry_lock::EntryLock;
#[cfg(feature = "smp")]
pub(crate) use entry_lock::Mode;
pub use handle::{CoreHandle, Local};
pub use irqs::Irqs;
#[cfg(feature = "smp")]
pub(crate) use remote_request::RemoteRequest;
#[cfg(not(feature = "smp"))]
pub use single_core::EntryLock;
#[cfg(not(feature = "smp"))]
pub use single_core::{SHARED, UNLOCKED};

/// The kernel of one core, and what identifies the core. Aligned so that two cores' kernels never share a cache
/// line (no false sharing).
#[repr(C)]
#[cfg_attr(feature = "smp", repr(align(64)))]
pub(crate) struct CoreStorage<A: Arch> {
    /// At the beginning: to fast paths in assembly the address of the whole is that of the kernel.
    pub(crate) kernel: UnsafeCell<MaybeUninit<Kernel<A>>>,
    /// All cores, and the number of this one. Outside of the kernel, because this core reads them while another
    /// core may use its kernel.
    #[cfg(feature = "smp")]
    pub(crate) place: UnsafeCell<MaybeUninit<(&'static Kernels<A>, usize)>>,
}

/// The kernels of all cores, and the state between them.
pub struct Kernels<A: Arch> {
    storage: [CoreStorage<A>; CORES],
    /// The number of cores.
    #[cfg(feature = "smp")]
    count: AtomicUsize,
    #[cfg(feature = "smp")]
    pub(crate) entry_lock: BigReaderLock<CORES>,
    /// The pending remote call of each core.
    #[cfg(feature = "smp")]
    pub(crate) requests: [Mailbox<RemoteRequest<A>>; CORES],
}

// SAFETY: a core uses its own kernel through `Local`, and those of other cores only through `Exclusive`.
unsafe impl<A: Arch> Sync for Kernels<A> {}

impl<A: Arch> Kernels<A> {
    /// No kernel yet.
    pub const fn new() -> Self {
        Self {
            storage: [const {
                CoreStorage {
                    kernel: UnsafeCell::new(MaybeUninit::uninit()),
                    #[cfg(feature = "smp")]
                    place: UnsafeCell::new(MaybeUninit::uninit()),
                }
            }; CORES],
            #[cfg(feature = "smp")]
            count: AtomicUsize::new(0),
            #[cfg(feature = "smp")]
            entry_lock: BigReaderLock::new(),
            #[cfg(feature = "smp")]
            requests: [const { Mailbox::new() }; CORES],
        }
    }

    /// Makes the kernel of a core. Cores are numbered as they are made, from 0.
    ///
    /// # Safety
    /// Called once for each core, by one core at a time, before any of them runs a thread; with the same
    /// interrupt lines.
    pub unsafe fn make(&'static self, core: usize, arch: A, irqs: Irqs<A>) -> CoreHandle<A> {
        #[cfg(feature = "smp")]
        self.count.store(core + 1, Ordering::Relaxed);
        let storage = &self.storage[core];
        // SAFETY: by contract there is no handle of this core yet, and so no reference to its parts.
        unsafe {
            #[cfg(feature = "smp")]
            (*storage.place.get()).write((self, core));
            let kernel = &mut *storage.kernel.get();
            // The cores share one set of objects; the entry lock orders their accesses.
            Kernel::make_in(kernel, arch, irqs, EntryLock::new(self, core));
        }
        CoreHandle(storage)
    }

    /// The handle of a core.
    ///
    /// # Safety
    /// The kernel of the core was made. Only that core uses the handle, one at a time.
    #[inline(always)]
    pub unsafe fn handle(&'static self, core: usize) -> CoreHandle<A> {
        CoreHandle(&self.storage[core])
    }

    /// The address of the kernel of a core, for fast paths in assembly and [`CoreHandle::from_address`].
    pub fn address(&'static self, core: usize) -> usize {
        core::ptr::from_ref(&self.storage[core]).expose_provenance()
    }

    /// The kernel of a core.
    ///
    /// # Safety
    /// It was made. No other reference to it is in use; and the calling core holds the entry lock exclusively, or
    /// no core is in the kernel.
    #[expect(clippy::mut_from_ref, reason = "the caller's promise")]
    pub unsafe fn get(&self, core: usize) -> &mut Kernel<A> {
        // SAFETY: the caller's promise.
        unsafe { (*self.storage[core].kernel.get()).assume_init_mut() }
    }

    /// The kernel of a core, to read it.
    ///
    /// # Safety
    /// As for [`Kernels::get`], except that other references may read it, too.
    pub unsafe fn read(&self, core: usize) -> &Kernel<A> {
        // SAFETY: the caller's promise.
        unsafe { (*self.storage[core].kernel.get()).assume_init_ref() }
    }

    /// The number of cores.
    #[cfg(feature = "smp")]
    pub fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }
}
