//! The hardware debug interface (option `hwdebug`) where the kernel does not drive the hardware.

use crate::check_eq;
use crate::support::{Outcome, Test};
use abi::breakpoint::{INSTRUCTION, READ};
use abi::config::HARDWARE_DEBUG;
use userlib::Error;

tests![if HARDWARE_DEBUG; every_method_is_illegal];

fn every_method_is_illegal(test: &mut Test) -> Outcome {
    let illegal = Error::IllegalOperation;
    check_eq!(
        test.tcb.set_breakpoint(0, 0x1000, INSTRUCTION, 0, READ),
        Err(illegal)
    );
    check_eq!(test.tcb.breakpoint(0), Err(illegal));
    check_eq!(test.tcb.unset_breakpoint(0), Err(illegal));
    check_eq!(test.tcb.step(0, 1), Err(illegal));
    Ok(())
}
