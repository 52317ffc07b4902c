//! The checks that a kernel built with them makes after each entry.
//!
//! Their cost does not depend on the number of objects: they cover the objects that the entry concerned, as
//! far as [`Reach::NEAR`], and one more object, so that over time all objects are checked.

use abi::config::DOMAINS;
use abi::{CRITICALITIES, PRIORITIES, Syscall};

use super::scheduler::{
    QueuePosition, check_current, check_ready_queue, check_release_queue, check_timer_deadline,
};
use super::{Check, Reach, check_cap, check_context, check_preempted, check_reply, check_slot};
use crate::Kernel;
use crate::arch::{Arch, Irq};
use crate::cap::Cap;
use crate::object::{Thread, ThreadSlot, thread_slot};
use crate::slot::Slot;
use crate::time::Ticks;
use crate::token::Ptr;

const REACH: Reach = Reach::NEAR;

impl<A: Arch> Kernel<A> {
    /// Checks the objects that this kernel entry concerned.
    ///
    /// # Panics
    /// If an invariant is violated.
    pub(crate) fn check_after_entry(&mut self) {
        if let Err(violation) = check_entry(self)
            && !self.instruments.watch.is_ignored
        {
            panic!("{violation}");
        }
    }

    /// Checks a thread with a system call that has stopped at a preemption point.
    ///
    /// # Panics
    /// As [`Kernel::check_after_entry`].
    pub(crate) fn check_after_preemption(&self, thread: Ptr<Thread<A>>, call: Option<Syscall>) {
        if let Err(violation) = check_preempted(self, thread, call) {
            panic!("{violation}");
        }
    }
}

/// Checks the current thread, its scheduling context and call chain, the heads of the ready and release
/// queues, the timer, the changed slots, and the next object of the scan through all objects.
///
/// # Errors
/// The first violation found.
pub fn check_entry<A: Arch>(kernel: &mut Kernel<A>) -> Check {
    check_current(kernel, REACH)?;
    if let Some(context) = kernel.core.current_context {
        check_context(kernel, context, None, REACH)?;
        let mut call = kernel[context].reply;
        for _ in 0..REACH.members {
            let Some(reply) = call else { break };
            check_reply(kernel, reply, REACH)?;
            call = kernel[reply].below;
        }
    }
    let domain = kernel.core.current_domain();
    let level = kernel.core.level;
    let ready = kernel.core.ready.highest_rank(domain, level);
    let first = |rank| {
        let ready = &kernel.core.ready;
        ready.first(&kernel.objects, domain, rank, level)
    };
    if let Some(thread) = ready.and_then(first) {
        check_ready_queue(kernel, QueuePosition::of(kernel, thread), REACH)?;
    }
    let last = Ticks(Ticks::NEVER.0 - 1);
    let due = kernel
        .core
        .release
        .highest_priority_due(domain, last, level);
    if let Some(thread) = due.and_then(|due| due.thread) {
        check_release_queue(kernel, QueuePosition::of(kernel, thread), REACH)?;
    }
    check_timer_deadline(kernel)?;
    for slot in kernel.instruments.watch.take_changes() {
        check_place(kernel, slot)?;
    }
    check_next(kernel)
}

/// Checks a slot and the object of its capability.
fn check_place<A: Arch>(kernel: &Kernel<A>, slot: Ptr<Slot<A>>) -> Check {
    check_slot(kernel, slot)?;
    check_cap(kernel, &kernel[slot].cap(), REACH)
}

/// Checks the next ready queue, release queue, interrupt line and capability of the scan, one of each.
fn check_next<A: Arch>(kernel: &mut Kernel<A>) -> Check {
    kernel.instruments.watch.round = kernel.instruments.watch.round.wrapping_add(1);
    let round = kernel.instruments.watch.round;
    let queue = round % (DOMAINS * CRITICALITIES * PRIORITIES);
    let position = QueuePosition::new(kernel, (queue / (CRITICALITIES * PRIORITIES)) as u8, queue);
    check_ready_queue(kernel, position, REACH)?;
    check_release_queue(kernel, position, REACH)?;
    let line = Irq(round % kernel.irqs.len());
    let stored = kernel.irqs.slot(line);
    check_slot(kernel, stored)?;
    // In shared mode other cores may be changing objects; they are checked in a later entry.
    if !kernel.may_read_all_cores() {
        return Ok(());
    }
    let Some(slot) = kernel.next_of_round() else {
        return Ok(());
    };
    check_place(kernel, slot)?;
    if let Cap::Thread(thread) = kernel[slot].cap() {
        for slot in ThreadSlot::ALL {
            check_slot(kernel, thread_slot(thread, slot))?;
        }
    }
    Ok(())
}
