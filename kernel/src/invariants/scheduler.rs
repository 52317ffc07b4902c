//! Cores: who runs, who could, who waits for time.

use abi::PRIORITIES;
use abi::config::DOMAINS;

use super::{Check, Violation, check_context, check_thread, require};
use crate::Kernel;
use crate::arch::Arch;
use crate::collections::Linked;
use crate::object::{Membership, ThreadState};

/// Checks the core's own state, and all threads in its queues.
///
/// # Errors
/// The first violation found.
pub fn check_core<A: Arch>(kernel: &Kernel<A>) -> Check {
    check_current(kernel)?;
    check_ready(kernel)?;
    check_release(kernel)
}

fn check_current<A: Arch>(kernel: &Kernel<A>) -> Check {
    let core = &kernel.core;
    let context = core.current.and_then(|thread| kernel[thread].sched_context);
    require(
        core.current_context == context,
        core.id,
        "the context of the current thread pays",
    )?;
    let Some(thread) = core.current else {
        return Ok(());
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
    let priority = kernel[thread].priority;
    let highest = core.ready.highest_priority(core.current_domain());
    require(
        highest.is_none_or(|highest| highest <= priority),
        "nobody more urgent than the current thread is ready",
    )?;
    let due = core
        .release
        .most_urgent_due(core.current_domain(), core.now);
    require(
        due.is_none_or(|(due, _)| due <= priority),
        "nobody more urgent than the current thread is due",
    )?;
    check_thread(kernel, thread)
}

fn check_ready<A: Arch>(kernel: &Kernel<A>) -> Check {
    let ready = &kernel.core.ready;
    for domain in 0..DOMAINS as u8 {
        let mut highest = None;
        for priority in 0..PRIORITIES {
            let priority = priority as u8;
            let ring = ready.ring(domain, priority);
            let require = |holds, rule| require(holds, priority.into(), rule);
            require(
                ring.is_well_formed(&kernel.objects),
                "a ready queue is well formed",
            )?;
            require(
                ready.is_occupied(domain, priority) != ring.is_empty(),
                "the bitmap of ready queues tells which are occupied",
            )?;
            let mut next = ring.first();
            let mut before = 0;
            while let Some(thread) = next {
                highest = Some(priority);
                let since = kernel[thread].links().key();
                require(
                    before <= since && since <= kernel.core.now.0,
                    "ready threads stand in the order in which they became ready",
                )?;
                before = since;
                require(
                    kernel[thread].membership == Membership::Ready,
                    "who is in a ready queue knows it",
                )?;
                check_thread(kernel, thread)?;
                next = ring.after(&kernel.objects, thread);
            }
        }
        require(
            ready.highest_priority(domain) == highest,
            domain.into(),
            "the most urgent ready queue is found",
        )?;
    }
    require(
        kernel.core.current.is_some()
            || ready
                .highest_priority(kernel.core.current_domain())
                .is_none()
                && kernel.core.release.earliest(kernel.core.current_domain()) > kernel.core.now,
        kernel.core.id,
        "a core idles only when nobody is ready or due",
    )
}

fn check_release<A: Arch>(kernel: &Kernel<A>) -> Check {
    for domain in 0..DOMAINS as u8 {
        let mut earliest = u64::MAX;
        for priority in 0..PRIORITIES as u16 {
            let first = check_release_queue(kernel, domain, priority as u8)?;
            earliest = earliest.min(first);
            let found = kernel.core.release.earliest_from(domain, priority);
            require(
                found.map_or(u64::MAX, |(_, time)| time.0) <= first,
                priority.into(),
                "no release is overlooked",
            )?;
        }
        require(
            kernel.core.release.earliest(domain).0 == earliest,
            domain.into(),
            "the first release of a domain is found",
        )?;
    }
    require(
        kernel.alarm_is_right(),
        kernel.core.id,
        "the timer is armed for the first thing that can change who runs",
    )
}

/// Checks the release queue of one priority, and returns the moment of its first.
fn check_release_queue<A: Arch>(
    kernel: &Kernel<A>,
    domain: u8,
    priority: u8,
) -> Result<u64, Violation> {
    let queue = kernel.core.release.queue(domain, priority);
    require(
        queue.is_well_formed(&kernel.objects),
        priority.into(),
        "a release queue is well formed",
    )?;
    queue.for_each(&kernel.objects, |thread| {
        require(
            kernel[thread].membership == Membership::Release,
            thread.address(),
            "who is in a release queue knows it",
        )?;
        check_thread(kernel, thread)?;
        match kernel[thread].sched_context {
            Some(context) => check_context(kernel, context, None),
            None => Ok(()),
        }
    })?;
    let first = queue.first();
    Ok(first.map_or(u64::MAX, |first| kernel[first].links().key()))
}
