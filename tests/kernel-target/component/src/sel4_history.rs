//! Recorded bugs of seL4's kernel with budgets and scheduling contexts; those with passive servers are in
//! `sel4_servers`.
//!
//! Each test carries the number of an issue or pull request of seL4 (or of Microkit, which is built on it).
//! The page "What seL4's history teaches" of the book describes each. Some need several cores or a virtual
//! machine to occur in seL4; the tests here cover what one core can show of them.

use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::support::arch::{fill_fpu, fpu_holds, system_call};
use crate::support::counters::{self, count, count_for_ever};
use crate::support::events::{self, note, noted};
use crate::support::timer::Timer;
use crate::support::{ABOVE, BELOW, Outcome, SLICE, Test, ms, relax, us};
use crate::{check, check_eq};
use abi::registers::{PC, SYSCALL_BYTES, UNKNOWN_SYSCALL};
use userlib::cap::{Endpoint, Notification, Reply, SchedContext, SchedParameters};
use userlib::time::Clock;
use userlib::{CPtr, Error, Fault, Message, Microseconds, Received, Thread, syscall};

tests![
    issue_138_reconfigured_threads_go_on,
    issue_262_new_contexts_have_their_whole_budget,
    issue_346_interrupts_at_the_end_of_a_budget,
    issue_359_threads_lose_their_context_in_a_receive,
    issue_633_contexts_die_as_their_budget_ends,
    issue_636_the_current_context_is_revoked,
    issue_677_contexts_die_while_they_wait_for_time,
    issue_844_periods_do_not_drift,
    issue_968_no_time_comes_back_early,
    issue_1104_faults_at_the_end_of_a_budget_come_once,
    issue_1104_passive_handlers_hear_each_fault_once,
    microkit_285_the_smallest_budget_makes_progress,
];

/// A system call number that no kernel has.
const UNKNOWN: usize = (-3000isize) as usize;

/// Sleeps until the counter has grown. On one core this must take less time than [`counters::moves`] allows.
fn expect_progress(test: &mut Test) -> Outcome {
    let before = count(0);
    for _ in 0..50 {
        test.sleep(ms(2))?;
        if count(0) > before {
            return Ok(());
        }
    }
    check!(false, "it makes no progress");
    Ok(())
}

/// A context moved to another core, and its thread never ran again. Tested with the thread running, ready,
/// waiting for a replenishment, and with its context donated: it continues with the new parameters.
fn issue_138_reconfigured_threads_go_on(test: &mut Test) -> Outcome {
    let thread = test.timed(BELOW, SLICE, || count_for_ever(0))?;
    thread.start()?;
    for parameters in [
        SLICE,
        SchedParameters::new(ms(1), ms(4)),
        SchedParameters::new(ms(1), ms(3)).sporadic(),
        SchedParameters::new(us(500), ms(2)),
        SLICE,
    ] {
        test.sched_control
            .configure(thread.sched_context, &parameters)?;
        expect_progress(test)?;
    }
    thread.tcb.suspend()?;
    // The context of a client that is donated to its server.
    let (endpoint, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    let bell: Notification = test.create()?;
    test.spawn_passive(ABOVE, move || {
        endpoint.recv(reply);
        bell.wait();
        note('s');
        endpoint.reply_recv(Message::empty(0), reply);
    })?;
    let client = test.spawn(ABOVE, move || {
        endpoint.call(Message::empty(0));
        note('c');
    })?;
    let parameters = SchedParameters::new(ms(2), ms(5));
    test.sched_control
        .configure(client.sched_context, &parameters)?;
    check_eq!(noted(), "");
    bell.signal();
    check_eq!(noted(), "sc");
    Ok(())
}

/// A new context began with a time that another core had read, so that its replenishments were not in order.
/// A newly configured context has its whole budget at once.
fn issue_262_new_contexts_have_their_whole_budget(test: &mut Test) -> Outcome {
    const BUDGET: Microseconds = ms(2);
    let (timeouts, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    let parameters = SchedParameters::new(BUDGET, ms(1000)).with_extra_refills(2);
    let thread = test.timed(BELOW, SLICE, || count_for_ever(0))?;
    thread.tcb.set_timeout_endpoint(timeouts)?;
    thread.sched_context.unbind_object(thread.tcb)?;
    thread.start()?;
    for _ in 0..5 {
        let context = test.create_sched_context(&parameters)?;
        context.bind(thread.tcb)?;
        let message = timeouts.recv(reply).message.unwrap_or(Message::empty(0));
        let Fault::Timeout { consumed, .. } = Fault::from_message(&message) else {
            check!(false, "no timeout");
            return Ok(());
        };
        check!(consumed + us(20) >= BUDGET, "{consumed}");
        test.delete(context)?;
        reply.send(Message::empty(0));
    }
    Ok(())
}

/// An interrupt that found the budget exhausted put its thread into a queue, and then blocked the same
/// thread: later a blocked thread was chosen. (With virtual processors, for which interrupts are faults;
/// fixed for one queue, then for two in 1486, then again for the first in 1645.) Here interrupts come around
/// the end of a budget, with and without a timeout fault.
fn issue_346_interrupts_at_the_end_of_a_budget(test: &mut Test) -> Outcome {
    let timer = Timer::new(test)?;
    let bell: Notification = test.create()?;
    timer.handler.set_notification(bell)?;
    let (timeouts, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    test.spawn(ABOVE, move || {
        loop {
            timeouts.recv(reply);
            reply.send(Message::empty(0));
        }
    })?;
    for handler in [CPtr::NULL, timeouts.0] {
        let hog = test.timed(BELOW, SLICE, || count_for_ever(0))?;
        hog.tcb.set_timeout_endpoint(handler)?;
        hog.start()?;
        for budget in (900..1100).step_by(5) {
            let parameters = SchedParameters::new(us(budget), ms(3));
            hog.tcb.suspend()?;
            test.sched_control
                .configure(hog.sched_context, &parameters)?;
            hog.start()?;
            timer.start(1)?;
            bell.wait();
            timer.clear()?;
            timer.handler.ack()?;
            if budget % 50 == 0 {
                expect_progress(test)?;
            }
        }
        expect_progress(test)?;
        hog.tcb.suspend()?;
    }
    Ok(())
}

/// A context was used after it had been unbound from its thread.
fn issue_359_threads_lose_their_context_in_a_receive(test: &mut Test) -> Outcome {
    let (endpoint, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    let notification: Notification = test.create()?;
    let other: Notification = test.create()?;
    for parameters in [
        SLICE,
        SchedParameters::new(ms(2), ms(10)),
        SchedParameters::new(ms(2), ms(10)).sporadic(),
    ] {
        // The context is bound to the notification as well, so it is returned when the thread receives,
        // although a sender waits that donates none.
        let thread = test.timed(BELOW, parameters, move || {
            endpoint.recv(reply);
            note('m');
            other.wait();
        })?;
        thread.tcb.bind_notification(notification)?;
        thread.sched_context.bind_notification(notification)?;
        let sender = test.spawn(ABOVE, move || endpoint.send(Message::empty(0)))?;
        thread.start()?;
        test.let_others_run()?;
        check_eq!(noted(), "");
        // The context is returned, so it is no longer the thread's.
        check_eq!(
            thread.sched_context.unbind_object(thread.tcb),
            Err(Error::IllegalOperation)
        );
        // The thread can be suspended, resumed and given the context all the same.
        thread.tcb.suspend()?;
        sender.tcb.suspend()?;
        thread.tcb.resume()?;
        thread.sched_context.bind(thread.tcb)?;
        test.let_others_run()?;
        let again = test.spawn(ABOVE, move || endpoint.send(Message::empty(0)))?;
        thread.tcb.unbind_notification()?;
        thread.sched_context.unbind()?;
        thread.sched_context.bind(thread.tcb)?;
        test.let_others_run()?;
        check_eq!(noted(), "m");
        events::forget();
        test.delete(thread.tcb)?;
        test.delete(again.tcb)?;
    }
    Ok(())
}

/// A budget ended while its context was deleted, and replenishments were taken from an empty list. Here the
/// deletion comes at various times around the end.
fn issue_633_contexts_die_as_their_budget_ends(test: &mut Test) -> Outcome {
    let thread = test.timed(BELOW, SLICE, || count_for_ever(0))?;
    thread.sched_context.unbind()?;
    thread.start()?;
    for nap in (100..400).step_by(10) {
        let context = test.create_sched_context(&SchedParameters::new(us(200), us(450)))?;
        context.bind(thread.tcb)?;
        test.sleep(us(nap + 1000))?;
        test.delete(context)?;
        check_eq!(context.consumed(), Err(Error::InvalidCapability(0)));
    }
    thread.sched_context.bind(thread.tcb)?;
    expect_progress(test)
}

/// The current scheduling context was deleted, and charged once more.
fn issue_636_the_current_context_is_revoked(test: &mut Test) -> Outcome {
    for _ in 0..5 {
        // Deleted by its own thread, through its memory.
        let place = crate::support::Place::new(test, 10)?;
        place.make(abi::ObjectType::SchedContext, 8, 0, 1)?;
        let context: SchedContext = place.take(test, 0)?;
        test.sched_control
            .configure(context, &SchedParameters::new(ms(3), ms(10)))?;
        let memory = test.slot(place.untyped);
        let thread = test.passive(ABOVE, move || {
            note('r');
            // The thread does not see the answer: it has no context any more.
            let _ = memory.revoke();
            note('x');
        })?;
        thread.start()?;
        context.bind(thread.tcb)?;
        check_eq!(noted(), "r");
        check!(test.is_gone(context)?);
        // The memory is reused, and the thread continues with another context.
        place.make(abi::ObjectType::Endpoint, 0, 0, 16)?;
        let time = test.create_sched_context(&SLICE)?;
        time.bind(thread.tcb)?;
        check_eq!(noted(), "rx");
        events::forget();
    }
    Ok(())
}

/// As 633, with the thread waiting for its next replenishment, and with its server holding the context.
fn issue_677_contexts_die_while_they_wait_for_time(test: &mut Test) -> Outcome {
    let short = SchedParameters::new(us(500), ms(1000));
    let thread = test.timed(BELOW, short, || count_for_ever(0))?;
    thread.start()?;
    test.sleep(ms(5))?;
    let stands = count(0);
    test.delete(thread.sched_context)?;
    test.sleep(ms(5))?;
    check_eq!(count(0), stands);
    // A client's budget ends while its server works.
    let (endpoint, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    let server = test.spawn_passive(BELOW, move || {
        endpoint.recv(reply);
        count_for_ever(0);
    })?;
    let client = test.timed(BELOW, short, move || {
        endpoint.call(Message::empty(0));
        note('c');
    })?;
    client.start()?;
    test.sleep(ms(5))?;
    let stands = count(0);
    test.delete(client.sched_context)?;
    test.sleep(ms(5))?;
    check_eq!(count(0), stands);
    let time = test.create_sched_context(&SLICE)?;
    time.bind(server.tcb)?;
    expect_progress(test)?;
    reply.send(Message::empty(0));
    time.unbind_object(server.tcb)?;
    time.bind(client.tcb)?;
    test.let_others_run()?;
    check_eq!(noted(), "c");
    Ok(())
}

/// How much later than `turns` periods after its first run a periodic thread runs, in microseconds.
fn lateness(test: &mut Test, parameters: SchedParameters, turns: usize) -> Outcome<isize> {
    static PASSED: AtomicUsize = AtomicUsize::new(0);
    let startup = test.startup;
    let thread = test.timed(ABOVE, parameters, move || {
        let clock = Clock::from_startup(startup);
        let first = clock.now();
        for _ in 0..turns {
            syscall::yield_now();
        }
        PASSED.store((clock.now() - first).0 as usize, Relaxed);
        note('e');
    })?;
    thread.start()?;
    while events::count() == 0 {
        relax();
    }
    events::forget();
    Ok(PASSED.load(Relaxed) as isize - turns as isize * parameters.period.0 as isize)
}

/// Each period was longer than configured by the delay until its beginning was noticed.
///
/// The periods of a sporadic context follow each other exactly. Constant bandwidth counts from the switch to
/// the thread by definition, and so adds the time of a kernel entry to each period.
fn issue_844_periods_do_not_drift(test: &mut Test) -> Outcome {
    const TURNS: usize = 200;
    let parameters = SchedParameters::new(us(100), ms(1));
    let late = lateness(test, parameters.sporadic(), TURNS)?;
    check!(late <= 10, "sporadic: {late} us");
    let late = lateness(test, parameters, TURNS)?;
    check!(late <= TURNS as isize, "constant bandwidth: {late} us");
    Ok(())
}

/// Replenishments within the kernel's worst case from now were taken as ready. A thread never runs more turns
/// than have begun.
fn issue_968_no_time_comes_back_early(test: &mut Test) -> Outcome {
    static EARLY: AtomicUsize = AtomicUsize::new(0);
    const PERIOD: Microseconds = us(200);
    let startup = test.startup;
    for parameters in [
        SchedParameters::new(us(50), PERIOD),
        SchedParameters::new(us(50), PERIOD).sporadic(),
    ] {
        let begin = test.now();
        let thread = test.timed(ABOVE, parameters, move || {
            let clock = Clock::from_startup(startup);
            for turn in 0..100 {
                // The clock reads whole microseconds.
                let earliest = begin + Microseconds(turn * PERIOD.0);
                if clock.now() + us(1) < earliest {
                    EARLY.fetch_add(1, Relaxed);
                }
                syscall::yield_now();
            }
            note('e');
        })?;
        thread.start()?;
        while events::count() == 0 {
            relax();
        }
        events::forget();
        check_eq!(EARLY.load(Relaxed), 0);
    }
    Ok(())
}

/// A thread that makes unknown system calls with `work` between two of them. The argument of each is its
/// sequence number.
fn faulting(
    test: &mut Test,
    parameters: SchedParameters,
    handler: Endpoint,
    work: usize,
) -> Outcome<Thread> {
    Ok(test.thread_with(BELOW, Some(parameters), handler, move || {
        for sequence in 0.. {
            for round in 0..work {
                core::hint::black_box(round);
            }
            // SAFETY: no kernel has this call; the handler lets it return.
            unsafe { system_call(sequence, 0, UNKNOWN) };
        }
    })?)
}

/// The answer that makes an unknown system call return, and the call's argument.
fn skip(received: &Received) -> (Message, usize) {
    let message = received.message.unwrap_or(Message::empty(0));
    let Fault::UnknownSyscall {
        number, argument, ..
    } = Fault::from_message(&message)
    else {
        check!(false, "another fault");
        return (message, 0);
    };
    check_eq!(number, UNKNOWN);
    let mut words = [0; UNKNOWN_SYSCALL.len()];
    for (index, word) in words.iter_mut().enumerate() {
        *word = message.word(index);
        if UNKNOWN_SYSCALL[index] == PC {
            *word += SYSCALL_BYTES;
        }
    }
    (Message::new(0, &words), argument)
}

/// Amounts of work between two faults, so that some fault comes at the end of a budget.
const WORK: [usize; 4] = [1, 300, 777, 1900];

/// A fault of a thread without budget was sent, and its thread was put into the release queue, twice. Faults
/// must be neither lost nor duplicated.
fn issue_1104_faults_at_the_end_of_a_budget_come_once(test: &mut Test) -> Outcome {
    let (endpoint, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    for work in WORK {
        let short = SchedParameters::new(us(60), us(150));
        let thread = faulting(test, short, endpoint, work)?;
        thread.start()?;
        for expected in 0..100 {
            let (answer, sequence) = skip(&endpoint.recv(reply));
            check_eq!(sequence, expected);
            reply.send(answer);
        }
        test.delete(thread.tcb)?;
    }
    Ok(())
}

/// The same with a handler that runs on the faulting thread's context.
fn issue_1104_passive_handlers_hear_each_fault_once(test: &mut Test) -> Outcome {
    for work in WORK {
        let (endpoint, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
        counters::set(0, 0);
        test.spawn_passive(ABOVE, move || {
            let mut received = endpoint.recv(reply);
            // A counter of its own: it may still work, on the donated context, when the next one begins.
            for expected in 0.. {
                let (answer, sequence) = skip(&received);
                check_eq!(sequence, expected);
                counters::step(0);
                received = endpoint.reply_recv(answer, reply);
            }
        })?;
        let short = SchedParameters::new(us(60), us(150));
        let thread = faulting(test, short, endpoint, work)?;
        thread.start()?;
        while count(0) < 100 {
            test.sleep(ms(2))?;
        }
        test.delete(thread.tcb)?;
    }
    Ok(())
}

/// A thread with the smallest budget exhausted it on the way to its first floating-point instruction, which
/// trapped to load its registers, in each period.
fn microkit_285_the_smallest_budget_makes_progress(test: &mut Test) -> Outcome {
    let thread = test.timed(BELOW, SLICE, || {
        for value in 1.. {
            fill_fpu(value);
            check!(fpu_holds(value));
            counters::step(0);
        }
    })?;
    thread.start()?;
    expect_progress(test)?;
    for period in [us(100), ms(1)] {
        for budget in [us(20), us(21)] {
            test.sched_control
                .configure(thread.sched_context, &SchedParameters::new(budget, period))?;
            // Another thread uses the registers in between.
            fill_fpu(u64::MAX);
            for _ in 0..3 {
                expect_progress(test)?;
                check!(fpu_holds(u64::MAX));
            }
        }
    }
    Ok(())
}
