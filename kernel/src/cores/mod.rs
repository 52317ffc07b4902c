//! The cores of the machine: each has a [`Kernel`] of its own.
//!
//! A core works on the state that it owns: its threads, its queues, its clock. Small state that rarely
//! changes and exists once in the system is replicated in every kernel ([`Exclusive::each_core`]). So a
//! core-local system call writes nothing that another core reads.
//!
//! An operation that needs more takes the entry lock (`BigReaderLock` in `sync`) in *exclusive mode*. Then it
//! may access the schedulers of other cores: a *remote access*. Those cores find out what has changed at their
//! next kernel entry, which an IPI at the end of the operation causes. This module has the storage of the
//! kernels (`handle` gives access to one), and a core's side of the entry lock. The module `entry` takes the
//! lock, and `sched` has the remote accesses.
//!
//! In a kernel for one core, the owning core of everything is this one, and its only kernel is stored here.
//!
//! [`Exclusive::each_core`]: crate::sched::Exclusive::each_core

mod core_set;
mod entry_lock;
mod handle;
mod irqs;
mod remote_request;
mod shared;

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;

use crate::Kernel;
use crate::arch::Arch;
use crate::config::{CORE_SIZE, CORES, QUEUES_SIZE};
use crate::instruments::CHECKED;

pub use crate::sync::{SHARED, UNLOCKED};
pub(crate) use core_set::CoreSet;
pub use entry_lock::EntryLock;
pub(crate) use entry_lock::Mode;
pub use handle::{CoreHandle, Local};
pub use irqs::Irqs;
pub(crate) use remote_request::RemoteRequest;
pub(crate) use shared::Shared;

/// The kernel of one core, and what identifies the core. Aligned so that two cores' kernels never share a cache
/// line (no false sharing).
#[repr(C, align(64))]
pub(crate) struct CoreStorage<A: Arch> {
    /// The first field: fast paths in assembly take the address of the storage as that of the kernel.
    pub(crate) kernel: UnsafeCell<MaybeUninit<Kernel<A>>>,
    /// All cores, and the number of this one. Outside of the kernel, because this core reads them while another
    /// core may use its kernel.
    pub(crate) identity: UnsafeCell<MaybeUninit<(&'static Kernels<A>, usize)>>,
}

/// The kernels of all cores, and the state between them.
#[repr(C)]
pub struct Kernels<A: Arch> {
    /// The first field: in single-core kernels, fast paths in assembly take its address as that of the kernel.
    storage: [CoreStorage<A>; CORES],
    pub(crate) shared: Shared<A>,
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
                    identity: UnsafeCell::new(MaybeUninit::uninit()),
                }
            }; CORES],
            shared: Shared::new(),
        }
    }

    /// Makes the kernel of a core. Cores are numbered as they are made, from 0.
    ///
    /// # Safety
    /// Called once for each core, by one core at a time, before any of them runs a thread; with the same
    /// interrupt lines.
    pub unsafe fn make(&'static self, core: usize, arch: A, irqs: Irqs<A>) -> CoreHandle<A> {
        const {
            let size = CORES * size_of::<CoreStorage<A>>();
            assert!(CHECKED || size <= CORES * CORE_SIZE + QUEUES_SIZE);
        }
        self.shared.set_count(core + 1);
        let storage = &self.storage[core];
        // SAFETY: by contract there is no handle of this core yet, and so no reference to its parts.
        unsafe {
            (*storage.identity.get()).write((self, core));
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

    /// Whether a core waits for the entry lock.
    pub fn is_waiting(&self, core: usize) -> bool {
        self.shared.entry_lock.is_waiting(core)
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
}
