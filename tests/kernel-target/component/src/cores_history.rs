//! Recorded bugs of seL4's multicore kernel. What one core can show of them is tested in `sel4_history`.

use core::sync::atomic::{AtomicIsize, AtomicUsize, Ordering::Relaxed};

use crate::support::counters::{self, count, count_for_ever, moves};
use crate::support::events::{self, note, noted};
use crate::support::{ABOVE, BELOW, Outcome, SLICE, Test, ms, us};
use crate::{check, check_eq};
use userlib::cap::{Endpoint, Notification, Reply, SchedParameters};
use userlib::time::Clock;
use userlib::{Fault, Message, syscall};

tests![
    if abi::config::SMP;
    issue_138_contexts_move_to_idle_cores,
    issue_262_new_contexts_of_another_core_have_their_whole_budget,
    issue_633_contexts_die_as_their_budget_ends_on_another_core,
    issue_677_contexts_of_another_core_die_while_they_wait,
    issue_844_periods_do_not_drift_on_any_core,
    issue_986_reply_recv_takes_the_time_of_a_caller_of_another_core,
    issue_1662_servers_move_to_another_core_in_a_receive,
];

/// A context was configured for an idle core, which was not notified of the new thread. Tested with the
/// thread running, ready, waiting for a replenishment, and with its context donated.
fn issue_138_contexts_move_to_idle_cores(test: &mut Test) -> Outcome {
    let thread = test.timed(BELOW, SLICE, || count_for_ever(0))?;
    thread.start()?;
    for core in test.secondary_cores() {
        for time in [
            SLICE,
            SchedParameters::new(ms(1), ms(4)),
            SchedParameters::new(ms(1), ms(3)).sporadic(),
        ] {
            for core in [core, 0, core] {
                test.control_of(core)
                    .configure(thread.sched_context, &time)?;
                check!(moves(test, 0)?);
            }
        }
    }
    thread.tcb.suspend()?;
    let (endpoint, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    test.spawn_passive(ABOVE, move || {
        endpoint.recv(reply);
        count_for_ever(0);
    })?;
    let client = test.timed(BELOW, SLICE, move || {
        endpoint.call(Message::empty(0));
    })?;
    for core in test.secondary_cores() {
        test.control_of(core)
            .configure(client.sched_context, &SLICE)?;
        client.start()?;
        check!(moves(test, 0)?);
    }
    Ok(())
}

/// A new context began with a time that another core had read.
fn issue_262_new_contexts_of_another_core_have_their_whole_budget(test: &mut Test) -> Outcome {
    let parameters = SchedParameters::new(ms(2), ms(1000)).with_extra_refills(2);
    for core in test.secondary_cores() {
        let (timeouts, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
        let thread = test.passive(BELOW, || count_for_ever(0))?;
        thread.tcb.set_timeout_endpoint(timeouts)?;
        thread.start()?;
        for _ in 0..5 {
            let context = test.time_on(core, &parameters)?;
            context.bind(thread.tcb)?;
            let message = timeouts.recv(reply).message.unwrap_or(Message::empty(0));
            let Fault::Timeout { consumed, .. } = Fault::from_message(&message) else {
                check!(false, "no timeout");
                return Ok(());
            };
            check!(consumed + us(20) >= ms(2), "{consumed}");
            test.delete(context)?;
            reply.send(Message::empty(0));
        }
        test.delete(thread.tcb)?;
    }
    Ok(())
}

/// A budget ended on one core while another core deleted its context.
fn issue_633_contexts_die_as_their_budget_ends_on_another_core(test: &mut Test) -> Outcome {
    for core in test.secondary_cores() {
        let thread = test.passive(BELOW, || count_for_ever(0))?;
        thread.start()?;
        let time = SchedParameters::new(us(200), us(450));
        for nap in (100..400).step_by(10) {
            let context = test.time_on(core, &time)?;
            context.bind(thread.tcb)?;
            test.sleep(us(nap + 1000))?;
            test.delete(context)?;
        }
        let context = test.time_on(core, &SLICE)?;
        context.bind(thread.tcb)?;
        check!(moves(test, 0)?);
        test.delete(thread.tcb)?;
    }
    Ok(())
}

/// As 633, with the thread waiting for its next replenishment on that core.
fn issue_677_contexts_of_another_core_die_while_they_wait(test: &mut Test) -> Outcome {
    for core in test.secondary_cores() {
        let thread = test.timed_on(core, BELOW, SchedParameters::new(us(500), ms(1000)), || {
            count_for_ever(0)
        })?;
        thread.start()?;
        test.sleep(ms(5))?;
        let stands = count(0);
        check!(stands > 0);
        test.delete(thread.sched_context)?;
        test.sleep(ms(5))?;
        check_eq!(count(0), stands);
        let time = test.time_on(core, &SLICE)?;
        time.bind(thread.tcb)?;
        check!(moves(test, 0)?);
        test.delete(thread.tcb)?;
        counters::set(0, 0);
    }
    Ok(())
}

/// Each period began later than it should, so that periods drifted.
///
/// An emulator that counts instructions runs one core after the other, so that a period can be longer by the turn of
/// another core, which is charged to the thread. The longest sequence of periods without that counts.
fn issue_844_periods_do_not_drift_on_any_core(test: &mut Test) -> Outcome {
    const TURNS: usize = 200;
    /// A period that differs by more, in microseconds, contains the turn of another core, or follows one.
    const TURN_OF_ANOTHER_CORE: isize = 100;
    static PERIODS: AtomicUsize = AtomicUsize::new(0);
    static DRIFT: AtomicIsize = AtomicIsize::new(0);
    let time = SchedParameters::new(us(100), ms(1)).sporadic();
    for core in test.secondary_cores() {
        let startup = test.startup;
        let thread = test.timed_on(core, ABOVE, time, move || {
            let clock = Clock::from_startup(startup);
            let mut before = clock.now();
            // How late each period of a sequence began, in relation to the first; the longest sequence, and its drift.
            let (mut late, mut count) = ([0; TURNS], 0);
            let mut longest = (0, 0);
            for turn in 1..=TURNS {
                syscall::yield_now();
                let now = clock.now();
                let more = (now - before).0 as isize - 1000;
                before = now;
                let is_alone = more.abs() <= TURN_OF_ANOTHER_CORE;
                if is_alone {
                    late[count] = more + late[..count].last().copied().unwrap_or(0);
                    count += 1;
                }
                if !is_alone || turn == TURNS {
                    // The least of each half, as single periods may begin late.
                    let halves = late[..count].split_at(count / 2);
                    let least = |half: &[isize]| half.iter().copied().min().unwrap_or(0);
                    if count > longest.0 {
                        longest = (count, least(halves.1) - least(halves.0));
                    }
                    count = 0;
                }
            }
            PERIODS.store(longest.0, Relaxed);
            DRIFT.store(longest.1, Relaxed);
            note('e');
        })?;
        thread.start()?;
        check!(test.comes_true(|| noted() == "e")?);
        events::forget();
        let (periods, drift) = (PERIODS.load(Relaxed), DRIFT.load(Relaxed));
        check!(periods >= TURNS / 4, "only {periods} periods in sequence");
        check!(drift <= 10, "{drift} us in {periods} periods");
    }
    Ok(())
}

/// A passive server returned its context with a reply and got that of a caller of another core in the same
/// call, and that core was not notified.
fn issue_986_reply_recv_takes_the_time_of_a_caller_of_another_core(test: &mut Test) -> Outcome {
    let (endpoint, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    let bell: Notification = test.create()?;
    test.spawn_passive(ABOVE, move || {
        endpoint.recv(reply);
        loop {
            bell.wait();
            endpoint.reply_recv(Message::empty(0), reply);
        }
    })?;
    let last = test.secondary_cores().end - 1;
    // The callers wait in turn: one of this core, then one of another, and so on.
    for core in [0, 1, last, 0, last, 1] {
        test.spawn_on(core, BELOW, move || {
            loop {
                endpoint.call(Message::empty(0));
                counters::step(0);
            }
        })?;
        test.sleep(ms(5))?;
    }
    for served in 1..=60 {
        bell.signal();
        check!(test.comes_true(|| count(0) == served)?);
    }
    Ok(())
}

/// More cases in which a server moves to another core in a receive: it replies to a caller of its core, and a
/// signal that came meanwhile lends it a context of another core.
fn issue_1662_servers_move_to_another_core_in_a_receive(test: &mut Test) -> Outcome {
    let bell: Notification = test.create()?;
    for core in test.secondary_cores() {
        let (endpoint, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
        let server = test.spawn_passive(ABOVE, move || {
            let mut received = endpoint.recv(reply);
            loop {
                if received.message.is_some() {
                    note('m');
                    bell.signal();
                    received = endpoint.reply_recv(Message::empty(0), reply);
                } else {
                    note('i');
                    received = endpoint.recv(reply);
                }
            }
        })?;
        server.tcb.bind_notification(bell)?;
        let time = test.time_on(core, &SLICE)?;
        time.bind_notification(bell)?;
        for _ in 0..5 {
            events::forget();
            endpoint.call(Message::empty(0));
            check!(test.comes_true(|| noted() == "mi")?);
        }
        test.delete(server.tcb)?;
        time.unbind()?;
    }
    Ok(())
}
