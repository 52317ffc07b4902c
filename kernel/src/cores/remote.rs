//! Remote accesses: operations of a core in exclusive mode on other cores.

use super::CORES;
use crate::Kernel;
use crate::arch::Arch;
use crate::object::{Membership, NO_CORE, SchedContext, Thread, ThreadState};
use crate::sched::Core;
#[cfg(any(test, feature = "invariants"))]
use crate::sched::Decision;
use crate::token::Ptr;

/// A set of cores.
#[derive(Clone, Copy, Debug)]
pub(super) struct CoreSet(u64);

impl CoreSet {
    pub(super) const EMPTY: Self = Self(0);

    /// Adds a core. Returns whether it was absent.
    fn insert(&mut self, core: usize) -> bool {
        let before = self.0;
        self.0 |= 1 << core;
        self.0 != before
    }

    pub(super) fn retain(&mut self, keep: impl Fn(usize) -> bool) {
        for core in 0..CORES {
            if !keep(core) {
                self.0 &= !(1 << core);
            }
        }
    }

    pub(super) fn for_each(self, mut work: impl FnMut(usize)) {
        let mut rest = self.0;
        while rest != 0 {
            work(rest.trailing_zeros() as usize);
            rest &= rest - 1;
        }
    }
}

/// A remote call.
pub(super) enum RemoteRequest<A: Arch> {
    /// To write back what methods of a thread can read and set.
    WriteBack(Ptr<Thread<A>>),
    /// To write back all that it holds of a thread, and to forget the thread.
    Release(Ptr<Thread<A>>),
    /// An operation of the architecture.
    Arch(A::Remote),
}

// SAFETY: a core in exclusive mode may use all handles; the other core carries out the request for it, while
// it waits.
unsafe impl<A: Arch> Send for RemoteRequest<A> {}

impl<A: Arch> Kernel<A> {
    /// The number of cores.
    pub fn cores(&self) -> usize {
        self.entry_lock.kernels.count()
    }

    /// The kernel of a core: this one, or that of another core, which is marked as remotely modified.
    #[inline(always)]
    pub(crate) fn kernel_of(&mut self, core: usize) -> &mut Self {
        if core == self.core.id {
            return self;
        }
        self.access_remote(core)
    }

    /// The kernel of the owning core of a thread.
    #[inline(always)]
    pub(crate) fn owning_core(&mut self, thread: Ptr<Thread<A>>) -> &mut Self {
        self.kernel_of(self[thread].core.into())
    }

    /// The kernel of the owning core of a scheduling context.
    #[inline(always)]
    pub(crate) fn owning_core_of_context(&mut self, context: Ptr<SchedContext<A>>) -> &mut Self {
        self.kernel_of(self[context].core.into())
    }

    /// Charges what a thread of another core has used so far, before its budget decides anything here.
    #[inline(always)]
    pub(crate) fn charge_remote_thread(&mut self, thread: Ptr<Thread<A>>) {
        self.owning_core(thread);
    }

    /// A context is about to be taken from its thread. If it is charged on another core, this charges the
    /// time consumed so far and stops charging it there, as another thread may use it from now on.
    #[inline(always)]
    pub(crate) fn charge_remote_current(&mut self, context: Ptr<SchedContext<A>>) {
        let core = usize::from(self[context].core);
        if core != self.core.id {
            self.access_remote(core).detach_current_context(context);
        }
    }

    #[inline(never)]
    fn access_remote(&mut self, core: usize) -> &mut Self {
        debug_assert!(self.entry_lock.is_exclusive());
        let other = self.other_kernel(core);
        if self.entry_lock.accessed_cores.insert(core) {
            other.entry_lock.remotely_modified = true;
            other.account_before_remote_access();
        }
        other
    }

    /// Brings the accounting of this core up to date, for a remote access or after one. If the access has
    /// put the current thread into a queue or taken its context, charging stops here, because the remaining
    /// budget has been relied on: the thread waits by it, or another thread uses it. A head replenishment
    /// that is used up is charged at once, although the thread runs until its core notices.
    pub(crate) fn account_before_remote_access(&mut self) {
        if let Some(context) = self.core.current_context
            && !self.core.current.is_some_and(|thread| {
                self[context].thread == Some(thread) && self[thread].membership == Membership::None
            })
        {
            self.detach_current_context(context);
        }
        self.update_time();
        let (used, minimum) = (self.core.consumed, self.min_budget());
        if let Some(context) = self.core.current_context
            && self[context].is_configured()
            && !self[context].refills().is_sufficient(used, minimum)
        {
            self.charge_slice(context, used);
            self.entry_lock.timeslice_ended = true;
        }
    }

    /// The kernel of another core.
    fn other_kernel(&self, core: usize) -> &'static mut Self {
        // SAFETY: this core is in exclusive mode, so that no other core is in the kernel, and it uses one
        // reference at a time.
        unsafe { self.entry_lock.kernels.get(core) }
    }

    /// Calls `work` for the kernel of each core, in exclusive mode.
    pub fn each_core(&mut self, mut work: impl FnMut(&mut Self)) {
        for core in 0..self.cores() {
            if core == self.core.id {
                work(self);
            } else {
                work(self.other_kernel(core));
            }
        }
    }

    /// The same, and marks the other cores as remotely modified.
    pub(crate) fn modify_each_core(&mut self, mut work: impl FnMut(&mut Self)) {
        for core in 0..self.cores() {
            work(self.kernel_of(core));
        }
    }

    /// Remote call: another core carries out a request while it waits for the entry lock. Returns when it
    /// has.
    fn call_remote(&mut self, core: usize, request: RemoteRequest<A>) {
        debug_assert!(self.entry_lock.is_exclusive() && core != self.core.id);
        let kernels = self.entry_lock.kernels;
        if !kernels.entry_lock.is_waiting(core) {
            self.arch.interrupt_core(core);
        }
        // SAFETY: only the core in exclusive mode makes remote calls.
        unsafe { kernels.requests[core].call(request, || A::wait_for(core)) };
    }

    pub(super) fn perform(&mut self, request: RemoteRequest<A>) {
        match request {
            RemoteRequest::WriteBack(thread) => A::write_back_thread(self, thread),
            RemoteRequest::Release(thread) => A::release_thread(self, thread),
            RemoteRequest::Arch(remote) => A::perform(self, remote),
        }
    }

    /// Remote call of an operation of the architecture on all other cores. Returns when they have carried it
    /// out.
    pub fn on_other_cores(&mut self, remote: A::Remote) {
        for core in 0..self.cores() {
            if core != self.core.id {
                self.call_remote(core, RemoteRequest::Arch(remote));
            }
        }
    }

    /// Carries out an operation of the architecture on one core: this one or another.
    pub fn on_core(&mut self, core: usize, remote: A::Remote) {
        if core == self.core.id {
            A::perform(self, remote);
        } else {
            self.call_remote(core, RemoteRequest::Arch(remote));
        }
    }

    /// Stalls a remote thread: makes sure that another core neither runs it nor holds any of its registers.
    /// If the core ran it, it reloads the thread, if that can still run, when it next leaves the kernel.
    pub(crate) fn stall_remote_thread(&mut self, thread: Ptr<Thread<A>>) {
        self.stall_remote_thread_with(thread, RemoteRequest::WriteBack(thread));
    }

    fn stall_remote_thread_with(&mut self, thread: Ptr<Thread<A>>, request: RemoteRequest<A>) {
        let core = usize::from(self[thread].core);
        if core == self.core.id {
            return;
        }
        let other = self.other_kernel(core);
        let runs = other.core.current == Some(thread);
        if !runs && !other.arch.holds(thread) {
            return;
        }
        if runs {
            self.access_remote(core).core.reload = true;
        }
        self.call_remote(core, request);
    }

    /// The registers of a thread are replaced, after [`Kernel::stall_remote_thread`]. If it has entered the kernel on
    /// another core and waits for the entry lock there, it no longer asks for what it asked for.
    pub(crate) fn drop_remote_entry(&mut self, thread: Ptr<Thread<A>>) {
        let core = usize::from(self[thread].core);
        if core != self.core.id
            && self.other_kernel(core).core.current == Some(thread)
            && matches!(self[thread].state, ThreadState::Running)
        {
            self[thread].state = ThreadState::Restart;
        }
    }

    /// Migrates a thread to a core. The thread is in no queue of the scheduler.
    pub(crate) fn migrate_thread(&mut self, thread: Ptr<Thread<A>>, core: u8) {
        let before = self[thread].core;
        if before == core {
            return;
        }
        self.detach_from_core(thread, before.into());
        self[thread].core = core;
        // The object at which it is blocked now has a waiting thread of another core.
        match self[thread].state {
            ThreadState::BlockedOnSend { endpoint, .. } => self[endpoint].set_core(NO_CORE),
            ThreadState::BlockedOnReceive { endpoint, reply } => {
                self[endpoint].set_core(NO_CORE);
                if let Some(reply) = reply {
                    self[reply].set_core(core);
                }
            }
            ThreadState::BlockedOnNotification { notification } => {
                self[notification].core = NO_CORE;
            }
            _ => {}
        }
    }

    /// A thread can no longer run. If it is the current one of its core, that core chooses again, even if the
    /// thread has become able to run by then.
    pub(crate) fn stop_if_current(&mut self, thread: Ptr<Thread<A>>) {
        let owner = self.owning_core(thread);
        if owner.core.current == Some(thread) {
            owner.choose_again();
        }
    }

    /// The message may have brought the current thread a context of another core: it continues on that core.
    #[inline(always)]
    pub(crate) fn switch_to_migrated(&mut self, thread: Ptr<Thread<A>>) {
        if usize::from(self[thread].core) != self.core.id {
            self.possible_switch_to(thread);
        }
    }

    /// Migrates a scheduling context, with the thread that runs on it.
    pub(crate) fn migrate_context(&mut self, context: Ptr<SchedContext<A>>, core: u8) {
        self[context].core = core;
        if let Some(reply) = self[context].reply {
            self[reply].set_core(core);
        }
        if let Some(thread) = self[context].thread {
            self.migrate_thread(thread, core);
        }
    }

    /// A thread is deleted: no core may hold its registers any longer.
    pub(crate) fn detach_thread(&mut self, thread: Ptr<Thread<A>>) {
        self.detach_from_core(thread, self[thread].core.into());
    }

    /// The state of a core: this one or, in exclusive mode, another.
    #[inline(always)]
    pub(crate) fn core_of(&self, core: u8) -> &Core<A> {
        let core = usize::from(core);
        if core == self.core.id {
            return &self.core;
        }
        debug_assert!(!self.entry_lock.is_shared());
        &self.other_kernel(core).core
    }

    /// Whether this core may read the state of other cores.
    #[cfg(any(test, feature = "invariants"))]
    pub(crate) fn may_read_all_cores(&self) -> bool {
        !self.entry_lock.is_shared()
    }

    /// The state of a core, if this core may read it and no remote modification is pending there.
    #[cfg(any(test, feature = "invariants"))]
    pub(crate) fn unmodified_core(&self, core: u8) -> Option<&Core<A>> {
        if usize::from(core) == self.core.id {
            return Some(&self.core);
        }
        if !self.may_read_all_cores() {
            return None;
        }
        let other = self.other_kernel(core.into());
        // A core that waits for the entry lock may have a pending decision, too.
        let settled =
            !other.entry_lock.remotely_modified && matches!(other.core.decision, Decision::Resume);
        settled.then_some(&other.core)
    }

    #[cold]
    fn detach_from_core(&mut self, thread: Ptr<Thread<A>>, core: usize) {
        debug_assert!(self.entry_lock.is_exclusive());
        if core == self.core.id {
            A::release_thread(self, thread);
        } else {
            self.stall_remote_thread_with(thread, RemoteRequest::Release(thread));
        }
        if self.core_of(core as u8).current == Some(thread) {
            let owner = self.kernel_of(core);
            owner.core.current = None;
            owner.core.reload = true;
            owner.choose_again();
        }
    }
}
