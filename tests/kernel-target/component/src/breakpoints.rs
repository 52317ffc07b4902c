//! Hardware breakpoints, watchpoints and single stepping (option `hwdebug`).

use core::arch::naked_asm;

use crate::support::arch::{load, store};
use crate::support::events::{note, noted};
use crate::support::{ABOVE, Outcome, Test, Watched};
use crate::{check, check_eq};
use abi::breakpoint::{DATA, INSTRUCTION, READ, READ_WRITE, SINGLE_STEP, SOFTWARE, WRITE};
use abi::config::HARDWARE_DEBUG;
use abi::registers::{FLAGS, PC};
use abi::{Method, WORD_BITS};
use userlib::cap::Notification;
use userlib::invoke::invoke;
use userlib::{Error, Fault, Message};

tests![if HARDWARE_DEBUG;
    arguments_are_checked_in_order,
    short_messages_are_truncated,
    what_was_set_can_be_asked,
    an_instruction_stops_once_each_time,
    writes_stop_behind_themselves,
    reads_and_writes_stop,
    every_breakpoint_works,
    breakpoints_belong_to_one_thread,
    a_thread_sets_its_own,
    cleared_breakpoints_stop_no_thread,
    instructions_are_counted,
    stepping_ends,
    stepping_survives_new_flags,
    a_refused_reply_stops_the_thread,
    software_breaks_are_told,
    own_trap_flags_are_exceptions,
];

const COUNT: usize = 4;

/// Four one-byte instructions and a return.
#[unsafe(naked)]
unsafe extern "C" fn four() {
    naked_asm!("nop", "nop", "nop", "nop", "ret")
}

/// A software breakpoint.
#[unsafe(naked)]
unsafe extern "C" fn software() {
    naked_asm!("int3", "ret")
}

/// Sets the trap flag.
#[unsafe(naked)]
unsafe extern "C" fn trap_itself() {
    naked_asm!("pushfq", "or qword ptr [rsp], 0x100", "popfq", "nop", "ret")
}

fn address(function: unsafe extern "C" fn()) -> usize {
    function as usize
}

fn run_four() {
    // SAFETY: it only executes no-ops.
    unsafe { four() };
}

fn arguments_are_checked_in_order(test: &mut Test) -> Outcome {
    let tcb = test.tcb;
    let bad = |argument| Err(Error::InvalidArgument(argument));
    let range = Err(Error::Range { minimum: 0, maximum: COUNT - 1 });
    let kernel = 1 << (WORD_BITS - 1);
    let code = address(four);
    for (number, address, kind, size, direction, answer) in [
        (COUNT, kernel, 9, 3, 9, bad(1)),
        (0, 0x7fff_ffff_f000, INSTRUCTION, 0, READ, bad(1)),
        (COUNT, code, 2, 3, 9, bad(2)),
        (COUNT, code, INSTRUCTION, 1, WRITE, bad(3)),
        (COUNT, code, INSTRUCTION, 0, WRITE, bad(4)),
        (COUNT, 0x1001, DATA, 0, 9, bad(3)),
        (COUNT, 0x1001, DATA, 3, 9, bad(3)),
        (COUNT, 0x1001, DATA, 3, WRITE, bad(3)),
        (COUNT, 0x1001, DATA, 16, WRITE, bad(3)),
        (COUNT, 0x1001, DATA, 2, WRITE, Err(Error::Alignment)),
        (COUNT, 0x1000, DATA, 2, WRITE, range),
        (COUNT, code, INSTRUCTION, 0, READ, range),
        (0, 0x1000, DATA, 2, READ, bad(4)),
    ] {
        check_eq!(tcb.set_breakpoint(number, address, kind, size, direction), answer);
    }
    check_eq!(tcb.breakpoint(COUNT).map(drop), range);
    check_eq!(tcb.unset_breakpoint(COUNT), range);
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
    for number in 0..COUNT {
        for set in [
            [0x1234, INSTRUCTION, 0, READ, 1],
            [0x1001, DATA, 1, WRITE, 1],
            [0x1002, DATA, 2, READ_WRITE, 1],
            [0x1004, DATA, 4, WRITE, 1],
            [0x1008, DATA, 8, READ_WRITE, 1],
        ] {
            let [address, kind, size, direction, _] = set;
            tcb.set_breakpoint(number, address, kind, size, direction)?;
            check_eq!(tcb.breakpoint(number), Ok(set));
        }
    }
    tcb.unset_breakpoint(1)?;
    check_eq!(tcb.breakpoint(1).map(|words| words[4]), Ok(0));
    check_eq!(tcb.breakpoint(2).map(|words| words[4]), Ok(1));
    Ok(())
}

fn go_on(watched: &Watched) {
    watched.reply.send(Message::empty(0));
}

fn an_instruction_stops_once_each_time(test: &mut Test) -> Outcome {
    let watched = test.watched(|| {
        for _ in 0..3 {
            run_four();
            note('x');
        }
    })?;
    watched.thread.tcb.set_breakpoint(2, address(four) + 1, INSTRUCTION, 0, READ)?;
    watched.thread.start()?;
    for _ in 0..3 {
        let message = watched.message();
        check_eq!(message.length(), 4);
        let expected = Fault::Debug {
            pc: address(four) + 1,
            reason: INSTRUCTION,
            trigger: address(four) + 1,
            breakpoint: 2,
        };
        check_eq!(Fault::from_message(&message), expected);
        go_on(&watched);
    }
    check_eq!(noted(), "xxx");
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

fn accesses(test: &mut Test, direction: usize) -> Outcome<Watched> {
    let watched = test.watched(|| {
        read_it();
        note('r');
        write_it(5);
        note('w');
    })?;
    watched.thread.tcb.set_breakpoint(1, variable(), DATA, 8, direction)?;
    watched.thread.start()?;
    Ok(watched)
}

fn writes_stop_behind_themselves(test: &mut Test) -> Outcome {
    let watched = accesses(test, WRITE)?;
    let expected = Fault::Debug {
        pc: store as *const () as usize + crate::support::arch::STORE_BYTES,
        reason: DATA,
        trigger: variable(),
        breakpoint: 1,
    };
    check_eq!(watched.fault(), expected);
    check_eq!(noted(), "r");
    go_on(&watched);
    check_eq!(noted(), "rw");
    // SAFETY: the thread has finished.
    check_eq!(unsafe { load(variable()) }, 5);
    Ok(())
}

fn reads_and_writes_stop(test: &mut Test) -> Outcome {
    let watched = accesses(test, READ_WRITE)?;
    for (before, offset, function) in [
        ("", crate::support::arch::LOAD_BYTES, load as *const () as usize),
        ("r", crate::support::arch::STORE_BYTES, store as *const () as usize),
    ] {
        let expected = Fault::Debug {
            pc: function + offset,
            reason: DATA,
            trigger: variable(),
            breakpoint: 1,
        };
        check_eq!(watched.fault(), expected);
        check_eq!(noted(), before);
        go_on(&watched);
    }
    check_eq!(noted(), "rw");
    Ok(())
}

fn every_breakpoint_works(test: &mut Test) -> Outcome {
    let watched = test.watched(|| {
        run_four();
        note('x');
    })?;
    for number in 0..COUNT {
        let place = address(four) + number;
        watched.thread.tcb.set_breakpoint(number, place, INSTRUCTION, 0, READ)?;
    }
    watched.thread.start()?;
    for number in 0..COUNT {
        let fault = watched.fault();
        check!(matches!(fault, Fault::Debug { breakpoint, .. } if breakpoint == number), "{fault:?}");
        go_on(&watched);
    }
    check_eq!(noted(), "x");
    Ok(())
}

fn breakpoints_belong_to_one_thread(test: &mut Test) -> Outcome {
    let bell: Notification = test.create()?;
    let watched = test.watched(move || {
        bell.wait();
        run_four();
        note('x');
    })?;
    watched.thread.tcb.set_breakpoint(0, address(four), INSTRUCTION, 0, READ)?;
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
    check!(matches!(watched.fault(), Fault::Debug { reason: INSTRUCTION, .. }));
    run_four();
    go_on(&watched);
    check_eq!(noted(), "ox");
    Ok(())
}

fn a_thread_sets_its_own(test: &mut Test) -> Outcome {
    let tcb: userlib::cap::Tcb = test.tcb;
    let word = &raw const WORD as usize;
    tcb.set_breakpoint(3, word, DATA, 8, READ_WRITE)?;
    check_eq!(tcb.breakpoint(3), Ok([word, DATA, 8, READ_WRITE, 1]));
    tcb.unset_breakpoint(3)?;
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
    let tcb = watched.thread.tcb;
    tcb.set_breakpoint(0, address(four), INSTRUCTION, 0, READ)?;
    watched.thread.start()?;
    check!(matches!(watched.fault(), Fault::Debug { reason: INSTRUCTION, .. }));
    tcb.unset_breakpoint(0)?;
    go_on(&watched);
    check_eq!(noted(), "x");
    Ok(())
}

/// A thread that is stopped at the first instruction of [`four`].
fn stopped(test: &mut Test) -> Outcome<Watched> {
    let watched = test.watched(|| {
        run_four();
        note('x');
    })?;
    let tcb = watched.thread.tcb;
    tcb.set_breakpoint(0, address(four), INSTRUCTION, 0, READ)?;
    watched.thread.start()?;
    check!(matches!(watched.fault(), Fault::Debug { reason: INSTRUCTION, .. }));
    tcb.unset_breakpoint(0)?;
    Ok(watched)
}

/// Checks that the thread has made `executed` steps of [`four`].
#[track_caller]
fn check_step(watched: &Watched, executed: usize) {
    let message = watched.message();
    check_eq!(message.length(), 2);
    check_eq!(message.word(0), address(four) + executed);
    check_eq!(message.word(1), SINGLE_STEP);
}

fn instructions_are_counted(test: &mut Test) -> Outcome {
    let watched = stopped(test)?;
    check_eq!(watched.thread.tcb.step(0, 1), Ok(false));
    go_on(&watched);
    check_step(&watched, 1);
    // A reply without words means one more step; a reply with a word states the number of steps.
    go_on(&watched);
    check_step(&watched, 2);
    watched.reply.send(Message::new(0, &[2]));
    check_step(&watched, 4);
    Ok(())
}

fn stepping_ends(test: &mut Test) -> Outcome {
    let watched = stopped(test)?;
    watched.thread.tcb.step(0, 2)?;
    go_on(&watched);
    check_step(&watched, 2);
    watched.reply.send(Message::new(0, &[0]));
    check_eq!(noted(), "x");
    let watched = stopped(test)?;
    watched.thread.tcb.step(0, 1)?;
    check_eq!(watched.thread.tcb.step(0, 0), Ok(false));
    go_on(&watched);
    check_eq!(noted(), "xx");
    Ok(())
}

fn stepping_survives_new_flags(test: &mut Test) -> Outcome {
    let watched = stopped(test)?;
    let tcb = watched.thread.tcb;
    tcb.step(0, 1)?;
    let mut registers = tcb.read_registers(false)?;
    registers.0[FLAGS] = 0;
    registers.0[PC] = address(four) + 1;
    tcb.write_registers(false, &registers)?;
    go_on(&watched);
    check_step(&watched, 2);
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
    check_eq!(message.length(), 2);
    check_eq!((message.word(0), message.word(1)), (address(software) + 1, SOFTWARE));
    go_on(&watched);
    check_eq!(noted(), "x");
    Ok(())
}

fn own_trap_flags_are_exceptions(test: &mut Test) -> Outcome {
    let fault = test.fault_of(|| {
        // SAFETY: it only stops the thread.
        unsafe { trap_itself() };
    })?;
    check!(matches!(fault, Fault::UserException { number: 1, code: 0, .. }), "{fault:?}");
    Ok(())
}
