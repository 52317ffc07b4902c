//! Negative controls of the invariant checks: for each rule, a kernel that violates it is found.
//!
//! The tests change the state directly, without kernel entries. Each rule is tried with both reaches:
//! that of tests, which check everything, and that of debug kernels.

#[cfg(feature = "smp")]
mod owners;
mod slots;
mod system;

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
    Above, Fault, Membership, NotificationState, PendingFault, Progress, ThreadState, WaitQueue,
    YieldAnswer,
};
use kernel::time::Ticks;

use system::TestSystem;

/// The change that `violate` makes is reported as a violation of `rule`.
fn caught(rule: &str, violate: impl Fn(&mut TestSystem, Reach) -> Check) {
    for reach in [Reach::WHOLE, Reach::NEAR] {
        let check = violate(&mut TestSystem::new(), reach);
        assert_eq!(
            check.map_err(|violation| violation.rule),
            Err(rule),
            "{reach:?}"
        );
    }
}

#[test]
fn contexts() {
    let check = |system: &mut TestSystem, reach| {
        let context = system.context();
        check_context(system.kernel(), context, Some(8), reach)
    };
    caught(
        "the thread of a scheduling context knows the context",
        |system, reach| {
            let thread = system.current.thread;
            system.kernel()[thread].sched_context = None;
            check(system, reach)
        },
    );
    caught(
        "the notification of a scheduling context knows the context",
        |system, reach| {
            let (context, notification) = (system.context(), system.notification(system.bound));
            system.kernel()[context].notification = Some(notification);
            check(system, reach)
        },
    );
    caught(
        "a context with a limit needs a budget check",
        |system, reach| {
            let context = system.context();
            let top = system.kernel()[context].reply.expect("it was lent");
            system.kernel()[context].limit = NonZeroU64::new(1000);
            system.kernel()[top].above = Above::Limited(context);
            check(system, reach)
        },
    );
    caught(
        "a limit belongs to the call that set it",
        |system, reach| {
            let context = system.context();
            system.kernel()[context].limit = NonZeroU64::new(1000);
            check(system, reach)
        },
    );
    caught(
        "only a call with a limit saves an outer limit",
        |system, reach| {
            let thread = system.current.thread;
            system.kernel()[thread].outer_limit = NonZeroU64::new(1000);
            check_cap(system.kernel(), &Cap::Thread(thread), reach)
        },
    );
    caught(
        "the context of a deferred thread needs a budget check",
        |system, reach| {
            let thread = system.current.thread;
            system.kernel()[thread].progress = Progress::Deferred { since: 0 };
            check_cap(system.kernel(), &Cap::Thread(thread), reach)
        },
    );
    caught(
        "the thread that yielded to a context knows the context",
        |system, reach| {
            let (context, thread) = (system.context(), system.ready.thread);
            system.kernel()[context].yielded_from = Some(thread);
            check(system, reach)
        },
    );
    caught(
        "the top of a call chain knows its context",
        |system, reach| {
            let reply = system.reply(system.inner);
            system.kernel()[reply].above = Above::None;
            check(system, reach)
        },
    );
}

#[test]
fn replenishments() {
    let refill = |time, amount| Refill {
        time: Ticks(time),
        amount: Ticks(amount),
    };
    let check = |system: &TestSystem, bits, reach| {
        check_context(system.machine.kernel, system.context(), bits, reach)
    };
    caught("replenishments fit into the object", |system, reach| {
        check(system, Some(7), reach)
    });
    caught(
        "the replenishments add up to the budget",
        |system, reach| {
            let context = system.context();
            // The sum up to the first exceeds the sum up to the second.
            system.kernel()[context].charge(Ticks(2_000), Ticks(20));
            system.write_refill(0, refill(0, 9_000));
            check(system, None, reach)
        },
    );
    caught(
        "the head replenishment holds the smallest budget",
        |system, reach| {
            let context = system.context();
            system.kernel()[context].budget = Ticks(1);
            system.write_refill(0, refill(0, 1));
            check(system, None, reach)
        },
    );
    caught(
        "a timeslice has a remaining and a used part",
        |system, reach| {
            let context = system.context();
            system.kernel()[context].period = Ticks::ZERO;
            check(system, None, reach)
        },
    );
    caught(
        "replenishments are in order and do not overlap",
        |system, reach| {
            let context = system.context();
            // Half of the budget is used, and then its replenishment is too early.
            system.kernel()[context].charge(Ticks(2_000), Ticks(20));
            system.write_refill(1, refill(10, 7_000));
            check(system, None, reach)
        },
    );
    caught(
        "a configured context has replenishments, no more than it may",
        |system, reach| {
            let context = system.context();
            let object = &mut system.kernel()[context];
            object.unconfigure();
            object.budget = Ticks(100);
            check(system, None, reach)
        },
    );
}

#[test]
fn calls() {
    let check = |system: &TestSystem, reply, reach| {
        check_reply(system.machine.kernel, system.reply(reply), reach)
    };
    caught("a caller knows its reply object", |system, reach| {
        let (outer, client) = (system.reply(system.outer), system.client.thread);
        let inner = system.reply(system.inner);
        system.kernel()[client].state = ThreadState::BlockedOnReply { reply: inner };
        assert_ne!(outer, inner);
        check(system, system.outer, reach)
    });
    caught("a receiver knows its reply object", |system, reach| {
        let (endpoint, thread) = (system.endpoint(), system.receiver.thread);
        system.kernel()[thread].state = ThreadState::BlockedOnReceive {
            endpoint,
            reply: None,
        };
        check(system, system.waiting, reach)
    });
    caught(
        "the thread of a reply object waits with it",
        |system, reach| {
            let client = system.client.thread;
            system.kernel()[client].state = ThreadState::Inactive;
            check(system, system.outer, reach)
        },
    );
    caught("only a call is in a call chain", |system, reach| {
        let (waiting, inner) = (system.reply(system.waiting), system.reply(system.inner));
        system.kernel()[waiting].below = Some(inner);
        check(system, system.waiting, reach)
    });
    caught(
        "the inner call of a call chain knows the outer one",
        |system, reach| {
            let inner = system.reply(system.inner);
            system.kernel()[inner].below = None;
            check(system, system.outer, reach)
        },
    );
    caught(
        "the context of a call chain knows its top",
        |system, reach| {
            let context = system.context();
            system.kernel()[context].reply = None;
            check(system, system.inner, reach)
        },
    );
    caught(
        "the outer call of a call chain knows the inner one",
        |system, reach| {
            let outer = system.reply(system.outer);
            system.kernel()[outer].above = Above::None;
            check(system, system.inner, reach)
        },
    );
    caught("a call chain has an end", |system, reach| {
        let (inner, outer) = (system.reply(system.inner), system.reply(system.outer));
        let kernel = system.kernel();
        (kernel[inner].above, kernel[inner].below) = (Above::Reply(outer), Some(outer));
        (kernel[outer].above, kernel[outer].below) = (Above::Reply(inner), Some(inner));
        check(system, system.outer, reach)
    });
}

#[test]
fn bindings_of_threads() {
    caught(
        "a thread's scheduling context knows the thread",
        |system, reach| {
            let context = system.context();
            system.kernel()[context].thread = None;
            system.thread(system.current, reach)
        },
    );
    caught(
        "a thread is on the core of its scheduling context",
        |system, reach| {
            let thread = system.current.thread;
            system.kernel()[thread].core = 1;
            system.thread(system.current, reach)
        },
    );
    caught(
        "the context that a thread yields to knows the thread",
        |system, reach| {
            let (context, thread) = (system.context(), system.ready.thread);
            system.kernel()[thread].yielding_to = Some(context);
            system.thread(system.ready, reach)
        },
    );
    caught("a bound notification knows its thread", |system, reach| {
        let bound = system.notification(system.bound);
        system.kernel()[bound].bound_thread = None;
        system.thread(system.receiver, reach)
    });
    caught("only a thread that waits idles", |system, reach| {
        let thread = system.current.thread;
        system.kernel()[thread].idling = Some(Ticks::ZERO);
        check_cap(system.kernel(), &Cap::Thread(thread), reach)
    });
    caught(
        "a thread that idles has an idling context",
        |system, reach| {
            let thread = system.receiver.thread;
            system.kernel()[thread].idling = Some(Ticks::ZERO);
            system.thread(system.receiver, reach)
        },
    );
    caught(
        "a thread that was preempted before it receives has a scheduling context",
        |system, _| {
            let thread = system.current.thread;
            system.kernel()[thread].sched_context = None;
            check_preempted(system.kernel(), thread, Some(Syscall::Call))?;
            check_preempted(system.kernel(), thread, Some(Syscall::ReplyRecv))
        },
    );
    caught(
        "only a thread that waits for its handler has a fault",
        |system, reach| {
            let thread = system.ready.thread;
            system.kernel()[thread].fault = PendingFault::Some(Fault::Timeout {
                badge: 0,
                more: None,
            });
            system.thread(system.ready, reach)
        },
    );
    caught("a thread's domain exists", |system, reach| {
        let thread = system.client.thread;
        system.kernel()[thread].domain = abi::config::DOMAINS as u8;
        system.thread(system.client, reach)
    });
}

#[test]
fn queues_of_threads() {
    caught(
        "a ready thread is in the ready queue of its domain, criticality and priority",
        |system, reach| {
            let thread = system.ready.thread;
            system.kernel()[thread].priority += 1;
            system.thread(system.ready, reach)
        },
    );
    caught(
        "a ready thread is runnable and has budget",
        |system, reach| {
            let thread = system.ready.thread;
            system.kernel()[thread].state = ThreadState::Inactive;
            system.thread(system.ready, reach)
        },
    );
    caught(
        "the current thread is in no ready queue",
        |system, reach| {
            let thread = system.ready.thread;
            system.kernel().core.current = Some(thread);
            system.thread(system.ready, reach)
        },
    );
    caught(
        "a thread that waits for a replenishment is in the release queue of its domain, criticality and priority",
        |system, reach| {
            let thread = system.sleeper.thread;
            system.kernel()[thread].priority += 1;
            system.thread(system.sleeper, reach)
        },
    );
    caught(
        "a thread in the release queue is runnable and not current",
        |system, reach| {
            let thread = system.sleeper.thread;
            system.kernel()[thread].state = ThreadState::Inactive;
            system.thread(system.sleeper, reach)
        },
    );
    caught(
        "a thread waits in the release queue for its next replenishment",
        |system, reach| {
            let context = system.machine.context(system.sleeper.context);
            let now = system.kernel().core.now;
            system.kernel()[context].start(2, now, Ticks(100), Ticks(100_000));
            system.thread(system.sleeper, reach)
        },
    );
    caught("a thread that could run is in a queue", |system, reach| {
        let thread = system.ready.thread;
        system.kernel()[thread].membership = Membership::None;
        system.thread(system.ready, reach)
    });
    caught(
        "the reply object of a receiver knows the receiver",
        |system, reach| {
            let waiting = system.reply(system.waiting);
            system.kernel()[waiting].set_thread(None);
            system.thread(system.receiver, reach)
        },
    );
    caught(
        "the reply object of a caller knows the caller",
        |system, reach| {
            let outer = system.reply(system.outer);
            system.kernel()[outer].set_thread(None);
            system.thread(system.client, reach)
        },
    );
    let waits = "a thread that waits is in the queue of what it waits for";
    for task in [
        |system: &TestSystem| system.sender,
        |system: &TestSystem| system.waiter,
        |system: &TestSystem| system.receiver,
    ] {
        caught(waits, |system, reach| {
            let task = task(system);
            system.kernel()[task.thread].membership = Membership::None;
            system.thread(task, reach)
        });
        caught(waits, |system, reach| {
            let task = task(system);
            system.kernel()[task.thread].links = Links::NONE;
            system.thread(task, reach)
        });
    }
    caught(waits, |system, reach| {
        // In two queues at once, as far as that can be represented.
        let thread = system.client.thread;
        system.kernel()[thread].membership = Membership::Waiting;
        system.thread(system.client, reach)
    });
}

#[test]
fn waiting_queues() {
    let endpoint = |system: &TestSystem, reach| {
        check_endpoint(system.machine.kernel, system.endpoint(), reach)
    };
    let notification = |system: &TestSystem, place, reach| {
        check_notification(system.machine.kernel, system.notification(place), reach)
    };
    caught("a wait queue is well formed", |system, reach| {
        let thread = system.receiver.thread;
        system.kernel()[thread].links = Links::NONE;
        endpoint(system, reach)
    });
    let waits = "a thread in a wait queue is blocked there, at its priority";
    caught(waits, |system, reach| {
        let thread = system.receiver.thread;
        system.kernel()[thread].priority += 1;
        endpoint(system, reach)
    });
    caught(waits, |system, reach| {
        let (here, thread) = (system.endpoint(), system.receiver.thread);
        system.kernel()[here].set_only_sender(thread);
        assert_eq!(system.kernel()[thread].membership, Membership::Waiting);
        endpoint(system, reach)
    });
    caught("a wait queue is not empty", |system, reach| {
        let signal = system.notification(system.signal);
        system.kernel()[signal].state = NotificationState::Waiting(WaitQueue::EMPTY);
        notification(system, system.signal, reach)
    });
    caught(
        "the thread that a notification is bound to knows it",
        |system, reach| {
            let thread = system.receiver.thread;
            system.kernel()[thread].bound_notification = None;
            notification(system, system.bound, reach)
        },
    );
    caught("the context of a notification knows it", |system, reach| {
        let lent = system.machine.context(system.lent);
        system.kernel()[lent].notification = None;
        notification(system, system.signal, reach)
    });
}

#[test]
fn cores() {
    let caught = |rule: &str, violate: &dyn Fn(&mut TestSystem)| {
        caught(rule, |system, reach| {
            violate(system);
            if reach.members == usize::MAX {
                check_core(system.kernel())
            } else {
                check_entry(system.kernel())
            }
        });
    };
    caught(
        "the current scheduling context is that of the current thread",
        &|system| {
            system.kernel().core.current_context = None;
        },
    );
    caught("the current thread runs", &|system| {
        let thread = system.current.thread;
        system.kernel()[thread].state = ThreadState::Restart;
    });
    caught("the current thread is in no queue", &|system| {
        let thread = system.current.thread;
        system.kernel()[thread].membership = Membership::Ready;
    });
    caught(
        "the current thread does not wait for what it yielded to",
        &|system| {
            let (context, thread) = (system.context(), system.current.thread);
            let kernel = system.kernel();
            kernel[context].yielded_from = Some(thread);
            kernel[thread].yielding_to = Some(context);
            kernel[thread].yield_answer = Some(YieldAnswer::Short);
        },
    );
    caught("the current thread has budget", &|system| {
        let context = system.context();
        system.kernel()[context].unconfigure();
    });
    caught(
        "no higher-priority thread than the current one is ready",
        &|system| {
            let thread = system.current.thread;
            system.kernel()[thread].priority = 1;
        },
    );
    caught(
        "a core idles only when no thread is ready or due",
        &|system| {
            let core = &mut system.kernel().core;
            (core.current, core.current_context) = (None, None);
        },
    );
    caught("a ready queue is well formed", &|system| {
        let thread = system.ready.thread;
        system.kernel()[thread].links = Links::NONE;
    });
    caught("a thread in a ready queue has that membership", &|system| {
        let thread = system.ready.thread;
        system.kernel()[thread].membership = Membership::Release;
    });
    caught("a release queue is well formed", &|system| {
        let thread = system.sleeper.thread;
        system.kernel()[thread].links = Links::NONE;
    });
    caught(
        "the timer is programmed for the first event that can change the current thread",
        &|system| {
            // The time at which the current budget ends has changed.
            system.kernel().core.now += Ticks(1);
        },
    );
    caught(
        "a thread in a release queue has that membership",
        &|system| {
            let thread = system.sleeper.thread;
            system.kernel()[thread].membership = Membership::Waiting;
        },
    );
}

/// A kernel that checks itself reports the violated rule and the object.
#[test]
fn a_kernel_that_checks_itself_stops() {
    let mut system = TestSystem::new();
    let (context, ready) = (system.context(), system.ready);
    system.kernel()[ready.thread].bound_notification = Some(system.notification(system.bound));
    let machine = &mut system.machine;
    let caught = catch_unwind(AssertUnwindSafe(|| machine.advance(10_000))).unwrap_err();
    let text = caught.downcast_ref::<String>().unwrap();
    let sentence = format!(
        "invariant violated by {:#x}: a bound notification knows its thread",
        ready.thread.address()
    );
    assert_eq!(*text, sentence, "{context:?}");
}

/// Objects that no kernel entry uses are checked in turn.
#[test]
fn the_round_comes_to_everything() {
    let mut system = TestSystem::new();
    let bound = system.notification(system.bound);
    system.kernel()[bound].sched_context = Some(system.context());
    let kernel = system.kernel();
    let entries = (0..10_000)
        .take_while(|_| check_entry(kernel).is_ok())
        .count();
    assert!(entries < 1_000, "it took {entries} entries");
}
