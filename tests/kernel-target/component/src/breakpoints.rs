//! Hardware breakpoints and watchpoints (option `hwdebug`).

use crate::support::arch::{LOAD_BYTES, STORE_BYTES, load, store};
use crate::support::debugger::{
    BEYOND, COUNT, DATA_NUMBERS, INSTRUCTION_NUMBERS, IS_PASSED, READS, REFUSED,
    STOPS_BEHIND_ACCESS, STOPS_BEHIND_BREAK, go_on, instruction, run_four, set_at, software,
    stop_at, stopped,
};
use crate::support::events::{count, note, noted};
use crate::support::{ABOVE, Outcome, SLICE, Test, Watched};
use crate::{check, check_eq};
use abi::Method;
use abi::breakpoint::{DATA, INSTRUCTION, READ, READ_WRITE, SOFTWARE, WRITE};
use abi::config::HARDWARE_DEBUG;
use abi::registers::PC;
use userlib::cap::{Endpoint, Notification, Reply, SchedParameters};
use userlib::invoke::invoke;
use userlib::{Error, Fault, Message, Microseconds};

tests![if HARDWARE_DEBUG;
    arguments_are_checked_in_order,
    short_messages_are_truncated,
    what_was_set_can_be_asked,
    an_instruction_stops_once_each_time,
    writes_stop,
    reads_stop,
    reads_and_writes_stop,
    only_its_bytes_are_watched,
    every_breakpoint_works,
    every_watchpoint_works,
    breakpoints_belong_to_one_thread,
    threads_have_different_breakpoints,
    calls_switch_breakpoints,
    a_thread_sets_its_own,
    cleared_breakpoints_stop_no_thread,
    a_deleted_thread_leaves_none,
    breakpoints_move_along,
    a_refused_reply_stops_the_thread,
    software_breaks_are_told,
    stops_are_told_without_budget,
    software_breaks_are_told_without_budget,
    changed_breakpoints_raise_no_exception,
];

fn arguments_are_checked_in_order(test: &mut Test) -> Outcome {
    let tcb = test.tcb;
    let bad = Error::InvalidArgument;
    let range = Error::Range {
        minimum: 0,
        maximum: COUNT - 1,
    };
    let code = instruction(0);
    let rows = [
        ([COUNT, BEYOND[0], 9, 3, 9], bad(1)),
        ([0, BEYOND[1], INSTRUCTION, 0, READ], bad(1)),
        ([COUNT, code, 2, 3, 9], bad(2)),
        ([COUNT, code, INSTRUCTION, 1, WRITE], bad(3)),
        ([COUNT, code, INSTRUCTION, 0, WRITE], bad(4)),
        ([COUNT, 0x1001, DATA, 0, 9], bad(3)),
        ([COUNT, 0x1001, DATA, 3, 9], bad(3)),
        ([COUNT, 0x1001, DATA, 3, WRITE], bad(3)),
        ([COUNT, 0x1001, DATA, 16, WRITE], bad(3)),
        ([COUNT, 0x1001, DATA, 2, WRITE], Error::Alignment),
        ([COUNT, 0x1000, DATA, 2, WRITE], range),
        ([0xffff, 0x1000, DATA, 2, WRITE], range),
    ];
    for &([number, address, kind, size, direction], error) in rows.iter().chain(REFUSED) {
        check_eq!(
            tcb.set_breakpoint(number, address, kind, size, direction),
            Err(error)
        );
    }
    check_eq!(tcb.breakpoint(COUNT).map(drop), Err(range));
    check_eq!(tcb.unset_breakpoint(COUNT), Err(range));
    for number in 0..COUNT {
        check_eq!(tcb.breakpoint(number).map(|words| words[4]), Ok(0));
    }
    Ok(())
}

fn short_messages_are_truncated(test: &mut Test) -> Outcome {
    for (method, words) in [
        (Method::TcbSetBreakpoint, 5),
        (Method::TcbGetBreakpoint, 1),
        (Method::TcbUnsetBreakpoint, 1),
        (Method::TcbConfigureSingleStepping, 2),
    ] {
        let label = method.checked_number().unwrap_or(0);
        let answer = invoke(test.tcb.0, label, &[0; 5][..words - 1], &[]);
        check_eq!(answer.map(drop), Err(Error::TruncatedMessage));
    }
    Ok(())
}

fn what_was_set_can_be_asked(test: &mut Test) -> Outcome {
    let tcb = test.thread(ABOVE, || {})?.tcb;
    let code = [0x1234, INSTRUCTION, 0, READ, 1];
    let data = [
        [0x1001, DATA, 1, WRITE, 1],
        [0x1002, DATA, 2, READ_WRITE, 1],
        [0x1004, DATA, 4, WRITE, 1],
        [0x1008, DATA, 8, READ_WRITE, 1],
        [0x100c, DATA, 4, if READS { READ } else { WRITE }, 1],
    ];
    let sets = INSTRUCTION_NUMBERS
        .map(|number| (number, code))
        .chain(DATA_NUMBERS.flat_map(|number| data.map(|set| (number, set))));
    for (number, set) in sets {
        let [address, kind, size, direction, _] = set;
        tcb.set_breakpoint(number, address, kind, size, direction)?;
        check_eq!(tcb.breakpoint(number), Ok(set));
    }
    tcb.unset_breakpoint(1)?;
    check_eq!(tcb.breakpoint(1).map(|words| words[4]), Ok(0));
    check_eq!(tcb.breakpoint(2).map(|words| words[4]), Ok(1));
    Ok(())
}

fn an_instruction_stops_once_each_time(test: &mut Test) -> Outcome {
    const TURNS: usize = if IS_PASSED { 3 } else { 1 };
    let watched = test.watched(|| {
        for _ in 0..TURNS {
            run_four();
            note('x');
        }
    })?;
    set_at(&watched, 1, 2)?;
    watched.thread.start()?;
    for _ in 0..TURNS {
        let message = watched.message();
        check_eq!(message.length(), 4);
        check_eq!(Fault::from_message(&message), stop_at(1, 2));
        go_on(&watched);
    }
    check_eq!(noted(), if IS_PASSED { "xxx" } else { "x" });
    Ok(())
}

static WORD: [u64; 4] = [0; 4];
static mut VARIABLE: u64 = 0;

fn variable() -> usize {
    &raw const VARIABLE as usize
}

fn write_it(value: usize) {
    // SAFETY: no other thread uses the variable now.
    unsafe { store(variable(), value) };
}

fn read_it() {
    // SAFETY: as above.
    unsafe { load(variable()) };
}

/// A number for watchpoints.
const WATCH: usize = DATA_NUMBERS.start + 1;

fn accesses(test: &mut Test, direction: usize) -> Outcome<Watched> {
    let watched = test.watched(|| {
        read_it();
        note('r');
        write_it(5);
        note('w');
    })?;
    watched
        .thread
        .tcb
        .set_breakpoint(WATCH, variable(), DATA, 8, direction)?;
    watched.thread.start()?;
    Ok(watched)
}

/// The fault at an access by a function whose first instruction has so many bytes.
fn access_by(function: usize, bytes: usize) -> Fault {
    Fault::Debug {
        pc: if STOPS_BEHIND_ACCESS {
            function + bytes
        } else {
            function
        },
        reason: DATA,
        trigger: variable(),
        breakpoint: WATCH,
    }
}

fn read_fault() -> Fault {
    access_by(load as *const () as usize, LOAD_BYTES)
}

fn write_fault() -> Fault {
    access_by(store as *const () as usize, STORE_BYTES)
}

fn writes_stop(test: &mut Test) -> Outcome {
    let watched = accesses(test, WRITE)?;
    check_eq!(watched.fault(), write_fault());
    check_eq!(noted(), "r");
    // SAFETY: the thread is stopped.
    let value = unsafe { load(variable()) };
    check_eq!(value, if STOPS_BEHIND_ACCESS { 5 } else { 0 });
    go_on(&watched);
    check_eq!(noted(), "rw");
    // SAFETY: the thread has finished.
    check_eq!(unsafe { load(variable()) }, 5);
    write_it(0);
    Ok(())
}

fn reads_stop(test: &mut Test) -> Outcome {
    if !READS {
        return Ok(());
    }
    let watched = accesses(test, READ)?;
    check_eq!(watched.fault(), read_fault());
    check_eq!(noted(), "");
    go_on(&watched);
    check_eq!(noted(), "rw");
    Ok(())
}

fn reads_and_writes_stop(test: &mut Test) -> Outcome {
    let watched = accesses(test, READ_WRITE)?;
    check_eq!(watched.fault(), read_fault());
    check_eq!(noted(), "");
    go_on(&watched);
    if IS_PASSED {
        check_eq!(watched.fault(), write_fault());
        check_eq!(noted(), "r");
        go_on(&watched);
    }
    check_eq!(noted(), "rw");
    Ok(())
}

fn only_its_bytes_are_watched(test: &mut Test) -> Outcome {
    let watched = test.watched(|| {
        for offset in [0, 2, 3, 1] {
            // SAFETY: no other thread uses the variable now.
            unsafe { ((variable() + offset) as *mut u8).write_volatile(0) };
            note('x');
        }
    })?;
    watched
        .thread
        .tcb
        .set_breakpoint(WATCH, variable() + 1, DATA, 1, WRITE)?;
    watched.thread.start()?;
    let fault = watched.fault();
    check!(
        matches!(fault, Fault::Debug { trigger, breakpoint: WATCH, .. } if trigger == variable() + 1),
        "{fault:?}"
    );
    check_eq!(noted(), "xxx");
    go_on(&watched);
    check_eq!(noted(), "xxxx");
    Ok(())
}

fn every_breakpoint_works(test: &mut Test) -> Outcome {
    for number in INSTRUCTION_NUMBERS {
        let watched = test.watched(|| {
            run_four();
            note('x');
        })?;
        // All are set; the one in question comes first.
        for other in INSTRUCTION_NUMBERS {
            set_at(&watched, if other == number { 1 } else { 3 }, other)?;
        }
        watched.thread.start()?;
        check_eq!(watched.fault(), stop_at(1, number));
        test.delete(watched.thread.tcb)?;
    }
    check_eq!(noted(), "");
    Ok(())
}

fn every_watchpoint_works(test: &mut Test) -> Outcome {
    for number in DATA_NUMBERS {
        let watched = test.watched(|| {
            write_it(0);
            note('x');
        })?;
        watched
            .thread
            .tcb
            .set_breakpoint(number, variable(), DATA, 4, WRITE)?;
        watched.thread.start()?;
        let fault = watched.fault();
        check!(
            matches!(fault, Fault::Debug { reason: DATA, breakpoint, .. } if breakpoint == number),
            "{fault:?}"
        );
        test.delete(watched.thread.tcb)?;
    }
    check_eq!(noted(), "");
    Ok(())
}

fn breakpoints_belong_to_one_thread(test: &mut Test) -> Outcome {
    let bell: Notification = test.create()?;
    let watched = test.watched(move || {
        bell.wait();
        run_four();
        note('x');
    })?;
    set_at(&watched, 0, 0)?;
    watched.thread.start()?;
    // The breakpoint's thread waits; other threads that execute the same code are not stopped.
    run_four();
    test.spawn(ABOVE, || {
        run_four();
        note('o');
    })?;
    check_eq!(noted(), "o");
    check!(watched.is_quiet());
    bell.signal();
    check_eq!(watched.fault(), stop_at(0, 0));
    run_four();
    go_on(&watched);
    check_eq!(noted(), "ox");
    Ok(())
}

fn threads_have_different_breakpoints(test: &mut Test) -> Outcome {
    const TURNS: usize = if IS_PASSED { 3 } else { 1 };
    let work = || {
        for _ in 0..TURNS {
            run_four();
        }
        note('x');
    };
    let (first, second) = (test.watched(work)?, test.watched(work)?);
    // The same number at different places, and different numbers at the same place.
    set_at(&first, 0, 0)?;
    set_at(&second, 2, 0)?;
    set_at(&second, 3, 1)?;
    first.thread.start()?;
    second.thread.start()?;
    for _ in 0..TURNS {
        check_eq!(first.fault(), stop_at(0, 0));
        check_eq!(second.fault(), stop_at(2, 0));
        go_on(&second);
        check_eq!(second.fault(), stop_at(3, 1));
        go_on(&first);
        go_on(&second);
    }
    check_eq!(noted(), "xx");
    Ok(())
}

fn calls_switch_breakpoints(test: &mut Test) -> Outcome {
    let (endpoint, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    test.spawn_passive(ABOVE, move || {
        let mut received = endpoint.recv(reply);
        loop {
            run_four();
            note('s');
            let answer = received.message.unwrap_or(Message::empty(0));
            received = endpoint.reply_recv(answer, reply);
        }
    })?;
    let watched = test.watched(move || {
        endpoint.call(Message::empty(0));
        note('c');
        run_four();
        note('x');
    })?;
    set_at(&watched, 3, 3)?;
    watched.thread.start()?;
    // Neither the server nor the test stops.
    check_eq!(noted(), "sc");
    endpoint.call(Message::empty(0));
    check_eq!(noted(), "scs");
    check_eq!(watched.fault(), stop_at(3, 3));
    go_on(&watched);
    check_eq!(noted(), "scsx");
    Ok(())
}

fn a_thread_sets_its_own(test: &mut Test) -> Outcome {
    let tcb: userlib::cap::Tcb = test.tcb;
    let word = &raw const WORD as usize;
    tcb.set_breakpoint(WATCH, word, DATA, 8, READ_WRITE)?;
    check_eq!(tcb.breakpoint(WATCH), Ok([word, DATA, 8, READ_WRITE, 1]));
    tcb.unset_breakpoint(WATCH)?;
    // SAFETY: the word is readable.
    unsafe { load(word) };
    Ok(())
}

fn cleared_breakpoints_stop_no_thread(test: &mut Test) -> Outcome {
    let watched = test.watched(|| {
        run_four();
        run_four();
        note('x');
    })?;
    set_at(&watched, 0, 0)?;
    watched.thread.start()?;
    check_eq!(watched.fault(), stop_at(0, 0));
    watched.thread.tcb.unset_breakpoint(0)?;
    go_on(&watched);
    check_eq!(noted(), "x");
    Ok(())
}

fn a_deleted_thread_leaves_none(test: &mut Test) -> Outcome {
    for _ in 0..3 {
        let watched = test.watched(|| {
            run_four();
            note('x');
        })?;
        for number in INSTRUCTION_NUMBERS {
            check_eq!(
                watched.thread.tcb.breakpoint(number).map(|words| words[4]),
                Ok(0)
            );
            set_at(&watched, 0, number)?;
        }
        watched
            .thread
            .tcb
            .set_breakpoint(DATA_NUMBERS.end - 1, variable(), DATA, 8, READ_WRITE)?;
        watched.thread.start()?;
        check!(matches!(
            watched.fault(),
            Fault::Debug {
                reason: INSTRUCTION,
                ..
            }
        ));
        test.delete(watched.thread.tcb)?;
        run_four();
        read_it();
        test.spawn(ABOVE, || {
            run_four();
            read_it();
            note('o');
        })?;
    }
    check_eq!(noted(), "ooo");
    Ok(())
}

fn breakpoints_move_along(test: &mut Test) -> Outcome {
    let cores = test.secondary_cores().end;
    let watched = test.watched(|| {
        loop {
            run_four();
        }
    })?;
    for turn in 0..4 * cores {
        let context = watched.thread.sched_context;
        test.control_of(turn % cores).configure(context, &SLICE)?;
        if turn == 0 || !IS_PASSED {
            set_at(&watched, 1, 2)?;
        }
        if turn == 0 {
            watched.thread.start()?;
        } else {
            go_on(&watched);
        }
        let message = watched.endpoint.recv(watched.reply).message;
        let fault = Fault::from_message(&message.unwrap_or(Message::empty(0)));
        check_eq!(fault, stop_at(1, 2));
        run_four();
    }
    test.delete(watched.thread.tcb)?;
    Ok(())
}

fn a_refused_reply_stops_the_thread(test: &mut Test) -> Outcome {
    let watched = stopped(test)?;
    watched.reply.send(Message::empty(1));
    check!(watched.is_quiet());
    check_eq!(noted(), "");
    Ok(())
}

fn software_breaks_are_told(test: &mut Test) -> Outcome {
    let watched = test.watched(|| {
        // SAFETY: it only stops the thread.
        unsafe { software() };
        note('x');
    })?;
    watched.thread.start()?;
    let message = watched.message();
    let place = software as *const () as usize;
    check_eq!(message.length(), 2);
    check_eq!(message.word(1), SOFTWARE);
    if STOPS_BEHIND_BREAK {
        check_eq!(message.word(0), place + 1);
    } else {
        check_eq!(message.word(0), place);
        let tcb = watched.thread.tcb;
        let mut registers = tcb.read_registers(false)?;
        registers.0[PC] = place + 4;
        tcb.write_registers(false, &registers)?;
    }
    go_on(&watched);
    check_eq!(noted(), "x");
    Ok(())
}

/// A timeslice of which half is less than the smallest budget, and the other half enough for a system call.
const SHORT: SchedParameters = SchedParameters::round_robin(Microseconds(40));

/// A thread that stops in each of so many turns.
fn stops_in_turns(test: &mut Test, turns: usize, work: fn()) -> Outcome<Watched> {
    let watched = test.watched(move || {
        for _ in 0..turns {
            work();
            note('x');
        }
    })?;
    test.control_of(0)
        .configure(watched.thread.sched_context, &SHORT)?;
    Ok(watched)
}

/// A stop does not come again, so it is told even if the thread has too little budget for its request.
fn stops_are_told_without_budget(test: &mut Test) -> Outcome {
    const TURNS: usize = if IS_PASSED { 20 } else { 1 };
    let watched = stops_in_turns(test, TURNS, run_four)?;
    set_at(&watched, 1, 2)?;
    watched.thread.start()?;
    for turn in 0..TURNS {
        check_eq!(watched.fault(), stop_at(1, 2));
        check_eq!(count(), turn);
        go_on(&watched);
    }
    check_eq!(count(), TURNS);
    Ok(())
}

fn software_breaks_are_told_without_budget(test: &mut Test) -> Outcome {
    let turns = if STOPS_BEHIND_BREAK { 20 } else { 0 };
    // SAFETY: it only stops the thread.
    let watched = stops_in_turns(test, turns, || unsafe { software() })?;
    watched.thread.start()?;
    for turn in 0..turns {
        check_eq!(watched.message().word(1), SOFTWARE);
        check_eq!(count(), turn);
        go_on(&watched);
    }
    check_eq!(count(), turns);
    Ok(())
}

/// Breakpoints and steps of a thread that runs on another core are set and cleared: what it has stopped at meanwhile is told
/// as that, or not at all.
fn changed_breakpoints_raise_no_exception(test: &mut Test) -> Outcome {
    const TURNS: usize = 1000;
    if test.secondary_cores().is_empty() || !IS_PASSED {
        return Ok(());
    }
    let watched = test.watched(|| {
        loop {
            run_four();
        }
    })?;
    test.control_of(1)
        .configure(watched.thread.sched_context, &SLICE)?;
    watched.thread.start()?;
    let tcb = watched.thread.tcb;
    for turn in 0..TURNS {
        match turn % 4 {
            0 => tcb.unset_breakpoint(0)?,
            1 => tcb.step(0, 1).map(drop)?,
            2 => tcb.step(0, 0).map(drop)?,
            _ => set_at(&watched, turn / 4 % 4, 0)?,
        }
        userlib::arch::relax();
        if let Some(message) = (watched.endpoint.nb_recv(watched.reply)).and_then(|it| it.message) {
            let fault = Fault::from_message(&message);
            check!(matches!(fault, Fault::Debug { .. }), "{fault:?}");
            go_on(&watched);
        }
    }
    test.delete(tcb)?;
    Ok(())
}
