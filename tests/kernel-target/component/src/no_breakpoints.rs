//! The hardware debug interface (option `hwdebug`) where the kernel does not drive the hardware.

use crate::support::debugger::software;
use crate::support::{Outcome, Test};
use crate::{check, check_eq};
use abi::breakpoint::{INSTRUCTION, READ, SOFTWARE};
use abi::config::HARDWARE_DEBUG;
use userlib::{Error, Fault};

tests![if HARDWARE_DEBUG; every_method_is_illegal, software_breaks_are_told];

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

fn software_breaks_are_told(test: &mut Test) -> Outcome {
    let fault = test.fault_of(|| {
        // SAFETY: it only stops the thread.
        unsafe { software() };
    })?;
    let place = software as *const () as usize;
    check!(
        matches!(fault, Fault::Debug { pc, reason: SOFTWARE, .. } if pc == place),
        "{fault:?}"
    );
    Ok(())
}
