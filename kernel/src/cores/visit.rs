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
pub(super) enum Request<A: Arch> {
    /// To write back what methods of a thread can read and set.
    WriteBack(Ptr<Thread<A>>),
    /// To write back all that it holds of a thread, and to forget the thread.
    Release(Ptr<Thread<A>>),
    /// An operation of the architecture.
    Arch(A::Remote),
}

// SAFETY: a core in exclusive mode may use all handles; the other core carries out the request for it, while
// it waits.
unsafe impl<A: Arch> Send for Request<A> {}

impl<A: Arch> Kernel<A> {
    /// The number of cores.
    pub fn cores(&self) -> usize {
        self.gate.kernels.count()
    }

    /// The kernel of a core: this one, or that of another core, which is marked as remotely modified.
    #[inline(always)]
    pub(crate) fn at(&mut self, core: usize) -> &mut Self {
        if core == self.core.id {
            return self;
        }
        self.visit(core)
    }

    /// The kernel of the owning core of a thread.
    #[inline(always)]
    pub(crate) fn home(&mut self, thread: Ptr<Thread<A>>) -> &mut Self {
        self.at(self[thread].core.into())
    }

    /// The kernel of the owning core of a scheduling context.
    #[inline(always)]
    pub(crate) fn home_of(&mut self, context: Ptr<SchedContext<A>>) -> &mut Self {
        self.at(self[context].core.into())
    }

    /// Charges what a thread of another core has used so far, before its budget decides anything here.
    #[inline(always)]
    pub(crate) fn charge_remote_thread(&mut self, thread: Ptr<Thread<A>>) {
        self.home(thread);
    }

    /// A context is about to be taken from its thread. If it is charged on another core, this charges the
    /// time consumed so far and stops charging it there, as another thread may use it from now on.
    #[inline(always)]
    pub(crate) fn settle_payer(&mut self, context: Ptr<SchedContext<A>>) {
        let core = usize::from(self[context].core);
        if core != self.core.id {
            self.visit(core).stop_paying(context);
        }
    }

    #[inline(never)]
    fn visit(&mut self, core: usize) -> &mut Self {
        debug_assert!(self.gate.is_alone());
        let other = self.other(core);
        if self.gate.visits.insert(core) {
            other.gate.visited = true;
            other.settle();
        }
        other
    }

    /// Brings the accounting of this core up to date, for a remote access or after one. If the access has
    /// put the current thread into a queue or taken its context, charging stops here, because the remaining
    /// budget has been relied on: the thread waits by it, or another thread uses it. A head replenishment
    /// that is used up is charged at once, although the thread runs until its core notices.
    pub(super) fn settle(&mut self) {
        if let Some(context) = self.core.current_context
            && !self.core.current.is_some_and(|thread| {
                self[context].thread == Some(thread) && self[thread].membership == Membership::None
            })
        {
            self.stop_paying(context);
        }
        self.update_time();
        let (used, minimum) = (self.core.consumed, self.min_budget());
        if let Some(context) = self.core.current_context
            && self[context].is_configured()
            && !self[context].refills().is_sufficient(used, minimum)
        {
            self.charge_slice(context, used);
            self.gate.slice_is_over = true;
        }
    }

    /// Ends the current thread's turn, if a remote access found its head replenishment used up.
    pub(super) fn end_slice_that_is_over(&mut self) {
        if core::mem::take(&mut self.gate.slice_is_over)
            && let (Some(thread), Some(context)) = (self.core.current, self.core.current_context)
            && self.is_schedulable(thread)
            && self[thread].membership == Membership::None
        {
            // The time consumed since then is charged before the thread waits for more budget, and later time
            // is not: this entry may take a while.
            self.stop_paying(context);
            self.end_slice(thread, context, true);
            self.choose_again();
        }
    }

    /// The kernel of another core.
    fn other(&self, core: usize) -> &'static mut Self {
        // SAFETY: this core is in exclusive mode, so that no other core is in the kernel, and it uses one
        // reference at a time.
        unsafe { self.gate.kernels.get(core) }
    }

    /// Calls `work` for the kernel of each core, in exclusive mode.
    pub fn each_core(&mut self, mut work: impl FnMut(&mut Self)) {
        for core in 0..self.cores() {
            if core == self.core.id {
                work(self);
            } else {
                work(self.other(core));
            }
        }
    }

    /// The same, and marks the other cores as remotely modified.
    pub(crate) fn each_visited_core(&mut self, mut work: impl FnMut(&mut Self)) {
        for core in 0..self.cores() {
            work(self.at(core));
        }
    }

    /// Remote call: another core carries out a request while it waits for the entry lock. Returns when it
    /// has.
    fn ask(&mut self, core: usize, request: Request<A>) {
        debug_assert!(self.gate.is_alone() && core != self.core.id);
        let kernels = self.gate.kernels;
        if !kernels.world.is_at_gate(core) {
            self.arch.interrupt_core(core);
        }
        // SAFETY: only the core in exclusive mode makes remote calls.
        unsafe { kernels.requests[core].ask(request, || A::wait_for(core)) };
    }

    pub(super) fn perform(&mut self, request: Request<A>) {
        match request {
            Request::WriteBack(thread) => A::write_back_thread(self, thread),
            Request::Release(thread) => A::release_thread(self, thread),
            Request::Arch(remote) => A::perform(self, remote),
        }
    }

    /// Remote call of an operation of the architecture on all other cores. Returns when they have carried it
    /// out.
    pub fn on_other_cores(&mut self, remote: A::Remote) {
        for core in 0..self.cores() {
            if core != self.core.id {
                self.ask(core, Request::Arch(remote));
            }
        }
    }

    /// Carries out an operation of the architecture on one core: this one or another.
    pub fn on_core(&mut self, core: usize, remote: A::Remote) {
        if core == self.core.id {
            A::perform(self, remote);
        } else {
            self.ask(core, Request::Arch(remote));
        }
    }

    /// Stalls a remote thread: makes sure that another core neither runs it nor holds any of its registers.
    /// If the core ran it, it reloads the thread, if that can still run, when it next leaves the kernel.
    pub(crate) fn seize(&mut self, thread: Ptr<Thread<A>>) {
        self.seize_with(thread, Request::WriteBack(thread));
    }

    fn seize_with(&mut self, thread: Ptr<Thread<A>>, request: Request<A>) {
        let core = usize::from(self[thread].core);
        if core == self.core.id {
            return;
        }
        let other = self.other(core);
        let runs = other.core.current == Some(thread);
        if !runs && !other.arch.holds(thread) {
            return;
        }
        if runs {
            self.visit(core).core.reload = true;
        }
        self.ask(core, request);
    }

    /// The registers of a thread are replaced, after [`Kernel::seize`]. If it has entered the kernel on
    /// another core and waits for the entry lock there, it no longer asks for what it asked for.
    pub(crate) fn abandon_entry(&mut self, thread: Ptr<Thread<A>>) {
        let core = usize::from(self[thread].core);
        if core != self.core.id
            && self.other(core).core.current == Some(thread)
            && matches!(self[thread].state, ThreadState::Running)
        {
            self[thread].state = ThreadState::Restart;
        }
    }

    /// Migrates a thread to a core. The thread is in no queue of the scheduler.
    pub(crate) fn move_to(&mut self, thread: Ptr<Thread<A>>, core: u8) {
        let before = self[thread].core;
        if before == core {
            return;
        }
        self.leave_core(thread, before.into());
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
        let home = self.home(thread);
        if home.core.current == Some(thread) {
            home.choose_again();
        }
    }

    /// The message may have brought the current thread a context of another core: it continues on that core.
    #[inline(always)]
    pub(crate) fn follow_time(&mut self, thread: Ptr<Thread<A>>) {
        if usize::from(self[thread].core) != self.core.id {
            self.offer(thread);
        }
    }

    /// Migrates a scheduling context, with the thread that runs on it.
    pub(crate) fn move_context(&mut self, context: Ptr<SchedContext<A>>, core: u8) {
        self.finish_pending_yield(context);
        self[context].core = core;
        if let Some(reply) = self[context].reply {
            self[reply].set_core(core);
        }
        if let Some(thread) = self[context].thread {
            self.move_to(thread, core);
        }
    }

    /// A thread is deleted: no core may hold its registers any longer.
    pub(crate) fn forget(&mut self, thread: Ptr<Thread<A>>) {
        self.leave_core(thread, self[thread].core.into());
    }

    /// The state of a core: this one or, in exclusive mode, another.
    #[inline(always)]
    pub(crate) fn core_of(&self, core: u8) -> &Core<A> {
        let core = usize::from(core);
        if core == self.core.id {
            return &self.core;
        }
        debug_assert!(!self.gate.is_inside());
        &self.other(core).core
    }

    /// Whether this core may read the state of other cores.
    #[cfg(any(test, feature = "invariants"))]
    pub(crate) fn sees_everything(&self) -> bool {
        !self.gate.is_inside()
    }

    /// The state of a core, if this core may read it and no remote modification is pending there.
    #[cfg(any(test, feature = "invariants"))]
    pub(crate) fn settled_core(&self, core: u8) -> Option<&Core<A>> {
        if usize::from(core) == self.core.id {
            return Some(&self.core);
        }
        if !self.sees_everything() {
            return None;
        }
        let other = self.other(core.into());
        // A core that waits for the entry lock may have a pending decision, too.
        let settled = !other.gate.visited && matches!(other.core.decision, Decision::Resume);
        settled.then_some(&other.core)
    }

    #[cold]
    fn leave_core(&mut self, thread: Ptr<Thread<A>>, core: usize) {
        debug_assert!(self.gate.is_alone());
        if core == self.core.id {
            A::release_thread(self, thread);
        } else {
            self.seize_with(thread, Request::Release(thread));
        }
        let home = self.other(core);
        if home.core.current == Some(thread) {
            let home = self.at(core);
            home.core.current = None;
            home.core.reload = true;
            home.choose_again();
        }
    }
}
