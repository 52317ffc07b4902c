//! Exclusive mode: access to the kernels of other cores.

use super::Scheduler;
use crate::arch::Arch;
use crate::config::CORES;
use crate::cores::RemoteRequest;
use crate::object::{Thread, ThreadState};
use crate::token::Ptr;

/// A core in exclusive mode: it may access the kernels of other cores, one at a time. The reference to another
/// core's kernel borrows this value, and with it this core's kernel.
pub struct Exclusive<'k, A: Arch>(&'k mut Scheduler<A>);

impl<A: Arch> Scheduler<A> {
    /// This core in exclusive mode, for an access to an object that another core owns: the module `entry::local` has
    /// decided by the owning cores of objects, which types do not know, that the entry is not core-local. Where no owning
    /// core decides, `ExclusiveKernel` is the type of this core in exclusive mode.
    ///
    /// # Panics
    /// If it is in shared mode.
    #[inline(always)]
    pub(super) fn remote(&mut self) -> Exclusive<'_, A> {
        self.entry_lock.assert_exclusive();
        Exclusive(self)
    }

    /// Carries out a remote call.
    pub(crate) fn perform(&mut self, request: RemoteRequest<A>) {
        match request {
            RemoteRequest::WriteBack(thread) => A::write_back_thread(self, thread),
            RemoteRequest::Release(thread) => A::release_thread(self, thread),
            RemoteRequest::Arch(remote) => A::perform(self, remote),
        }
    }
}

impl<'k, A: Arch> Exclusive<'k, A> {
    /// A core in exclusive mode.
    ///
    /// # Safety
    /// It is.
    #[inline(always)]
    pub(crate) const unsafe fn new(scheduler: &'k mut Scheduler<A>) -> Self {
        Self(scheduler)
    }

    /// The scheduler of another core.
    fn other(self, core: usize) -> &'k mut Scheduler<A> {
        debug_assert_ne!(core, self.0.core.id);
        // SAFETY: this core is in exclusive mode, so that no other core is in the kernel: a core that waits for
        // the entry lock has no reference to its kernel, unless this core waits for its answer, without this
        // value. The reference borrows this core's kernel, through which all others are accessed.
        unsafe { self.0.entry_lock.kernels.get(core) }
    }

    /// A shorter borrow of this value.
    const fn reborrow(&mut self) -> Exclusive<'_, A> {
        Exclusive(self.0)
    }

    /// The scheduler of another core, which is marked as remotely modified.
    #[inline(never)]
    pub(super) fn access(self, core: usize) -> &'k mut Scheduler<A> {
        let is_first = self.0.entry_lock.accessed_cores.insert(core);
        let other = self.other(core);
        if is_first {
            other.entry_lock.remotely_modified = true;
            other.account_before_remote_access();
        }
        other
    }

    /// Calls `work` for the kernel of each core.
    pub fn each_core(&mut self, mut work: impl FnMut(&mut Scheduler<A>)) {
        for core in 0..self.0.cores() {
            if self.0.is_own_core(core) {
                work(self.0);
            } else {
                work(self.reborrow().other(core));
            }
        }
    }

    /// The same, and marks the other cores as remotely modified.
    pub(crate) fn modify_each_core(&mut self, mut work: impl FnMut(&mut Scheduler<A>)) {
        for core in 0..self.0.cores() {
            work(self.0.scheduler_of(core));
        }
    }

    /// Remote call: another core carries out a request while it waits for the entry lock. Returns when it
    /// has. This core has no reference to the other kernel meanwhile.
    fn call(&mut self, core: usize, request: RemoteRequest<A>) {
        let kernels = self.0.entry_lock.kernels;
        if !kernels.shared.entry_lock.is_waiting(core) {
            self.0.arch.interrupt_core(core);
        }
        // SAFETY: only the core in exclusive mode makes remote calls.
        unsafe { kernels.shared.requests[core].call(request, || A::wait_for(core)) };
    }

    /// Remote call of an operation of the architecture on all other cores. Returns when they have carried it
    /// out.
    pub fn on_other_cores(&mut self, remote: A::Remote) {
        for core in 0..self.0.cores() {
            if !self.0.is_own_core(core) {
                self.call(core, RemoteRequest::Arch(remote));
            }
        }
    }

    /// Stalls a remote thread: makes sure that another core neither runs it nor holds any of its registers.
    /// If the core ran it, it reloads the thread, if that can still run, when it next leaves the kernel.
    pub(crate) fn stall_remote_thread(&mut self, thread: Ptr<Thread<A>>) {
        self.stall_remote_thread_with(thread, RemoteRequest::WriteBack(thread));
    }

    fn stall_remote_thread_with(&mut self, thread: Ptr<Thread<A>>, request: RemoteRequest<A>) {
        let core = usize::from(self.0[thread].core);
        if self.0.is_own_core(core) {
            return;
        }
        let other = self.reborrow().other(core);
        let runs = other.core.current == Some(thread);
        if !runs && !other.arch.holds(thread) {
            return;
        }
        if runs {
            self.reborrow().access(core).core.reload = true;
        }
        self.call(core, request);
    }

    /// The registers of a thread are replaced, after [`Exclusive::stall_remote_thread`]. If it has entered the
    /// kernel on another core and waits for the entry lock there, its request is dropped.
    pub(crate) fn drop_remote_entry(&mut self, thread: Ptr<Thread<A>>) {
        let core = usize::from(self.0[thread].core);
        if !self.0.is_own_core(core)
            && self.reborrow().other(core).core.current == Some(thread)
            && matches!(self.0[thread].state, ThreadState::Running)
        {
            self.0[thread].state = ThreadState::Restart;
        }
    }

    /// A thread is deleted or migrates: no core may hold its registers any longer.
    #[cold]
    pub(crate) fn detach_thread(&mut self, thread: Ptr<Thread<A>>) {
        let core = usize::from(self.0[thread].core);
        if self.0.is_own_core(core) {
            A::release_thread(self.0, thread);
        } else {
            self.stall_remote_thread_with(thread, RemoteRequest::Release(thread));
        }
        if CORES > 1 && self.0.core_of(core as u8).current == Some(thread) {
            let owner = self.0.scheduler_of(core);
            owner.core.current = None;
            owner.core.reload = true;
            owner.choose_again();
        }
    }
}
