//! Several cores: where threads run, and how a thread of one core affects those of another.
//!
//! The test's own thread is on the first core. Threads on other cores count or note letters, and the test
//! checks these. While it sleeps, an emulator that runs its cores in turn runs the others.

use crate::support::arch::{fill_fpu, fpu_holds, load};
use crate::support::counters::{self, count, count_for_ever, moves, stands};
use crate::support::events::{self, note, noted};
use crate::support::{ABOVE, BELOW, Outcome, PRIORITY, SLICE, Test, ms, relax, us};
use crate::{check, check_eq};
use abi::MAX_MESSAGE_LENGTH;
use userlib::cap::{Endpoint, Notification, Reply, SchedParameters, Tcb};
use userlib::{CPtr, Capability, Fault, Message, Thread, syscall};

tests![
    if abi::config::SMP;
    threads_of_other_cores_go_on,
    threads_of_one_core_take_turns,
    contexts_take_their_threads_along,
    time_on_another_core_moves_a_thread_there,
    calls_between_cores,
    clients_of_all_cores_are_served,
    passive_servers_run_where_their_clients_do,
    notifications_lend_time_of_another_core,
    signals_between_cores,
    signals_wake_a_higher_priority_thread_of_another_core,
    the_suspended_stop_at_once,
    the_deleted_stop_at_once,
    a_thread_that_loses_its_context_stops_at_once,
    priorities_change_from_afar,
    registers_are_written_from_afar,
    faults_are_told_on_another_core,
    timeouts_are_told_on_another_core,
    float_registers_move_along,
    budgets_are_charged_where_they_are_used,
    the_smallest_budget_of_another_core_suffices_for_progress,
    levels_of_criticality_are_of_a_core,
    callers_of_another_core_can_be_deleted,
    servers_of_another_core_can_be_deleted,
    yielding_to_another_core_returns_at_once,
    debug_kernels_tell_where_a_thread_is,
];

fn counter_on(test: &mut Test, core: usize, priority: u8, counter: usize) -> Outcome<Thread> {
    Ok(test.spawn_on(core, priority, move || count_for_ever(counter))?)
}

fn threads_of_other_cores_go_on(test: &mut Test) -> Outcome {
    for core in test.secondary_cores() {
        let thread = counter_on(test, core, ABOVE, 0)?;
        // It has a higher priority, and yet the test's thread continues; the converse holds as well.
        check!(moves(test, 0)?);
        let before = count(0);
        while count(0) == before {
            relax();
        }
        test.delete(thread.tcb)?;
    }
    Ok(())
}

fn threads_of_one_core_take_turns(test: &mut Test) -> Outcome {
    for core in test.secondary_cores() {
        let above = counter_on(test, core, ABOVE, 0)?;
        check!(moves(test, 0)?);
        let below = counter_on(test, core, BELOW, 1)?;
        check!(stands(test, 1)?);
        above.tcb.suspend()?;
        check!(moves(test, 1)?);
        let equal = counter_on(test, core, BELOW, 2)?;
        check!(moves(test, 2)?);
        check!(moves(test, 1)?);
        test.delete(below.tcb)?;
        test.delete(equal.tcb)?;
    }
    Ok(())
}

fn contexts_take_their_threads_along(test: &mut Test) -> Outcome {
    for core in test.secondary_cores() {
        let above = counter_on(test, core, ABOVE, 0)?;
        let below = counter_on(test, core, BELOW, 1)?;
        check!(moves(test, 0)?);
        check!(stands(test, 1)?);
        above.tcb.set_priority(test.tcb, BELOW)?;
        test.control_of(0).configure(above.sched_context, &SLICE)?;
        check!(moves(test, 1)?);
        // On this core it has a lower priority than the test: it waits until the test sleeps.
        let before = count(0);
        for _ in 0..1000 {
            check_eq!(count(0), before);
        }
        check!(moves(test, 0)?);
        // And back to the other core.
        test.control_of(core)
            .configure(above.sched_context, &SLICE)?;
        above.tcb.set_priority(test.tcb, ABOVE)?;
        check!(moves(test, 0)?);
        check!(stands(test, 1)?);
        test.delete(above.tcb)?;
        test.delete(below.tcb)?;
    }
    Ok(())
}

fn time_on_another_core_moves_a_thread_there(test: &mut Test) -> Outcome {
    let thread = test.passive(ABOVE, || count_for_ever(0))?;
    thread.start()?;
    for core in test.secondary_cores() {
        let time = test.time_on(core, &SLICE)?;
        time.bind(thread.tcb)?;
        check!(moves(test, 0)?);
        time.unbind()?;
        check!(stands(test, 0)?);
    }
    Ok(())
}

/// Answers with the sum of the words as the label, and with the same words, each increased by one.
fn sums(endpoint: Endpoint, reply: Reply) -> ! {
    let mut received = endpoint.recv(reply);
    loop {
        let message = received.message.unwrap_or(Message::empty(0));
        let length = message.length();
        let sum = (0..length).map(|index| message.word(index)).sum();
        let mut words = [0; MAX_MESSAGE_LENGTH];
        for (index, word) in words[..length].iter_mut().enumerate() {
            *word = message.word(index) + 1;
        }
        received = endpoint.reply_recv(Message::new(sum, &words[..length]), reply);
    }
}

/// Calls a server that runs [`sums`], with messages of many lengths.
fn expect_sums(endpoint: Endpoint) {
    for length in (0..MAX_MESSAGE_LENGTH).step_by(7).chain(0..5) {
        let mut words = [0; MAX_MESSAGE_LENGTH];
        for (index, word) in words.iter_mut().enumerate() {
            *word = index * length;
        }
        let answer = endpoint.call(Message::new(0, &words[..length]));
        check_eq!(answer.label(), words[..length].iter().sum::<usize>());
        check_eq!(answer.length(), length);
        for (index, word) in words[..length].iter().enumerate() {
            check_eq!(answer.word(index), word + 1);
        }
    }
}

fn calls_between_cores(test: &mut Test) -> Outcome {
    for core in test.secondary_cores() {
        let (endpoint, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
        test.spawn_on(core, ABOVE, move || sums(endpoint, reply))?;
        expect_sums(endpoint);
    }
    Ok(())
}

fn clients_of_all_cores_are_served(test: &mut Test) -> Outcome {
    let (endpoint, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    test.spawn_passive_on(1, ABOVE, move || sums(endpoint, reply))?;
    for core in test.secondary_cores().chain(test.secondary_cores()) {
        test.spawn_on(core, BELOW, move || {
            for _ in 0..3 {
                expect_sums(endpoint);
            }
            note('c');
        })?;
    }
    expect_sums(endpoint);
    let all = 2 * test.secondary_cores().len();
    check!(test.comes_true(|| events::count() == all)?);
    Ok(())
}

fn passive_servers_run_where_their_clients_do(test: &mut Test) -> Outcome {
    let (endpoint, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    test.spawn_passive(ABOVE, move || {
        endpoint.recv(reply);
        loop {
            note('s');
            // The server works until the test sets the counter. On the core of the test it could not.
            while count(0) == 0 {
                counters::step(1);
            }
            endpoint.reply_recv(Message::empty(0), reply);
        }
    })?;
    for core in test.secondary_cores() {
        counters::set(0, 0);
        events::forget();
        let client = test.spawn_on(core, BELOW, move || {
            endpoint.call(Message::empty(0));
            note('c');
        })?;
        check!(moves(test, 1)?);
        check_eq!(noted(), "s");
        counters::set(0, 1);
        check!(test.comes_true(|| noted() == "sc")?);
        // The client has its scheduling context back.
        check_eq!(client.sched_context.consumed().map(drop), Ok(()));
        // The next call makes the server run on this core.
        endpoint.call(Message::empty(0));
        check_eq!(noted(), "scs");
    }
    Ok(())
}

fn notifications_lend_time_of_another_core(test: &mut Test) -> Outcome {
    let (endpoint, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    let bell: Notification = test.create()?;
    let server = test.spawn_passive(ABOVE, move || {
        loop {
            endpoint.recv(reply);
            note('i');
            let end = count(0) + 1000;
            while count(0) < end {
                counters::step(0);
            }
        }
    })?;
    server.tcb.bind_notification(bell)?;
    for core in test.secondary_cores() {
        let time = test.time_on(core, &SLICE)?;
        time.bind_notification(bell)?;
        for _ in 0..5 {
            events::forget();
            let before = count(0);
            bell.signal();
            check!(test.comes_true(|| count(0) == before + 1000)?);
            check_eq!(noted(), "i");
        }
        time.unbind()?;
    }
    Ok(())
}

fn signals_between_cores(test: &mut Test) -> Outcome {
    for core in test.secondary_cores() {
        let (ping, pong): (Notification, Notification) = (test.create()?, test.create()?);
        let ping_badged = test.badge(ping, 1 << core)?;
        test.spawn_on(core, ABOVE, move || {
            for _ in 0..200 {
                check_eq!(ping.wait(), 1 << core);
                pong.signal();
            }
            note('e');
        })?;
        for _ in 0..200 {
            ping_badged.signal();
            pong.wait();
        }
        check!(test.comes_true(|| events::count() == core)?);
    }
    Ok(())
}

fn signals_wake_a_higher_priority_thread_of_another_core(test: &mut Test) -> Outcome {
    for core in test.secondary_cores() {
        let bell: Notification = test.create()?;
        counter_on(test, core, BELOW, 0)?;
        test.spawn_on(core, ABOVE, move || {
            note('w');
            bell.wait();
            note('x');
            count_for_ever(1);
        })?;
        check!(test.comes_true(|| noted() == "w")?);
        check!(moves(test, 0)?);
        bell.signal();
        check!(test.comes_true(|| noted() == "wx")?);
        check!(moves(test, 1)?);
        check!(stands(test, 0)?);
        events::forget();
    }
    Ok(())
}

fn the_suspended_stop_at_once(test: &mut Test) -> Outcome {
    for core in test.secondary_cores() {
        let thread = counter_on(test, core, ABOVE, 0)?;
        for _ in 0..5 {
            check!(moves(test, 0)?);
            thread.tcb.suspend()?;
            check!(stands(test, 0)?);
            thread.tcb.resume()?;
        }
        test.delete(thread.tcb)?;
    }
    Ok(())
}

fn the_deleted_stop_at_once(test: &mut Test) -> Outcome {
    for core in test.secondary_cores() {
        let thread = counter_on(test, core, ABOVE, 0)?;
        check!(moves(test, 0)?);
        test.delete(thread.tcb)?;
        check!(stands(test, 0)?);
        // No state on its core keeps other threads from running.
        let next = counter_on(test, core, BELOW, 1)?;
        check!(moves(test, 1)?);
        test.delete(next.tcb)?;
    }
    Ok(())
}

fn a_thread_that_loses_its_context_stops_at_once(test: &mut Test) -> Outcome {
    for core in test.secondary_cores() {
        let thread = counter_on(test, core, ABOVE, 0)?;
        check!(moves(test, 0)?);
        thread.sched_context.unbind()?;
        check!(stands(test, 0)?);
        thread.sched_context.bind(thread.tcb)?;
        check!(moves(test, 0)?);
        test.delete(thread.sched_context)?;
        check!(stands(test, 0)?);
    }
    Ok(())
}

fn priorities_change_from_afar(test: &mut Test) -> Outcome {
    for core in test.secondary_cores() {
        let first = counter_on(test, core, ABOVE, 0)?;
        let second = counter_on(test, core, BELOW, 1)?;
        for _ in 0..3 {
            check!(moves(test, 0)?);
            check!(stands(test, 1)?);
            first.tcb.set_priority(test.tcb, BELOW - 1)?;
            check!(moves(test, 1)?);
            check!(stands(test, 0)?);
            first.tcb.set_priority(test.tcb, ABOVE)?;
        }
        test.delete(first.tcb)?;
        test.delete(second.tcb)?;
    }
    Ok(())
}

fn registers_are_written_from_afar(test: &mut Test) -> Outcome {
    extern "C" fn elsewhere() -> ! {
        count_for_ever(1)
    }
    for core in test.secondary_cores() {
        let thread = counter_on(test, core, ABOVE, 0)?;
        check!(moves(test, 0)?);
        let mut registers = thread.tcb.read_registers(false)?;
        *registers.pc() = elsewhere as *const () as usize;
        thread.tcb.write_registers(true, &registers)?;
        check!(moves(test, 1)?);
        check!(stands(test, 0)?);
        test.delete(thread.tcb)?;
    }
    Ok(())
}

fn faults_are_told_on_another_core(test: &mut Test) -> Outcome {
    const NOWHERE: usize = 0x9000_0000;
    for core in test.secondary_cores() {
        let watched = test.watched(move || {
            // SAFETY: the fault is expected.
            unsafe { load(NOWHERE) };
            note('x');
        })?;
        let context = watched.thread.sched_context;
        test.control_of(core).configure(context, &SLICE)?;
        watched.thread.start()?;
        for _ in 0..3 {
            let message = watched.endpoint.recv(watched.reply).message;
            let fault = Fault::from_message(&message.unwrap_or(Message::empty(0)));
            check!(matches!(
                fault,
                Fault::Memory {
                    address: NOWHERE,
                    ..
                }
            ));
            // The thread tries once more.
            watched.reply.send(Message::empty(0));
        }
        watched.endpoint.recv(watched.reply);
        test.delete(watched.thread.tcb)?;
    }
    check_eq!(noted(), "");
    Ok(())
}

fn timeouts_are_told_on_another_core(test: &mut Test) -> Outcome {
    for core in test.secondary_cores() {
        let (timeouts, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
        let time = SchedParameters::new(ms(2), ms(10)).with_badge(core);
        let thread = test.timed_on(core, ABOVE, time, || count_for_ever(0))?;
        thread.tcb.set_timeout_endpoint(timeouts)?;
        thread.start()?;
        for _ in 0..5 {
            let message = timeouts.recv(reply).message;
            let fault = Fault::from_message(&message.unwrap_or(Message::empty(0)));
            check!(matches!(fault, Fault::Timeout { badge, .. } if badge == core));
            check!(stands(test, 0)?);
            reply.send(Message::empty(0));
            check!(moves(test, 0)?);
        }
        test.delete(thread.tcb)?;
    }
    Ok(())
}

fn float_registers_move_along(test: &mut Test) -> Outcome {
    let mut threads = [None; 3];
    for (index, place) in threads.iter_mut().enumerate() {
        *place = Some(test.spawn(BELOW, move || {
            let pattern = index as u64 + 1;
            fill_fpu(pattern);
            loop {
                check!(fpu_holds(pattern));
                counters::step(index);
            }
        })?);
    }
    fill_fpu(77);
    let cores = test.secondary_cores().end;
    for turn in 0..30 {
        for (index, thread) in threads.iter().flatten().enumerate() {
            let control = test.control_of((turn + index) % cores);
            control.configure(thread.sched_context, &SLICE)?;
        }
        test.sleep(ms(2))?;
        check!(fpu_holds(77));
    }
    for index in 0..threads.len() {
        check!(moves(test, index)?);
    }
    Ok(())
}

fn budgets_are_charged_where_they_are_used(test: &mut Test) -> Outcome {
    const PERIODS: u64 = 10;
    for core in test.secondary_cores() {
        // Budget that was used in pieces is replenished in pieces.
        let time = SchedParameters::new(ms(2), ms(10)).with_extra_refills(4);
        let thread = test.timed_on(core, ABOVE, time, || count_for_ever(0))?;
        thread.start()?;
        test.sleep(ms(10 * PERIODS))?;
        thread.tcb.suspend()?;
        // Its core receives the remote modification, and charges the time that was used last.
        test.sleep(ms(2))?;
        let consumed = thread.sched_context.consumed()?;
        check!(
            consumed >= ms(2 * (PERIODS - 1)) && consumed <= ms(2 * (PERIODS + 2)),
            "{consumed} of {}",
            ms(2 * PERIODS)
        );
    }
    Ok(())
}

/// What a debug kernel checks after each entry takes less than the smallest budget.
fn the_smallest_budget_of_another_core_suffices_for_progress(test: &mut Test) -> Outcome {
    for core in test.secondary_cores() {
        for period in [us(20), us(100), ms(1)] {
            let thread = counter_on(test, core, ABOVE, 0)?;
            // It enters the kernel to begin, for which the smallest budget does not suffice.
            check!(moves(test, 0)?);
            let smallest = SchedParameters::new(us(20), period);
            test.control_of(core)
                .configure(thread.sched_context, &smallest)?;
            for _ in 0..3 {
                check!(moves(test, 0)?);
            }
            test.delete(thread.tcb)?;
        }
    }
    Ok(())
}

fn levels_of_criticality_are_of_a_core(test: &mut Test) -> Outcome {
    for core in test.secondary_cores() {
        let low = counter_on(test, core, ABOVE, 0)?;
        let high = test.timed_on(core, BELOW, SLICE, || count_for_ever(1))?;
        high.tcb.set_criticality(test.tcb, 1)?;
        high.start()?;
        check!(moves(test, 0)?);
        check!(stands(test, 1)?);
        let control = test.control_of(core);
        control.set_criticality_level(1)?;
        check!(moves(test, 1)?);
        check!(stands(test, 0)?);
        // The criticality level of the test's own core is independent.
        let here = test.spawn(ABOVE, || note('h'))?;
        check_eq!(noted(), "h");
        events::forget();
        control.set_criticality_level(0)?;
        check!(moves(test, 0)?);
        for thread in [low, high, here] {
            test.delete(thread.tcb)?;
        }
    }
    Ok(())
}

fn callers_of_another_core_can_be_deleted(test: &mut Test) -> Outcome {
    for core in test.secondary_cores() {
        let (endpoint, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
        // While blocked in the wait queue, and while waiting for a reply.
        for receive in [false, true] {
            let client = test.spawn_on(core, ABOVE, move || {
                note('c');
                endpoint.call(Message::empty(0));
            })?;
            check!(test.comes_true(|| noted() == "c")?);
            if receive {
                endpoint.recv(reply);
            }
            test.delete(client.tcb)?;
            reply.send(Message::empty(0));
            check!(endpoint.nb_recv(reply).is_none());
            events::forget();
        }
    }
    Ok(())
}

fn servers_of_another_core_can_be_deleted(test: &mut Test) -> Outcome {
    for core in test.secondary_cores() {
        let (endpoint, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
        let server = test.spawn_passive_on(core, ABOVE, move || {
            endpoint.recv(reply);
            count_for_ever(0);
        })?;
        let client = test.spawn_on(core, BELOW, move || {
            endpoint.call(Message::empty(0));
            note('c');
        })?;
        check!(moves(test, 0)?);
        test.delete(server.tcb)?;
        check!(stands(test, 0)?);
        // The scheduling context came back to the client, which still waits; the test answers.
        check_eq!(noted(), "");
        reply.send(Message::empty(0));
        check!(test.comes_true(|| noted() == "c")?);
        test.delete(client.tcb)?;
        events::forget();
    }
    Ok(())
}

fn yielding_to_another_core_returns_at_once(test: &mut Test) -> Outcome {
    for core in test.secondary_cores() {
        let thread = counter_on(test, core, PRIORITY, 0)?;
        check!(moves(test, 0)?);
        thread.sched_context.yield_to()?;
        check!(moves(test, 0)?);
        test.delete(thread.tcb)?;
    }
    Ok(())
}

fn debug_kernels_tell_where_a_thread_is(test: &mut Test) -> Outcome {
    check_eq!(syscall::debug_thread_affinity(test.tcb), 0);
    for core in test.secondary_cores() {
        let thread = counter_on(test, core, BELOW, 0)?;
        check_eq!(syscall::debug_thread_affinity(thread.tcb), core);
        test.control_of(0).configure(thread.sched_context, &SLICE)?;
        check_eq!(syscall::debug_thread_affinity(thread.tcb), 0);
        test.delete(thread.tcb)?;
    }
    let nothing: Notification = test.create()?;
    for address in [nothing.cptr(), CPtr::NULL] {
        check_eq!(syscall::debug_thread_affinity(Tcb(address)), usize::MAX);
    }
    Ok(())
}
