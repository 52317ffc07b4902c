//! Cores: the current thread, ready queues, release queues, timer.

use abi::config::DOMAINS;
use abi::{CRITICALITIES, PRIORITIES};

use super::{Check, Reach, Violation, check_context, check_thread, require};
use crate::Kernel;
use crate::arch::Arch;
use crate::collections::{Heap, Linked, Ring};
use crate::object::{Membership, Thread, ThreadState};
use crate::sched::{Core, Readiness, band};
use crate::token::Ptr;

/// The queues of threads with the same core, domain, criticality and priority.
#[derive(Clone, Copy)]
pub(super) struct QueuePosition {
    core: u8,
    domain: u8,
    criticality: u8,
    priority: u8,
}

impl QueuePosition {
    /// The position on this core with this number within a domain.
    pub(super) fn new<A: Arch>(kernel: &Kernel<A>, domain: u8, number: usize) -> Self {
        Self {
            core: kernel.core.id as u8,
            domain,
            criticality: (number / PRIORITIES % CRITICALITIES) as u8,
            priority: (number % PRIORITIES) as u8,
        }
    }

    /// The position of a thread.
    pub(super) fn of<A: Arch>(kernel: &Kernel<A>, thread: Ptr<Thread<A>>) -> Self {
        let object = &kernel[thread];
        let context = object.sched_context;
        Self {
            core: object.core,
            domain: object.domain,
            criticality: context.map_or(0, |context| kernel[context].criticality()),
            priority: object.priority,
        }
    }

    /// Whether both queues are empty, as most of a core's thousands are, and the bitmap shows it.
    #[inline(always)]
    fn is_unused<A: Arch>(self, core: &Core<A>) -> bool {
        let Self {
            domain,
            criticality,
            priority,
            ..
        } = self;
        !core.ready.is_occupied(domain, criticality, priority)
            && core.ready.ring(domain, criticality, priority).is_empty()
            && core
                .release
                .queue(domain, criticality, priority)
                .first()
                .is_none()
    }

    /// The ready queue of this position.
    pub(super) fn ring<A: Arch>(self, kernel: &Kernel<A>) -> Ring<Thread<A>> {
        let ready = &kernel.core_of(self.core).ready;
        ready.ring(self.domain, self.criticality, self.priority)
    }

    /// The release queue of this position.
    pub(super) fn queue<A: Arch>(self, kernel: &Kernel<A>) -> Heap<Thread<A>> {
        let release = &kernel.core_of(self.core).release;
        release.queue(self.domain, self.criticality, self.priority)
    }
}

/// Checks the core's own state, and all threads in its queues.
///
/// # Errors
/// The first violation found.
pub fn check_core<A: Arch>(kernel: &Kernel<A>) -> Check {
    check_current(kernel, Reach::WHOLE)?;
    for domain in 0..DOMAINS as u8 {
        let (mut highest, mut earliest) = (None, u64::MAX);
        for position in 0..CRITICALITIES * PRIORITIES {
            let position = QueuePosition::new(kernel, domain, position);
            if position.is_unused(&kernel.core) {
                continue;
            }
            check_ready_queue(kernel, position, Reach::WHOLE)?;
            if let Some(thread) = position.ring(kernel).first() {
                highest = highest.max(Some(kernel.rank(thread)));
            }
            let first = check_release_queue(kernel, position, Reach::WHOLE)?;
            earliest = earliest.min(first);
        }
        require(
            kernel.core.ready.highest_rank(domain, kernel.core.level) == highest,
            domain.into(),
            "the bitmaps yield the highest-priority ready queue",
        )?;
        require(
            kernel.core.release.earliest(domain).0 == earliest,
            domain.into(),
            "the first release of a domain is stored",
        )?;
    }
    check_timer_deadline(kernel)
}

/// Checks that the timer is programmed for the correct deadline.
pub(super) fn check_timer_deadline<A: Arch>(kernel: &Kernel<A>) -> Check {
    require(
        kernel.is_timer_deadline_right(),
        kernel.core.id,
        "the timer is programmed for the first event that can change the current thread",
    )
}

/// Checks the current thread, and that it is the one to be scheduled.
pub(super) fn check_current<A: Arch>(kernel: &Kernel<A>, reach: Reach) -> Check {
    let core = &kernel.core;
    let context = core.current.and_then(|thread| kernel[thread].sched_context);
    require(
        core.current_context == context,
        core.id,
        "the current scheduling context is that of the current thread",
    )?;
    let domain = core.current_domain();
    let highest = core.ready.highest_rank(domain, core.level);
    let Some(thread) = core.current else {
        return require(
            highest.is_none() && core.release.earliest(domain) > core.now,
            core.id,
            "a core idles only when no thread is ready or due",
        );
    };
    let require = |holds, rule| require(holds, thread.address(), rule);
    rules! { require;
        "the current thread runs": matches!(kernel[thread].state, ThreadState::Running);
        "the current thread is in no queue": kernel[thread].membership == Membership::None;
        "the current thread is of the current domain":
            kernel[thread].domain == core.current_domain();
        "the current thread does not wait for what it yielded to":
            kernel[thread].yield_answer.is_none();
        "the current thread has budget": kernel.readiness(thread) == Readiness::Ready;
        "no higher-priority thread than the current one is ready":
            highest.is_none_or(|highest| highest <= kernel.rank(thread));
    }
    let due = core
        .release
        .highest_priority_due(domain, core.now, core.level);
    rules! { require;
        "no higher-priority thread than the current one is due":
            due.is_none_or(|due| due.rank <= kernel.rank(thread));
    }
    check_thread(kernel, thread, reach)
}

/// Checks the ready queue of one position.
pub(super) fn check_ready_queue<A: Arch>(
    kernel: &Kernel<A>,
    position: QueuePosition,
    reach: Reach,
) -> Check {
    let ready = &kernel.core.ready;
    let ring = position.ring(kernel);
    let require = |holds, rule| require(holds, position.priority.into(), rule);
    rules! { require;
        "the bitmap of ready queues shows which are occupied":
            ready.is_occupied(position.domain, position.criticality, position.priority) != ring.is_empty();
        "a ready queue is well formed": ring.is_well_formed(&kernel.objects, reach.members);
    }
    let mut next = ring.first();
    let mut before = 0;
    for _ in 0..reach.members {
        let Some(thread) = next else { break };
        let since = kernel[thread].links().key();
        rules! { require;
            "ready threads are in the order in which they became ready":
                before <= since && since <= kernel.core.now.0;
        }
        before = since;
        rules! { require;
            "a thread in a ready queue has that membership":
                kernel[thread].membership == Membership::Ready;
        }
        check_thread(kernel, thread, reach)?;
        next = ring.after(&kernel.objects, thread);
    }
    Ok(())
}

/// Checks the release queue of one position, and returns the time of its first release.
pub(super) fn check_release_queue<A: Arch>(
    kernel: &Kernel<A>,
    position: QueuePosition,
    reach: Reach,
) -> Result<u64, Violation> {
    let queue = position.queue(kernel);
    require(
        queue.is_well_formed(&kernel.objects, reach.members),
        position.priority.into(),
        "a release queue is well formed",
    )?;
    queue.for_each(&kernel.objects, reach.members, |thread| {
        require(
            kernel[thread].membership == Membership::Release,
            thread.address(),
            "a thread in a release queue has that membership",
        )?;
        check_thread(kernel, thread, reach)?;
        match kernel[thread].sched_context {
            Some(context) => check_context(kernel, context, None, reach),
            None => Ok(()),
        }
    })?;
    let first = queue.first();
    let first = first.map_or(u64::MAX, |first| kernel[first].links().key());
    let level = kernel.core.level;
    let lowest = band(position.criticality, level) + u16::from(position.priority);
    let found = kernel
        .core
        .release
        .earliest_from(position.domain, lowest, level);
    require(
        found.map_or(u64::MAX, |(_, time)| time.0) <= first,
        position.priority.into(),
        "the tournament yields no later release than the first",
    )?;
    Ok(first)
}
