//! Cores: who runs, who could, who waits for time.

use abi::PRIORITIES;
use abi::config::DOMAINS;

use super::{Check, Reach, check_context, check_thread, require};
use crate::Kernel;
use crate::arch::Arch;
use crate::collections::Linked;
use crate::object::{Membership, ThreadState};

/// Checks the core's own state, and all threads in its queues.
///
/// # Errors
/// The first violation found.
pub fn check_core<A: Arch>(kernel: &Kernel<A>) -> Check {
    check_current(kernel, Reach::WHOLE)?;
    for domain in 0..DOMAINS as u8 {
        let mut highest = None;
        for priority in 0..PRIORITIES {
            let priority = priority as u8;
            check_ready_queue(kernel, domain, priority, Reach::WHOLE)?;
            if !kernel.core.ready.ring(domain, priority).is_empty() {
                highest = Some(priority);
            }
        }
        require(
            kernel.core.ready.highest_priority(domain) == highest,
            domain.into(),
            "the most urgent ready queue is found",
        )?;
    }
    check_release(kernel, Reach::WHOLE)
}

/// Checks the thread that runs, and that it is the right one.
pub(super) fn check_current<A: Arch>(kernel: &Kernel<A>, reach: Reach) -> Check {
    let core = &kernel.core;
    let context = core.current.and_then(|thread| kernel[thread].sched_context);
    require(
        core.current_context == context,
        core.id,
        "the context of the current thread pays",
    )?;
    let highest = core.ready.highest_priority(core.current_domain());
    let Some(thread) = core.current else {
        return require(
            highest.is_none(),
            core.id,
            "a core idles only when nobody is ready",
        );
    };
    let require = |holds, rule| require(holds, thread.address(), rule);
    require(
        matches!(kernel[thread].state, ThreadState::Running),
        "the current thread runs",
    )?;
    require(
        kernel[thread].membership == Membership::None,
        "the current thread is in no queue",
    )?;
    require(
        kernel[thread].domain == core.current_domain(),
        "the current thread is of the current domain",
    )?;
    require(
        kernel[thread].yielding_to.is_none(),
        "the current thread does not wait for what it yielded to",
    )?;
    require(
        kernel.has_budget(thread),
        "the current thread has time to use",
    )?;
    require(
        highest.is_none_or(|highest| highest <= kernel[thread].priority),
        "nobody more urgent than the current thread is ready",
    )?;
    check_thread(kernel, thread, reach)
}

/// Checks the threads of one domain and priority that could run.
pub(super) fn check_ready_queue<A: Arch>(
    kernel: &Kernel<A>,
    domain: u8,
    priority: u8,
    reach: Reach,
) -> Check {
    let ready = &kernel.core.ready;
    let ring = ready.ring(domain, priority);
    let require = |holds, rule| require(holds, priority.into(), rule);
    require(
        ready.is_occupied(domain, priority) != ring.is_empty(),
        "the bitmap of ready queues tells which are occupied",
    )?;
    require(
        ring.is_well_formed(&kernel.objects, reach.members),
        "a ready queue is well formed",
    )?;
    let mut next = ring.first();
    for _ in 0..reach.members {
        let Some(thread) = next else { break };
        require(
            kernel[thread].membership == Membership::Ready,
            "who is in a ready queue knows it",
        )?;
        check_thread(kernel, thread, reach)?;
        next = ring.after(&kernel.objects, thread);
    }
    Ok(())
}

/// Checks the threads that wait for time.
pub(super) fn check_release<A: Arch>(kernel: &Kernel<A>, reach: Reach) -> Check {
    let release = kernel.core.release.queue();
    let objects = &kernel.objects;
    require(
        release.is_well_formed(objects, reach.members),
        kernel.core.id,
        "the release queue is well formed",
    )?;
    let first = kernel.core.release.first(objects);
    release.for_each(objects, reach.members, |thread| {
        require(
            kernel[thread].membership == Membership::Release
                && first.is_some_and(|(_, time)| time.0 <= kernel[thread].links().key()),
            thread.address(),
            "who is in the release queue knows it, and the first is released first",
        )?;
        check_thread(kernel, thread, reach)?;
        match kernel[thread].sched_context {
            Some(context) => check_context(kernel, context, None, reach),
            None => Ok(()),
        }
    })
}
