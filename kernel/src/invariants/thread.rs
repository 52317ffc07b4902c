//! Threads: their state, queues and bindings.

use abi::Syscall;

use super::scheduler::QueuePosition;
use super::{Check, Reach, require};
use crate::Kernel;
use crate::arch::Arch;
use crate::object::{
    Above, ContextFlags, EndpointState, Membership, NotificationState, Progress, Thread,
    ThreadState,
};
use crate::token::Ptr;

/// Checks a thread.
///
/// # Errors
/// The first violation found.
pub fn check_thread<A: Arch>(kernel: &Kernel<A>, thread: Ptr<Thread<A>>, reach: Reach) -> Check {
    check_bindings(kernel, thread)?;
    check_queue(kernel, thread, reach)?;
    check_wait(kernel, thread, reach)
}

/// Checks a thread with a preempted system call. The thread restarts the call when it runs again, for which
/// it needs a scheduling context. A call that deletes capabilities may have deleted that of its own thread. A
/// receive deletes nothing, and donates a context back only after its last preemption point.
///
/// # Errors
/// The violation found.
pub fn check_preempted<A: Arch>(
    kernel: &Kernel<A>,
    thread: Ptr<Thread<A>>,
    call: Option<Syscall>,
) -> Check {
    let may_delete = matches!(call, Some(Syscall::Send | Syscall::NBSend | Syscall::Call));
    require(
        may_delete || kernel[thread].sched_context.is_some(),
        thread.address(),
        "a thread that was preempted before it receives has a scheduling context",
    )
}

/// Checks that each object that the thread points to points back.
fn check_bindings<A: Arch>(kernel: &Kernel<A>, thread: Ptr<Thread<A>>) -> Check {
    let require = |holds, rule| require(holds, thread.address(), rule);
    let object = &kernel[thread];
    if let Some(context) = object.sched_context {
        let deferred = matches!(object.progress, Progress::Deferred { .. });
        rules! { require;
            "a thread's scheduling context knows the thread": kernel[context].thread == Some(thread);
            "a thread is on the core of its scheduling context": kernel[context].core == object.core;
            "the context of a deferred thread needs a budget check":
                !deferred || kernel[context].flags.contains(ContextFlags::NEEDS_CHECK);
        }
    }
    rules! { require;
        "a thread's own scheduling context knows its owner":
            object.own_context.is_none_or(|context| kernel[context].owner == Some(thread));
        "the context that a thread yields to knows the thread":
            object.yielding_to.is_none_or(|context| kernel[context].yielded_from == Some(thread));
        "a bound notification knows its thread":
            object.bound_notification.is_none_or(|bound| kernel[bound].bound_thread == Some(thread));
        "only a thread that waits idles":
            object.idling.is_none() || object.membership == Membership::Waiting;
        "a thread that idles has an idling context":
            object.idling.is_none()
                || object
                    .sched_context
                    .is_some_and(|context| kernel[context].flags.contains(ContextFlags::IDLING));
    }
    let may_have_fault = matches!(
        object.state,
        ThreadState::BlockedOnSend { .. }
            | ThreadState::BlockedOnReply { .. }
            | ThreadState::BlockedOnReturn { .. }
            | ThreadState::Inactive
    );
    rules! { require;
        "only a thread that waits for its handler has a fault":
            !object.fault.is_some() || may_have_fault;
    }
    require(
        usize::from(object.domain) < abi::config::DOMAINS,
        "a thread's domain exists",
    )
}

/// Checks that the thread is in the queue that its state requires.
fn check_queue<A: Arch>(kernel: &Kernel<A>, thread: Ptr<Thread<A>>, reach: Reach) -> Check {
    let require = |holds, rule| require(holds, thread.address(), rule);
    let object = &kernel[thread];
    let Some(core) = kernel.unmodified_core(object.core) else {
        return Ok(());
    };
    let is_current = core.current == Some(thread);
    let configured = object
        .sched_context
        .filter(|context| kernel[*context].is_configured());
    match object.membership {
        Membership::Waiting => Ok(()),
        Membership::Ready => {
            let ring = QueuePosition::of(kernel, thread).ring(kernel);
            // By the time of the thread's own core: this core may have read the clock later.
            let has_budget = configured
                .is_some_and(|context| kernel[context].is_available(core.now, kernel.min_budget()));
            rules! { require;
                "a ready thread is in the ready queue of its domain, criticality and priority":
                    ring.contains(&kernel.objects, thread, reach.members);
                "a ready thread is runnable and has budget": object.is_runnable() && has_budget;
            }
            require(!is_current, "the current thread is in no ready queue")
        }
        Membership::Release => {
            rules! { require;
                "a thread that waits for a replenishment is in the release queue of its domain, criticality and priority":
                    QueuePosition::of(kernel, thread).queue(kernel).contains(
                        &kernel.objects,
                        thread,
                        reach.members,
                    );
                "a thread in the release queue is runnable and not current":
                    object.is_runnable() && configured.is_some() && !is_current;
            }
            require(
                configured
                    .is_some_and(|context| kernel[context].head().time.0 == object.links.key()),
                "a thread waits in the release queue for its next replenishment",
            )
        }
        Membership::None => require(
            is_current || !object.is_runnable() || configured.is_none(),
            "a thread that could run is in a queue",
        ),
    }
}

/// Checks that the object at which the thread is blocked has it in its wait queue.
fn check_wait<A: Arch>(kernel: &Kernel<A>, thread: Ptr<Thread<A>>, reach: Reach) -> Check {
    let require = |holds, rule| require(holds, thread.address(), rule);
    let object = &kernel[thread];
    let queue = match object.state {
        ThreadState::BlockedOnSend { endpoint, .. } => match kernel[endpoint].state() {
            EndpointState::Sending(queue) => Some(queue),
            _ => None,
        },
        ThreadState::BlockedOnReceive { endpoint, reply } => {
            if let Some(reply) = reply {
                rules! { require;
                    "the reply object of a receiver knows the receiver":
                        kernel[reply].thread() == Some(thread);
                }
            }
            match kernel[endpoint].state() {
                EndpointState::Receiving(queue) => Some(queue),
                _ => None,
            }
        }
        ThreadState::BlockedOnNotification { notification } => match kernel[notification].state {
            NotificationState::Waiting(queue) => Some(queue),
            _ => None,
        },
        ThreadState::BlockedOnReply { reply } | ThreadState::BlockedOnReturn { reply } => {
            rules! { require;
                "the reply object of a caller knows the caller":
                    kernel[reply].thread() == Some(thread);
            }
            None
        }
        ThreadState::Inactive | ThreadState::Running | ThreadState::Restart => None,
    };
    let is_queued =
        queue.is_some_and(|queue| queue.contains(&kernel.objects, thread, reach.members));
    let calls = match object.state {
        ThreadState::BlockedOnReply { reply } | ThreadState::BlockedOnReturn { reply } => {
            Some(kernel[reply].above)
        }
        _ => None,
    };
    // The innermost call of a chain that has lost its context is linked to nothing.
    rules! { require;
        "only a call with a limit saves an outer limit":
            object.outer_limit.is_none()
                || matches!(
                    calls,
                    Some(Above::Reply(_) | Above::Limited(_) | Above::None)
                );
    }
    let should_be_queued = object.is_blocked() && calls.is_none();
    require(
        is_queued == should_be_queued && is_queued == (object.membership == Membership::Waiting),
        "a thread that waits is in the queue of what it waits for",
    )
}
