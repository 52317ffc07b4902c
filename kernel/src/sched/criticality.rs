//! Criticality: which threads keep running when there is not enough time for all.
//!
//! A core has a criticality *level*. Threads at or above it run in a band above all threads below it. At
//! level 0, at which all cores start, there is one band. The *rank* of a thread is its priority, plus
//! [`PRIORITIES`] in the upper band.
//!
//! Ready and release queues are separate for each criticality, and the level determines which of them are in
//! the upper band. So a change of the level changes one number, and the scheduler chooses again.
//!
//! A thread runs at the criticality of its scheduling context. The context has it from the thread that it is
//! bound or lent to, and keeps it in calls. So a server runs at the criticality of the client that it serves,
//! without further work when the context moves.

use abi::{CRITICALITIES, PRIORITIES};

use super::{Scheduler, TimerDeadline};
use crate::arch::Arch;
use crate::object::{SchedContext, Thread};
use crate::token::{Objects, Ptr};

/// The number that is added to the priorities of threads of a criticality, at a level.
pub(crate) const fn band(criticality: u8, level: u8) -> u16 {
    if level > 0 && criticality >= level {
        PRIORITIES as u16
    } else {
        0
    }
}

/// Domain, criticality and priority of a thread: its queue among the ready and release queues.
#[inline(always)]
pub(super) fn queue_position<A: Arch>(
    objects: &Objects,
    thread: Ptr<Thread<A>>,
) -> (usize, usize, u8) {
    let thread = &objects[thread];
    let criticality = match thread.sched_context {
        Some(context) => usize::from(objects[context].criticality()) % CRITICALITIES,
        None => 0,
    };
    let domain = if abi::config::DOMAINS == 1 {
        0
    } else {
        thread.domain as usize
    };
    (domain, criticality, thread.priority)
}

impl<A: Arch> Scheduler<A> {
    /// The preemption rank of a thread: its priority, plus its band.
    #[inline(always)]
    pub(crate) fn rank(&self, thread: Ptr<Thread<A>>) -> u16 {
        if self.core.level == 0 {
            return self[thread].priority.into();
        }
        self.rank_in_band(thread)
    }

    #[cold]
    fn rank_in_band(&self, thread: Ptr<Thread<A>>) -> u16 {
        let (_, criticality, priority) = queue_position(&self.objects, thread);
        band(criticality as u8, self.core.level) + u16::from(priority)
    }

    /// Changes the criticality level of this core.
    pub(crate) fn set_level(&mut self, level: u8) {
        self.core.level = level;
        self.trace_level();
        self.core.timer_deadline = TimerDeadline::NONE;
        self.core.reprogram = true;
        self.choose_again();
    }

    /// Changes the criticality of a thread, and of the context that has its criticality from it, even if
    /// another thread runs on that context now.
    pub(crate) fn set_criticality(&mut self, thread: Ptr<Thread<A>>, criticality: u8) {
        self[thread].criticality = criticality;
        self.trace_criticality(thread);
        // A thread on a context that is bound to no thread and was not donated by a call determines that
        // context's criticality.
        let unowned = self[thread]
            .sched_context
            .filter(|context| self[*context].owner.is_none() && self[*context].reply.is_none());
        if let Some(context) = self[thread].own_context.or(unowned) {
            self.set_criticality_of(context, criticality);
        }
    }

    fn set_criticality_of(&mut self, context: Ptr<SchedContext<A>>, criticality: u8) {
        let owner = self.owning_core_of_context(context);
        if owner.core.current_context == Some(context) {
            owner.core.reprogram = true;
        }
        let change = |kernel: &mut Self| kernel[context].set_criticality(criticality);
        match self[context].thread {
            Some(holder) => self.change_rank(holder, change),
            None => change(self),
        }
    }

    /// A context is bound to a thread, and has the criticality of that thread from now on. Earlier bindings
    /// of both end.
    pub(crate) fn own(&mut self, thread: Ptr<Thread<A>>, context: Ptr<SchedContext<A>>) {
        self.disown(context);
        if let Some(before) = self[thread].own_context.replace(context) {
            self[before].owner = None;
        }
        self[context].owner = Some(thread);
        let criticality = self[thread].criticality;
        self[context].set_criticality(criticality);
    }

    /// A context is no longer bound to a thread.
    pub(crate) fn disown(&mut self, context: Ptr<SchedContext<A>>) {
        if let Some(owner) = self[context].owner.take() {
            self[owner].own_context = None;
        }
    }
}
