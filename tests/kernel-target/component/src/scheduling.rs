//! The scheduler: priorities, preemption, timeslices, and the order of threads of equal priority.

use crate::support::arch::{SECOND_CALL, bare_registers, call_twice};
use crate::support::events::{forget, note, noted};
use crate::support::{ABOVE, BELOW, Outcome, PRIORITY, SLICE, Test, ms, relax, us};
use crate::{check, check_eq};
use abi::registers::{INFO, MR};
use abi::{MessageInfo, PRIORITIES, Syscall};
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use userlib::cap::{Endpoint, Notification, SchedParameters};
use userlib::{CPtr, Message, syscall};

tests![
    all_priorities_in_order,
    yielding_alone_returns,
    released_clients_go_before_their_equals,
    the_preempted_keep_their_turn,
    slices_are_as_long_as_promised,
    slices_end,
    high_priority_work_waits_for_no_thread,
    idle_time_is_charged_to_no_thread,
];

fn all_priorities_in_order(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let never: Notification = test.create()?;
    let mut registers = bare_registers(call_twice, Syscall::Send, endpoint.0);
    registers.0[SECOND_CALL.0] = Syscall::Wait.number();
    registers.0[SECOND_CALL.1] = never.0.0;
    registers.0[INFO] = MessageInfo::new(0, 0, 1).0;
    test.tcb.set_priority(test.tcb, u8::MAX)?;
    for index in 0..PRIORITIES {
        // In a scattered order; 101 and 256 have no common divisor.
        let priority = (index * 101) as u8;
        let tcb = test.bare_thread()?;
        let time = test.create_sched_context(&SLICE)?;
        tcb.set_sched_params(test.tcb, 0, priority, time, CPtr::NULL)?;
        registers.0[MR[0]] = priority as usize;
        tcb.write_registers(true, &registers)?;
    }
    // Each runs when it has the highest priority of those left.
    for priority in (0..PRIORITIES).rev() {
        let message = endpoint.wait().message;
        check_eq!(message.map(|message| message.word(0)), Some(priority));
    }
    check!(endpoint.nb_wait().is_none());
    Ok(())
}

fn yielding_alone_returns(test: &mut Test) -> Outcome {
    test.spawn(ABOVE, || {
        for _ in 0..100 {
            syscall::yield_now();
        }
        note('a');
    })?;
    check_eq!(noted(), "a");
    Ok(())
}

fn released_clients_go_before_their_equals(test: &mut Test) -> Outcome {
    let notification: Notification = test.create()?;
    let other: Notification = test.create()?;
    // Each thread waits for a signal that the other sends just before it waits itself.
    test.spawn(PRIORITY, move || {
        notification.wait();
        note('a');
    })?;
    test.let_others_run()?;
    test.spawn(PRIORITY, move || {
        note('x');
        other.signal();
    })?;
    let received = syscall::nb_send_wait(notification.0, Message::empty(0), other.0);
    check_eq!(received.message, None);
    check_eq!(noted(), "ax");
    Ok(())
}

/// A round-robin thread with a long timeslice.
const LONG: SchedParameters = SchedParameters::round_robin(ms(10_000));

fn the_preempted_keep_their_turn(test: &mut Test) -> Outcome {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let first = test.timed(BELOW, LONG, || {
        note('a');
        while COUNT.load(Relaxed) < 5 {
            relax();
        }
        note('b');
    })?;
    let second = test.timed(BELOW, LONG, || note('c'))?;
    let period = SchedParameters::new(us(500), ms(2));
    let high = test.timed(ABOVE, period, || {
        for _ in 0..5 {
            syscall::yield_now();
            COUNT.fetch_add(1, Relaxed);
        }
    })?;
    second.start()?;
    first.start()?;
    high.start()?;
    test.let_others_run()?;
    // After five preemptions, the first is still before the second.
    check_eq!(noted(), "abc");
    Ok(())
}

/// The thread that ran last, and how often the running thread has changed.
static LAST: AtomicUsize = AtomicUsize::new(0);
static TURNS: AtomicUsize = AtomicUsize::new(0);

fn take_turns(own: usize, turns: usize) {
    while TURNS.load(Relaxed) < turns {
        if LAST.swap(own, Relaxed) != own {
            TURNS.fetch_add(1, Relaxed);
        }
    }
}

fn slices_are_as_long_as_promised(test: &mut Test) -> Outcome {
    const TURNS_TAKEN: usize = 9;
    // The kernel ends a timeslice when less than the smallest budget is left of it.
    let least = ms(5) - us(20);
    let mut times = [test.sched_context; 2];
    for (index, time) in times.iter_mut().enumerate() {
        let thread = test.spawn(BELOW, move || take_turns(index + 1, TURNS_TAKEN))?;
        *time = thread.sched_context;
    }
    test.let_others_run()?;
    // Nine turns are eight whole timeslices, four of each thread.
    for time in times {
        let consumed = time.consumed()?;
        check!(consumed.0 >= 4 * least.0, "it got only {consumed}");
    }
    Ok(())
}

fn slices_end(test: &mut Test) -> Outcome {
    // No thread ever blocks or yields, and yet all of them run.
    for index in 1..=3 {
        test.spawn(BELOW, move || {
            take_turns(index, 12);
            note('a');
        })?;
    }
    test.let_others_run()?;
    check_eq!(noted(), "aaa");
    Ok(())
}

fn high_priority_work_waits_for_no_thread(test: &mut Test) -> Outcome {
    // A hundred ready threads, and one of higher priority that is woken.
    let notification: Notification = test.create()?;
    test.spawn(ABOVE, move || {
        notification.wait();
        note('u');
    })?;
    for _ in 0..100 {
        let tcb = test.bare_thread()?;
        let time = test.create_sched_context(&SLICE)?;
        tcb.set_sched_params(test.tcb, 0, 0, time, CPtr::NULL)?;
        let program = crate::support::arch::spin;
        tcb.write_registers(true, &bare_registers(program, Syscall::Yield, CPtr::NULL))?;
    }
    notification.signal();
    note('t');
    check_eq!(noted(), "ut");
    forget();
    Ok(())
}

fn idle_time_is_charged_to_no_thread(test: &mut Test) -> Outcome {
    // While the test sleeps, no thread runs.
    let start = test.now();
    test.sched_context.consumed()?;
    test.sleep(ms(20))?;
    check!(test.now() - start >= ms(19));
    let consumed = test.sched_context.consumed()?;
    check!(consumed < ms(10), "it was charged {consumed} for a sleep");
    Ok(())
}
