//! Single stepping of 32-bit Arm (option `hwdebug`), as far as an emulator shows it: stepping takes a breakpoint that
//! stops at all instructions but one, which QEMU does not have.

use crate::check_eq;
use crate::support::{ABOVE, Outcome, Test};
use abi::breakpoint::{INSTRUCTION, READ};
use abi::config::HARDWARE_DEBUG;
use userlib::Error;

tests![if HARDWARE_DEBUG;
    stepping_takes_a_breakpoint,
    short_instructions_have_breakpoints,
];

fn stepping_takes_a_breakpoint(test: &mut Test) -> Outcome {
    let tcb = test.thread(ABOVE, || {})?.tcb;
    let illegal = Error::IllegalOperation;
    let set = |number| tcb.set_breakpoint(number, 0x1000, INSTRUCTION, 0, READ);
    let range = Error::Range {
        minimum: 0,
        maximum: 5,
    };
    check_eq!(tcb.step(6, 1), Err(range));
    check_eq!(tcb.step(6, 0), Err(range));
    set(1)?;
    check_eq!(tcb.step(1, 1), Err(illegal));
    check_eq!(tcb.step(0, 1), Ok(true));
    check_eq!(set(0), Err(illegal));
    check_eq!(tcb.unset_breakpoint(0), Err(illegal));
    // Another one may do it instead.
    check_eq!(tcb.step(2, 5), Ok(true));
    set(0)?;
    check_eq!(tcb.step(2, 0), Ok(false));
    set(2)?;
    Ok(())
}

fn short_instructions_have_breakpoints(test: &mut Test) -> Outcome {
    let tcb = test.thread(ABOVE, || {})?.tcb;
    tcb.set_breakpoint(0, 0x1002, INSTRUCTION, 0, READ)?;
    check_eq!(tcb.breakpoint(0), Ok([0x1002, INSTRUCTION, 0, READ, 1]));
    Ok(())
}
