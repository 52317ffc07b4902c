//! Single stepping (option `hwdebug`).

use crate::check_eq;
use crate::support::debugger::{go_on, instruction, run_four, set_at, stop_at, stopped};
use crate::support::events::{note, noted};
use crate::support::{Outcome, Test, Watched};
use abi::breakpoint::SINGLE_STEP;
use abi::config::HARDWARE_DEBUG;
use abi::registers::{FLAGS, PC};
use userlib::cap::SchedParameters;
use userlib::{Message, Microseconds};

tests![if HARDWARE_DEBUG;
    instructions_are_counted,
    stepping_ends,
    stepping_survives_new_flags,
    stepping_stops_at_breakpoints,
    steps_end_before_breakpoints,
    steps_are_told_without_budget,
];

/// Checks that the thread has made `executed` steps of `four`.
#[track_caller]
fn check_step(watched: &Watched, executed: usize) {
    let message = watched.message();
    check_eq!(message.length(), 2);
    check_eq!(message.word(0), instruction(executed));
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
    registers.0[PC] = instruction(1);
    tcb.write_registers(false, &registers)?;
    go_on(&watched);
    check_step(&watched, 2);
    Ok(())
}

fn stepping_stops_at_breakpoints(test: &mut Test) -> Outcome {
    let watched = test.watched(|| {
        run_four();
        note('x');
    })?;
    set_at(&watched, 0, 0)?;
    set_at(&watched, 2, 1)?;
    watched.thread.start()?;
    check_eq!(watched.fault(), stop_at(0, 0));
    watched.thread.tcb.step(3, 3)?;
    go_on(&watched);
    check_eq!(watched.fault(), stop_at(2, 1));
    // Two steps were made.
    go_on(&watched);
    check_step(&watched, 3);
    watched.reply.send(Message::new(0, &[0]));
    check_eq!(noted(), "x");
    Ok(())
}

fn steps_end_before_breakpoints(test: &mut Test) -> Outcome {
    let watched = stopped(test)?;
    set_at(&watched, 2, 1)?;
    watched.thread.tcb.step(3, 2)?;
    go_on(&watched);
    check_step(&watched, 2);
    watched.reply.send(Message::new(0, &[0]));
    check_eq!(watched.fault(), stop_at(2, 1));
    go_on(&watched);
    check_eq!(noted(), "x");
    Ok(())
}

/// A step does not come again: it is told even if less than the smallest budget is left.
fn steps_are_told_without_budget(test: &mut Test) -> Outcome {
    const SHORT: SchedParameters = SchedParameters::round_robin(Microseconds(25));
    for _ in 0..3 {
        let watched = stopped(test)?;
        test.control_of(0)
            .configure(watched.thread.sched_context, &SHORT)?;
        watched.thread.tcb.step(0, 1)?;
        for step in 1..=4 {
            go_on(&watched);
            check_step(&watched, step);
        }
        test.delete(watched.thread.tcb)?;
    }
    Ok(())
}
