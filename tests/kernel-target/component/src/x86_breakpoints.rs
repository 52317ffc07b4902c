//! The trap flag of x86-64 (option `hwdebug`).

use core::arch::naked_asm;

use crate::check;
use crate::support::{Outcome, Test};
use abi::config::HARDWARE_DEBUG;
use userlib::Fault;

tests![if HARDWARE_DEBUG; own_trap_flags_are_exceptions];

/// Sets the trap flag.
#[unsafe(naked)]
unsafe extern "C" fn trap_itself() {
    naked_asm!("pushfq", "or qword ptr [rsp], 0x100", "popfq", "nop", "ret")
}

fn own_trap_flags_are_exceptions(test: &mut Test) -> Outcome {
    let fault = test.fault_of(|| {
        // SAFETY: it only stops the thread.
        unsafe { trap_itself() };
    })?;
    check!(
        matches!(
            fault,
            Fault::UserException {
                number: 1,
                code: 0,
                ..
            }
        ),
        "{fault:?}"
    );
    Ok(())
}
