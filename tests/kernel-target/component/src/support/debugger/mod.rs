//! What tests of a debugger need: programs of known instructions, and the properties of the processor's
//! breakpoints.

#[cfg_attr(target_arch = "x86_64", path = "x86_64.rs")]
#[cfg_attr(not(target_arch = "x86_64"), path = "arm.rs")]
mod arch;

pub use arch::{
    BEYOND, DATA_NUMBERS, INSTRUCTION_BYTES, INSTRUCTION_NUMBERS, IS_PASSED, READS, REFUSED,
    STOPS_BEHIND_ACCESS, STOPS_BEHIND_BREAK, four, software,
};

use super::{Outcome, Test, Watched};
use crate::check_eq;
use crate::support::events::note;
use abi::breakpoint::{INSTRUCTION, READ};
use userlib::{Fault, Message};

/// Breakpoints of a thread.
pub const COUNT: usize = DATA_NUMBERS.end;

/// The address of an instruction of [`four`].
pub fn instruction(index: usize) -> usize {
    four as *const () as usize + index * INSTRUCTION_BYTES
}

/// Executes [`four`].
pub fn run_four() {
    // SAFETY: it only executes no-ops.
    unsafe { four() };
}

/// Lets a thread continue after a fault.
pub fn go_on(watched: &Watched) {
    watched.reply.send(Message::empty(0));
}

/// The fault at a breakpoint for an instruction of [`four`].
pub fn stop_at(index: usize, breakpoint: usize) -> Fault {
    Fault::Debug {
        pc: instruction(index),
        reason: INSTRUCTION,
        trigger: instruction(index),
        breakpoint,
    }
}

/// Sets a breakpoint at an instruction of [`four`].
pub fn set_at(watched: &Watched, index: usize, breakpoint: usize) -> Outcome {
    let tcb = watched.thread.tcb;
    tcb.set_breakpoint(breakpoint, instruction(index), INSTRUCTION, 0, READ)?;
    Ok(())
}

/// A thread that is stopped at the first instruction of [`four`], without a breakpoint.
pub fn stopped(test: &mut Test) -> Outcome<Watched> {
    let watched = test.watched(|| {
        run_four();
        note('x');
    })?;
    set_at(&watched, 0, 0)?;
    watched.thread.start()?;
    check_eq!(watched.fault(), stop_at(0, 0));
    watched.thread.tcb.unset_breakpoint(0)?;
    Ok(watched)
}
