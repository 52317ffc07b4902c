//! Putting threads into scheduler queues and taking them out, so that a thread is never in two.

use super::{Decision, Scheduler};
use crate::arch::Arch;
use crate::collections::Linked;
use crate::config::CORES;
use crate::object::{Membership, Thread};
use crate::time::Ticks;
use crate::token::Ptr;

/// Whether a thread can run if it is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readiness {
    /// It cannot: it is not runnable, has no configured context, or waits for a release in the future.
    NotReady,
    /// Only budget is missing.
    LacksBudget,
    /// It can.
    Ready,
}

impl<A: Arch> Scheduler<A> {
    /// Whether a thread can run if it is chosen, also from a release queue if its release is due. Inlined, so
    /// that callers that do not distinguish by budget do not read it.
    #[inline(always)]
    pub(crate) fn readiness(&self, thread: Ptr<Thread<A>>) -> Readiness {
        let object = &self[thread];
        let is_postponed =
            object.membership == Membership::Release && Ticks(object.links().key()) > self.core.now;
        match object.sched_context {
            Some(context)
                if object.is_runnable() && !is_postponed && self[context].is_configured() =>
            {
                match self[context].is_available(self.core.now, self.min_budget()) {
                    true => Readiness::Ready,
                    false => Readiness::LacksBudget,
                }
            }
            _ => Readiness::NotReady,
        }
    }

    /// Whether a thread lacks at most budget to run.
    pub(crate) fn is_schedulable(&self, thread: Ptr<Thread<A>>) -> bool {
        self.readiness(thread) != Readiness::NotReady
    }

    /// Puts a thread at the front of its ready queue.
    pub(crate) fn ready_front(&mut self, thread: Ptr<Thread<A>>) {
        let owner = self.owning_core(thread);
        owner.prepare_for_queue(thread);
        owner.queue_front(thread);
    }

    /// Puts a thread at the end of its ready queue.
    pub(crate) fn ready_back(&mut self, thread: Ptr<Thread<A>>) {
        let owner = self.owning_core(thread);
        owner.prepare_for_queue(thread);
        owner.queue_back(thread);
    }

    /// Puts a thread of this core, which is in no queue, at the front of its ready queue.
    #[inline(always)]
    pub(crate) fn queue_front(&mut self, thread: Ptr<Thread<A>>) {
        let objects = &mut self.capabilities.objects;
        self.core.ready.push_front(objects, thread);
        self[thread].membership = Membership::Ready;
    }

    /// Puts a thread of this core, which is in no queue, at the end of its ready queue.
    #[inline(always)]
    pub(crate) fn queue_back(&mut self, thread: Ptr<Thread<A>>) {
        let objects = &mut self.capabilities.objects;
        self.core.ready.push_back(objects, thread, self.core.now);
        self[thread].membership = Membership::Ready;
    }

    /// Lets a thread wait for its next replenishment.
    pub(crate) fn postpone(&mut self, thread: Ptr<Thread<A>>) {
        let Some(context) = self[thread].sched_context else {
            return;
        };
        let time = self[context].head().time;
        let owner = self.owning_core(thread);
        owner.trace_postponed(thread, time);
        owner.prepare_for_queue(thread);
        owner[thread].membership = Membership::Release;
        let objects = &mut owner.capabilities.objects;
        owner.core.release.insert(objects, thread, time);
        if owner[thread].domain == owner.core.current_domain() {
            let rank = owner.preemption_rank_of(Some(thread));
            owner.core.timer_deadline.include(rank, time);
        }
    }

    #[inline(always)]
    fn prepare_for_queue(&mut self, thread: Ptr<Thread<A>>) {
        debug_assert!(self[thread].membership != Membership::Waiting);
        let is_free = self[thread].membership == Membership::None;
        if !is_free || matches!(self.core.decision, Decision::Candidate(_)) {
            self.leave_scheduler(thread);
        }
    }

    /// Changes a property of a thread that determines its queue. A thread that can run is put at the front of
    /// its new queue, and the scheduler chooses again.
    pub(crate) fn change_queue_position(
        &mut self,
        thread: Ptr<Thread<A>>,
        change: impl FnOnce(&mut Self),
    ) {
        let owner = self.owning_core(thread);
        let readiness = owner.readiness(thread);
        let schedulable = readiness != Readiness::NotReady;
        let membership = owner[thread].membership;
        if schedulable {
            owner.choose_again();
        }
        owner.leave_scheduler(thread);
        change(owner);
        if schedulable && (CORES == 1 || readiness == Readiness::Ready) {
            owner.ready_front(thread);
        } else if owner.core.current == Some(thread) && membership == Membership::None {
            // It runs on another core, and its budget was found to be used up: its slice ends there.
        } else if schedulable || membership == Membership::Release {
            owner.postpone(thread);
        }
    }

    /// Changes the rank of a thread, but not its place in a wait queue. If it can run, the scheduler chooses again.
    pub(crate) fn change_rank(&mut self, thread: Ptr<Thread<A>>, change: impl FnOnce(&mut Self)) {
        if let Membership::Ready | Membership::Release = self[thread].membership {
            return self.change_queue_position(thread, change);
        }
        change(self);
        if self.is_schedulable(thread) {
            self.owning_core(thread).choose_again();
        }
    }

    /// Takes a thread out of its ready or release queue, or out of the pending decision.
    pub(crate) fn leave_scheduler(&mut self, thread: Ptr<Thread<A>>) {
        let owner = self.owning_core(thread);
        match owner[thread].membership {
            Membership::Ready => owner.take_ready(thread),
            Membership::Release => owner.leave_release(thread),
            Membership::None | Membership::Waiting => {
                if let Decision::Candidate(candidate) = owner.core.decision
                    && candidate == thread
                {
                    owner.core.decision = Decision::Choose;
                }
            }
        }
    }

    /// Takes a thread of this core out of its ready queue.
    #[inline(always)]
    pub(crate) fn take_ready(&mut self, thread: Ptr<Thread<A>>) {
        let objects = &mut self.capabilities.objects;
        self.core.ready.remove(objects, thread);
        self[thread].membership = Membership::None;
    }

    /// Takes a thread of this core out of the release queue; the caller programs the timer afterwards in any case.
    #[inline(always)]
    pub(crate) fn take_due(&mut self, thread: Ptr<Thread<A>>) {
        let objects = &mut self.capabilities.objects;
        self.core.release.remove(objects, thread);
        self[thread].membership = Membership::None;
    }

    #[inline(never)]
    fn leave_release(&mut self, thread: Ptr<Thread<A>>) {
        self.take_due(thread);
        let time = Ticks(self[thread].links().key());
        self.core.timer_deadline.remove(time);
    }

    /// Possible switch: a thread has become able to run, and may have a higher rank than the current one.
    /// Without budget it waits for its next replenishment; without a scheduling context nothing happens.
    pub(crate) fn possible_switch_to(&mut self, thread: Ptr<Thread<A>>) {
        let owner = self.owning_core(thread);
        if owner.core.current == Some(thread) {
            return;
        }
        match owner.readiness(thread) {
            Readiness::NotReady => return,
            Readiness::LacksBudget => return owner.postpone(thread),
            Readiness::Ready => {}
        }
        let here = owner[thread].domain == owner.core.current_domain();
        match owner.core.decision {
            Decision::Candidate(candidate) if candidate == thread => {}
            Decision::Resume if here => {
                owner.leave_scheduler(thread);
                owner.core.decision = Decision::Candidate(thread);
            }
            _ if !here => owner.ready_front(thread),
            _ => {
                owner.choose_again();
                owner.ready_front(thread);
            }
        }
    }

    /// The pending decision may be wrong: choose among all threads.
    pub(crate) fn choose_again(&mut self) {
        if let Decision::Candidate(candidate) = self.core.decision {
            self.core.decision = Decision::Choose;
            if self.is_schedulable(candidate) {
                self.ready_front(candidate);
            }
        }
        self.core.decision = Decision::Choose;
    }
}
