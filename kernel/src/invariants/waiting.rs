//! Wait queues of endpoints and notifications.

use super::{Check, Reach, require};
use crate::Kernel;
use crate::arch::Arch;
use crate::collections::Linked;
use crate::config::CORES;
use crate::object::{
    Endpoint, EndpointState, Membership, NO_CORE, Notification, NotificationState, Thread,
    ThreadState, WaitQueue,
};
use crate::token::Ptr;

/// Checks an endpoint and its wait queue.
///
/// # Errors
/// The first violation found.
pub fn check_endpoint<A: Arch>(
    kernel: &Kernel<A>,
    endpoint: Ptr<Endpoint<A>>,
    reach: Reach,
) -> Check {
    let (address, core) = (endpoint.address(), kernel[endpoint].core());
    let (queue, sends) = match kernel[endpoint].state() {
        EndpointState::Idle => return Ok(()),
        EndpointState::Sending(queue) => (queue, true),
        EndpointState::Receiving(queue) => (queue, false),
    };
    check_queue(kernel, address, core, queue, reach, |state| match state {
        ThreadState::BlockedOnSend {
            endpoint: other, ..
        } => sends && other == endpoint,
        ThreadState::BlockedOnReceive {
            endpoint: other, ..
        } => !sends && other == endpoint,
        _ => false,
    })?;
    require(
        !kernel[endpoint].has_only_receiver() || !sends && queue.only(&kernel.objects).is_some(),
        address,
        "a receiver marked as the only one is the only one",
    )
}

/// Checks a notification, its bindings and its wait queue.
///
/// # Errors
/// The first violation found.
pub fn check_notification<A: Arch>(
    kernel: &Kernel<A>,
    notification: Ptr<Notification<A>>,
    reach: Reach,
) -> Check {
    let require = |holds, rule| require(holds, notification.address(), rule);
    let object = &kernel[notification];
    rules! { require;
        "the thread that a notification is bound to knows it":
            object.bound_thread.is_none_or(|thread| kernel[thread].bound_notification == Some(notification));
        "the context of a notification knows it":
            object.sched_context.is_none_or(|context| kernel[context].notification == Some(notification));
    }
    let NotificationState::Waiting(queue) = object.state else {
        return Ok(());
    };
    let (address, core) = (notification.address(), object.core);
    check_queue(kernel, address, core, queue, reach, |state| {
        matches!(state, ThreadState::BlockedOnNotification { notification: other }
            if other == notification)
    })
}

/// Checks that each thread in a wait queue is blocked at its object, is at the position of its priority, and
/// is on the object's core if the object belongs to one.
fn check_queue<A: Arch>(
    kernel: &Kernel<A>,
    object: usize,
    core: u8,
    queue: WaitQueue<A>,
    reach: Reach,
    waits_locally: impl Fn(ThreadState<A>) -> bool,
) -> Check {
    let check = |holds, rule| require(holds, object, rule);
    rules! { check;
        "a wait queue is not empty": !queue.is_empty();
        "a wait queue is well formed":
            queue.is_well_formed(&kernel.objects, reach.members);
    }
    queue.for_each(&kernel.objects, reach.members, |thread: Ptr<Thread<A>>| {
        let waiter = &kernel[thread];
        rules! { check;
            "only threads of its core wait at an object that belongs to a core":
                CORES == 1 || core == NO_CORE || waiter.core == core;
        }
        let holds = waits_locally(waiter.state)
            && waiter.membership == Membership::Waiting
            && waiter.links().key() == WaitQueue::<A>::key(waiter.priority);
        require(
            holds,
            thread.address(),
            "a thread in a wait queue is blocked there, at its priority",
        )
    })
}
