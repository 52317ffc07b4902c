//! The beginning and the end of a kernel entry: the entry lock. A kernel for one core takes none.

use super::ExclusiveLocal;
use crate::Kernel;
use crate::arch::{Arch, UserContext};
use crate::config::{BIG_LOCK, CORES};
use crate::cores::{CoreHandle, CoreSet, Kernels, Local, Mode};
use crate::object::{Thread, ThreadState};
use crate::sync::spin_loop;
use crate::token::Ptr;

impl<A: Arch> CoreHandle<A> {
    /// All cores, and the number of this one.
    #[inline(always)]
    fn identity(&self) -> (&'static Kernels<A>, usize) {
        // SAFETY: written before there was a handle, and never again.
        unsafe { (*self.0.identity.get()).assume_init() }
    }

    /// Enters the kernel: in shared mode, except in kernels with one big lock. Waits as long as another core holds
    /// the entry lock exclusively.
    #[inline(always)]
    pub fn enter(&mut self) -> Local<'_, A> {
        let (kernels, core) = self.identity();
        if CORES > 1 && (BIG_LOCK || !kernels.shared.entry_lock.try_lock_shared(core)) {
            self.wait_for_entry_lock(if BIG_LOCK {
                Mode::Exclusive
            } else {
                Mode::Shared
            });
            return Local { handle: self };
        }
        self.entered_shared()
    }

    /// Enters the kernel in exclusive mode. Waits for the entry lock.
    pub fn enter_exclusive(&mut self) -> ExclusiveLocal<'_, A> {
        self.wait_for_entry_lock(Mode::Exclusive);
        ExclusiveLocal::new(Local { handle: self })
    }

    /// This core has already taken the entry lock in shared mode, here or in a fast path in assembly.
    #[inline(always)]
    pub(crate) fn entered_shared(&mut self) -> Local<'_, A> {
        let mut kernel = Local { handle: self };
        if CORES > 1 {
            kernel.entry_lock.mode = Mode::Shared;
        }
        kernel
    }

    /// Waits for the entry lock, to hold it in mode `then`. No reference to this core's kernel exists
    /// meanwhile, except while this core carries out a remote call. Other cores see the current thread as if it
    /// had not entered the kernel yet: they use its registers only after a remote call.
    #[cold]
    #[inline(never)]
    fn wait_for_entry_lock(&mut self, then: Mode) {
        if CORES == 1 {
            return;
        }
        let (kernels, core) = self.identity();
        let mut rewound = None;
        let handle_requests = || {
            self.handle_request(|kernel| {
                if rewound.is_none() {
                    rewound = kernel.rewind_current();
                }
            });
            // An emulator that runs the cores in turns switches to another one here.
            spin_loop();
        };
        let lock = &kernels.shared.entry_lock;
        let waited = match then {
            Mode::Exclusive => lock.lock_exclusive(core, handle_requests),
            _ => lock.lock_shared(core, handle_requests),
        };
        // SAFETY: this core holds the entry lock.
        let kernel = unsafe { self.kernel() };
        kernel.entry_lock.mode = then;
        kernel.entry_lock.waited |= waited;
        // A clock reading from before the wait does not decide about the time after it.
        kernel.entry_lock.clock_reading = None;
        kernel.trace_lock();
        if let Some((thread, next)) = rewound {
            kernel.continue_current(thread, next);
        }
    }

    /// Carries out a remote call to this core, if there is one, while this core waits for the entry lock. Calls
    /// `prepare` before.
    pub fn handle_request(&mut self, prepare: impl FnOnce(&mut Kernel<A>)) {
        let (kernels, core) = self.identity();
        let perform = |request| {
            // SAFETY: the calling core is in exclusive mode, and waits for the end of this.
            let kernel = unsafe { self.kernel() };
            prepare(kernel);
            kernel.perform(request);
        };
        // SAFETY: only this core handles the requests of its mailbox.
        unsafe { kernels.shared.requests[core].handle(perform) };
    }
}

impl<A: Arch> Local<'_, A> {
    /// Waits for exclusive mode unless the entry is core-local. Returns false if another core has modified this core's
    /// state since the current thread entered the kernel; it may have changed anything.
    #[inline(always)]
    pub(crate) fn make_exclusive_unless(
        &mut self,
        is_local: impl FnOnce(&mut Kernel<A>) -> bool,
    ) -> bool {
        CORES == 1
            || self.take_unmodified()
                && (self.entry_lock.is_exclusive() || is_local(self) || self.make_exclusive())
    }

    /// Waits for exclusive mode. Returns the same as [`Local::make_exclusive_unless`].
    pub(crate) fn make_exclusive(&mut self) -> bool {
        if !self.entry_lock.is_exclusive() {
            self.trace_unlock();
            self.entry_lock.mode = Mode::Unlocked;
            self.handle.wait_for_entry_lock(Mode::Exclusive);
        }
        self.take_unmodified()
    }
}

/// Releases the entry lock. From here on this core uses only state that no other core accesses.
impl<A: Arch> Drop for Local<'_, A> {
    #[inline(always)]
    fn drop(&mut self) {
        if CORES == 1 {
            return;
        }
        let (kernels, core) = self.handle.identity();
        let mode = core::mem::replace(&mut self.entry_lock.mode, Mode::Unlocked);
        self.entry_lock.waited = false;
        if mode == Mode::Exclusive {
            self.interrupt_accessed_cores();
            kernels.shared.entry_lock.unlock_exclusive(core);
        } else {
            kernels.shared.entry_lock.unlock_shared(core);
        }
    }
}

impl<A: Arch> Kernel<A> {
    /// Rewinds the current thread to the instruction by which it entered the kernel. Returns the thread, and
    /// the address at which it would have continued.
    pub(crate) fn rewind_current(&mut self) -> Option<(Ptr<Thread<A>>, usize)> {
        let thread = self.core.current?;
        let context = &mut self[thread].context;
        let next = context.next_pc();
        context.restart();
        Some((thread, next))
    }

    /// Undoes [`Kernel::rewind_current`]. A thread that was stopped, stalled or migrated since then continues
    /// from its saved context.
    fn continue_current(&mut self, thread: Ptr<Thread<A>>, next: usize) {
        if self.core.current == Some(thread) && matches!(self[thread].state, ThreadState::Running) {
            self[thread].context.set_next_pc(next);
        }
    }

    fn take_unmodified(&mut self) -> bool {
        !core::mem::take(&mut self.entry_lock.remotely_modified)
    }

    /// Sends an IPI to the cores that this core has modified in exclusive mode, so that they enter the kernel.
    /// A core that waits for the entry lock notices by itself.
    fn interrupt_accessed_cores(&mut self) {
        let kernels = self.entry_lock.kernels;
        let mut accessed_cores =
            core::mem::replace(&mut self.entry_lock.accessed_cores, CoreSet::EMPTY);
        accessed_cores.retain(|core| !kernels.is_waiting(core));
        accessed_cores.for_each(|core| self.arch.interrupt_core(core));
    }
}
