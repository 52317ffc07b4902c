//! Negative controls of the invariant checks: for each rule, a kernel that violates it is found.
//!
//! The tests change the state directly, without kernel entries. Each rule is tried with both reaches:
//! that of tests, which check everything, and that of debug kernels.

#[cfg(feature = "smp")]
mod owners;
mod slots;
mod world;

use std::num::NonZeroU64;
use std::panic::{AssertUnwindSafe, catch_unwind};

use abi::Syscall;
use kernel::budget::Refill;
use kernel::cap::Cap;
use kernel::collections::Links;
use kernel::invariants::{
    Check, Reach, check_cap, check_context, check_core, check_endpoint, check_entry,
    check_notification, check_preempted, check_reply,
};
use kernel::object::{
    Above, EndpointState, Fault, Membership, NotificationState, PendingFault, Progress,
    ThreadState, WaitQueue, YieldAnswer,
};
use kernel::time::Ticks;

use world::BigReaderLock;

/// The change that `violate` makes is reported as a violation of `rule`.
fn caught(rule: &str, violate: impl Fn(&mut BigReaderLock, Reach) -> Check) {
    for reach in [Reach::WHOLE, Reach::NEAR] {
        let check = violate(&mut BigReaderLock::new(), reach);
        assert_eq!(
            check.map_err(|violation| violation.rule),
            Err(rule),
            "{reach:?}"
        );
    }
}

#[test]
fn contexts() {
    let check = |world: &mut BigReaderLock, reach| {
        let context = world.context();
        check_context(world.kernel(), context, Some(8), reach)
    };
    caught(
        "the thread of a scheduling context knows the context",
        |world, reach| {
            let thread = world.current.thread;
            world.kernel()[thread].sched_context = None;
            check(world, reach)
        },
    );
    caught(
        "the notification of a scheduling context knows the context",
        |world, reach| {
            let (context, notification) = (world.context(), world.notification(world.bound));
            world.kernel()[context].notification = Some(notification);
            check(world, reach)
        },
    );
    caught(
        "a context with a limit needs a budget check",
        |world, reach| {
            let context = world.context();
            let top = world.kernel()[context].reply.expect("it was lent");
            world.kernel()[context].limit = NonZeroU64::new(1000);
            world.kernel()[top].above = Above::Limited(context);
            check(world, reach)
        },
    );
    caught("a limit belongs to the call that set it", |world, reach| {
        let context = world.context();
        world.kernel()[context].limit = NonZeroU64::new(1000);
        check(world, reach)
    });
    caught(
        "a limit is put aside by a call that brings it back",
        |world, reach| {
            let thread = world.current.thread;
            world.kernel()[thread].outer_limit = NonZeroU64::new(1000);
            check_cap(world.kernel(), &Cap::Thread(thread), reach)
        },
    );
    caught(
        "the context of a deferred thread needs a budget check",
        |world, reach| {
            let thread = world.current.thread;
            world.kernel()[thread].progress = Progress::Deferred { since: 0 };
            check_cap(world.kernel(), &Cap::Thread(thread), reach)
        },
    );
    caught(
        "the thread that yielded to a context knows the context",
        |world, reach| {
            let (context, thread) = (world.context(), world.ready.thread);
            world.kernel()[context].yielded_from = Some(thread);
            check(world, reach)
        },
    );
    caught(
        "the top of a call stack knows its context",
        |world, reach| {
            let reply = world.reply(world.inner);
            world.kernel()[reply].above = Above::None;
            check(world, reach)
        },
    );
}

#[test]
fn replenishments() {
    let refill = |time, amount| Refill {
        time: Ticks(time),
        amount: Ticks(amount),
    };
    let check = |world: &BigReaderLock, bits, reach| {
        check_context(world.machine.kernel, world.context(), bits, reach)
    };
    caught("replenishments fit into the object", |world, reach| {
        check(world, Some(7), reach)
    });
    caught("the replenishments add up to the budget", |world, reach| {
        let context = world.context();
        // The sum up to the first exceeds the sum up to the second.
        world.kernel()[context].charge(Ticks(2_000), Ticks(20));
        world.write_refill(0, refill(0, 9_000));
        check(world, None, reach)
    });
    caught(
        "the current replenishment is worth using",
        |world, reach| {
            let context = world.context();
            world.kernel()[context].budget = Ticks(1);
            world.write_refill(0, refill(0, 1));
            check(world, None, reach)
        },
    );
    caught(
        "a time slice has a part that is left and a part that was used",
        |world, reach| {
            let context = world.context();
            world.kernel()[context].period = Ticks::ZERO;
            check(world, None, reach)
        },
    );
    caught(
        "replenishments are in order and do not overlap",
        |world, reach| {
            let context = world.context();
            // Half of the budget is used, and then its replenishment is too early.
            world.kernel()[context].charge(Ticks(2_000), Ticks(20));
            world.write_refill(1, refill(10, 7_000));
            check(world, None, reach)
        },
    );
    caught(
        "a configured context has replenishments, no more than it may",
        |world, reach| {
            let context = world.context();
            let object = &mut world.kernel()[context];
            object.unconfigure();
            object.budget = Ticks(100);
            check(world, None, reach)
        },
    );
}

#[test]
fn calls() {
    let check = |world: &BigReaderLock, reply, reach| {
        check_reply(world.machine.kernel, world.reply(reply), reach)
    };
    caught("a caller knows its reply object", |world, reach| {
        let (outer, client) = (world.reply(world.outer), world.client.thread);
        let inner = world.reply(world.inner);
        world.kernel()[client].state = ThreadState::BlockedOnReply { reply: inner };
        assert_ne!(outer, inner);
        check(world, world.outer, reach)
    });
    caught("a receiver knows its reply object", |world, reach| {
        let (endpoint, thread) = (world.endpoint(), world.receiver.thread);
        world.kernel()[thread].state = ThreadState::BlockedOnReceive {
            endpoint,
            reply: None,
        };
        check(world, world.waiting, reach)
    });
    caught(
        "the thread of a reply object waits with it",
        |world, reach| {
            let client = world.client.thread;
            world.kernel()[client].state = ThreadState::Inactive;
            check(world, world.outer, reach)
        },
    );
    caught("only a call stands in a call stack", |world, reach| {
        let (waiting, inner) = (world.reply(world.waiting), world.reply(world.inner));
        world.kernel()[waiting].below = Some(inner);
        check(world, world.waiting, reach)
    });
    caught(
        "the inner call of a call stack knows the outer one",
        |world, reach| {
            let inner = world.reply(world.inner);
            world.kernel()[inner].below = None;
            check(world, world.outer, reach)
        },
    );
    caught(
        "the context of a call stack knows its top",
        |world, reach| {
            let context = world.context();
            world.kernel()[context].reply = None;
            check(world, world.inner, reach)
        },
    );
    caught(
        "the outer call of a call stack knows the inner one",
        |world, reach| {
            let outer = world.reply(world.outer);
            world.kernel()[outer].above = Above::None;
            check(world, world.inner, reach)
        },
    );
    caught("a call stack has an end", |world, reach| {
        let (inner, outer) = (world.reply(world.inner), world.reply(world.outer));
        let kernel = world.kernel();
        (kernel[inner].above, kernel[inner].below) = (Above::Reply(outer), Some(outer));
        (kernel[outer].above, kernel[outer].below) = (Above::Reply(inner), Some(inner));
        check(world, world.outer, reach)
    });
}

#[test]
fn bindings_of_threads() {
    caught(
        "a thread's scheduling context knows the thread",
        |world, reach| {
            let context = world.context();
            world.kernel()[context].thread = None;
            world.thread(world.current, reach)
        },
    );
    caught(
        "a thread is on the core of its scheduling context",
        |world, reach| {
            let thread = world.current.thread;
            world.kernel()[thread].core = 1;
            world.thread(world.current, reach)
        },
    );
    caught(
        "the context that a thread yields to knows the thread",
        |world, reach| {
            let (context, thread) = (world.context(), world.ready.thread);
            world.kernel()[thread].yielding_to = Some(context);
            world.thread(world.ready, reach)
        },
    );
    caught("a bound notification knows its thread", |world, reach| {
        let bound = world.notification(world.bound);
        world.kernel()[bound].bound_thread = None;
        world.thread(world.receiver, reach)
    });
    caught("only a thread that waits idles", |world, reach| {
        let thread = world.current.thread;
        world.kernel()[thread].idling = Some(Ticks::ZERO);
        check_cap(world.kernel(), &Cap::Thread(thread), reach)
    });
    caught(
        "a thread that idles has an idling context",
        |world, reach| {
            let thread = world.receiver.thread;
            world.kernel()[thread].idling = Some(Ticks::ZERO);
            world.thread(world.receiver, reach)
        },
    );
    caught(
        "a thread that was preempted before it receives has time",
        |world, _| {
            let thread = world.current.thread;
            world.kernel()[thread].sched_context = None;
            check_preempted(world.kernel(), thread, Syscall::Call)?;
            check_preempted(world.kernel(), thread, Syscall::ReplyRecv)
        },
    );
    caught(
        "only a thread that waits for its handler has a fault",
        |world, reach| {
            let thread = world.ready.thread;
            world.kernel()[thread].fault = PendingFault::Some(Fault::Timeout {
                badge: 0,
                more: None,
            });
            world.thread(world.ready, reach)
        },
    );
    caught("a thread's domain exists", |world, reach| {
        let thread = world.client.thread;
        world.kernel()[thread].domain = abi::config::DOMAINS as u8;
        world.thread(world.client, reach)
    });
}

#[test]
fn queues_of_threads() {
    caught(
        "a ready thread is in the ready queue of its domain, criticality and priority",
        |world, reach| {
            let thread = world.ready.thread;
            world.kernel()[thread].priority += 1;
            world.thread(world.ready, reach)
        },
    );
    caught(
        "a ready thread wants to run and has time",
        |world, reach| {
            let thread = world.ready.thread;
            world.kernel()[thread].state = ThreadState::Inactive;
            world.thread(world.ready, reach)
        },
    );
    caught("the current thread is in no ready queue", |world, reach| {
        let thread = world.ready.thread;
        world.kernel().core.current = Some(thread);
        world.thread(world.ready, reach)
    });
    caught(
        "a thread that waits for time is in the release queue of its domain, criticality and priority",
        |world, reach| {
            let thread = world.sleeper.thread;
            world.kernel()[thread].priority += 1;
            world.thread(world.sleeper, reach)
        },
    );
    caught(
        "a thread in the release queue wants to run and does not",
        |world, reach| {
            let thread = world.sleeper.thread;
            world.kernel()[thread].state = ThreadState::Inactive;
            world.thread(world.sleeper, reach)
        },
    );
    caught(
        "a thread waits in the release queue for its next replenishment",
        |world, reach| {
            let context = world.machine.context(world.sleeper.context);
            let now = world.kernel().core.now;
            world.kernel()[context].start(2, now, Ticks(100), Ticks(100_000));
            world.thread(world.sleeper, reach)
        },
    );
    caught("a thread that could run is in a queue", |world, reach| {
        let thread = world.ready.thread;
        world.kernel()[thread].membership = Membership::None;
        world.thread(world.ready, reach)
    });
    caught(
        "the reply object of a receiver knows the receiver",
        |world, reach| {
            let waiting = world.reply(world.waiting);
            world.kernel()[waiting].set_thread(None);
            world.thread(world.receiver, reach)
        },
    );
    caught(
        "the reply object of a caller knows the caller",
        |world, reach| {
            let outer = world.reply(world.outer);
            world.kernel()[outer].set_thread(None);
            world.thread(world.client, reach)
        },
    );
    let waits = "a thread that waits is in the queue of what it waits for";
    for task in [
        |world: &BigReaderLock| world.sender,
        |world: &BigReaderLock| world.waiter,
        |world: &BigReaderLock| world.receiver,
    ] {
        caught(waits, |world, reach| {
            let task = task(world);
            world.kernel()[task.thread].membership = Membership::None;
            world.thread(task, reach)
        });
        caught(waits, |world, reach| {
            let task = task(world);
            world.kernel()[task.thread].links = Links::NONE;
            world.thread(task, reach)
        });
    }
    caught(waits, |world, reach| {
        // In two queues at once, as far as that can be represented.
        let thread = world.client.thread;
        world.kernel()[thread].membership = Membership::Waiting;
        world.thread(world.client, reach)
    });
}

#[test]
fn waiting_queues() {
    let endpoint = |world: &BigReaderLock, reach| {
        check_endpoint(world.machine.kernel, world.endpoint(), reach)
    };
    let notification = |world: &BigReaderLock, place, reach| {
        check_notification(world.machine.kernel, world.notification(place), reach)
    };
    caught("a wait queue is well formed", |world, reach| {
        let thread = world.receiver.thread;
        world.kernel()[thread].links = Links::NONE;
        endpoint(world, reach)
    });
    let waits = "a thread in a wait queue is blocked there, at its priority";
    caught(waits, |world, reach| {
        let thread = world.receiver.thread;
        world.kernel()[thread].priority += 1;
        endpoint(world, reach)
    });
    caught(waits, |world, reach| {
        let (here, thread) = (world.endpoint(), world.receiver.thread);
        let EndpointState::Receiving(queue) = world.kernel()[here].state() else {
            panic!("no receiver waits");
        };
        world.kernel()[here].set_state(EndpointState::Sending(queue));
        assert_eq!(world.kernel()[thread].membership, Membership::Waiting);
        endpoint(world, reach)
    });
    caught("a wait queue is not empty", |world, reach| {
        let signal = world.notification(world.signal);
        world.kernel()[signal].state = NotificationState::Waiting(WaitQueue::EMPTY);
        notification(world, world.signal, reach)
    });
    caught(
        "the thread that a notification is bound to knows it",
        |world, reach| {
            let thread = world.receiver.thread;
            world.kernel()[thread].bound_notification = None;
            notification(world, world.bound, reach)
        },
    );
    caught("the context of a notification knows it", |world, reach| {
        let lent = world.machine.context(world.lent);
        world.kernel()[lent].notification = None;
        notification(world, world.signal, reach)
    });
}

#[test]
fn cores() {
    let caught = |rule: &str, violate: &dyn Fn(&mut BigReaderLock)| {
        caught(rule, |world, reach| {
            violate(world);
            if reach.members == usize::MAX {
                check_core(world.kernel())
            } else {
                check_entry(world.kernel())
            }
        });
    };
    caught(
        "the current scheduling context is that of the current thread",
        &|world| {
            world.kernel().core.current_context = None;
        },
    );
    caught("the current thread runs", &|world| {
        let thread = world.current.thread;
        world.kernel()[thread].state = ThreadState::Restart;
    });
    caught("the current thread is in no queue", &|world| {
        let thread = world.current.thread;
        world.kernel()[thread].membership = Membership::Ready;
    });
    caught(
        "the current thread does not wait for what it yielded to",
        &|world| {
            let (context, thread) = (world.context(), world.current.thread);
            let kernel = world.kernel();
            kernel[context].yielded_from = Some(thread);
            kernel[thread].yielding_to = Some(context);
            kernel[thread].yield_answer = Some(YieldAnswer::Short);
        },
    );
    caught("the current thread has budget", &|world| {
        let context = world.context();
        world.kernel()[context].unconfigure();
    });
    caught(
        "no higher-priority thread than the current one is ready",
        &|world| {
            let thread = world.current.thread;
            world.kernel()[thread].priority = 1;
        },
    );
    caught(
        "a core idles only when no thread is ready or due",
        &|world| {
            let core = &mut world.kernel().core;
            (core.current, core.current_context) = (None, None);
        },
    );
    caught("a ready queue is well formed", &|world| {
        let thread = world.ready.thread;
        world.kernel()[thread].links = Links::NONE;
    });
    caught(
        "the membership of a thread in a ready queue says so",
        &|world| {
            let thread = world.ready.thread;
            world.kernel()[thread].membership = Membership::Release;
        },
    );
    caught("a release queue is well formed", &|world| {
        let thread = world.sleeper.thread;
        world.kernel()[thread].links = Links::NONE;
    });
    caught(
        "the timer is programmed for the first event that can change the current thread",
        &|world| {
            // The time at which the current budget ends has changed.
            world.kernel().core.now += Ticks(1);
        },
    );
    caught(
        "the membership of a thread in a release queue says so",
        &|world| {
            let thread = world.sleeper.thread;
            world.kernel()[thread].membership = Membership::Waiting;
        },
    );
}

/// A kernel that checks itself reports the violated rule and the object.
#[test]
fn a_kernel_that_checks_itself_stops() {
    let mut world = BigReaderLock::new();
    let (context, ready) = (world.context(), world.ready);
    world.kernel()[ready.thread].bound_notification = Some(world.notification(world.bound));
    let machine = &mut world.machine;
    let caught = catch_unwind(AssertUnwindSafe(|| machine.advance(10_000))).unwrap_err();
    let text = caught.downcast_ref::<String>().unwrap();
    let sentence = format!(
        "it should always hold that a bound notification knows its thread, but not for {:#x}",
        ready.thread.address()
    );
    assert_eq!(*text, sentence, "{context:?}");
}

/// Objects that no kernel entry uses are checked in turn.
#[test]
fn the_round_comes_to_everything() {
    let mut world = BigReaderLock::new();
    let bound = world.notification(world.bound);
    world.kernel()[bound].sched_context = Some(world.context());
    let kernel = world.kernel();
    let entries = (0..10_000)
        .take_while(|_| check_entry(kernel).is_ok())
        .count();
    assert!(entries < 1_000, "it took {entries} entries");
}
