//! Cores: who runs, who could, who waits for time.

use abi::PRIORITIES;
use abi::config::DOMAINS;

use super::{Check, check_context, check_thread, require};
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
    let highest = core.ready.highest_priority(core.current_domain());
    require(
        highest.is_none_or(|highest| highest <= kernel[thread].priority),
        "nobody more urgent than the current thread is ready",
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
            while let Some(thread) = next {
                highest = Some(priority);
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
                .is_none(),
        kernel.core.id,
        "a core idles only when nobody is ready",
    )
}

fn check_release<A: Arch>(kernel: &Kernel<A>) -> Check {
    let release = kernel.core.release.queue();
    let objects = &kernel.objects;
    require(
        release.is_well_formed(objects),
        kernel.core.id,
        "the release queue is well formed",
    )?;
    let first = kernel.core.release.first(objects);
    release.for_each(objects, |thread| {
        require(
            kernel[thread].membership == Membership::Release
                && first.is_some_and(|(_, time)| time.0 <= kernel[thread].links().key()),
            thread.address(),
            "who is in the release queue knows it, and the first is released first",
        )?;
        check_thread(kernel, thread)?;
        match kernel[thread].sched_context {
            Some(context) => check_context(kernel, context, None),
            None => Ok(()),
        }
    })
}
