//! Single stepping of system calls on 64-bit Arm (option `hwdebug`).

use core::arch::naked_asm;

use crate::check_eq;
use crate::support::debugger::{INSTRUCTION_BYTES, go_on};
use crate::support::events::{note, noted};
use crate::support::{Outcome, Test};
use abi::Syscall;
use abi::breakpoint::{INSTRUCTION, READ, SINGLE_STEP};
use abi::config::HARDWARE_DEBUG;
use userlib::Capability;
use userlib::cap::Notification;

tests![if HARDWARE_DEBUG; a_repeated_system_call_is_one_step];

/// Waits for a signal: the system call is the second instruction.
///
/// # Safety
/// No conditions.
#[unsafe(naked)]
unsafe extern "C" fn wait(notification: usize) {
    naked_asm!("mov x7, #{}", "svc #0", "ret", const Syscall::Wait as isize)
}

fn instruction(index: usize) -> usize {
    wait as *const () as usize + index * INSTRUCTION_BYTES
}

fn a_repeated_system_call_is_one_step(test: &mut Test) -> Outcome {
    let notification: Notification = test.create()?;
    let address = notification.cptr().0;
    let watched = test.watched(move || {
        // SAFETY: it only waits.
        unsafe { wait(address) };
        note('x');
    })?;
    let tcb = watched.thread.tcb;
    tcb.set_breakpoint(0, instruction(1), INSTRUCTION, 0, READ)?;
    watched.thread.start()?;
    check_eq!(watched.message().word(0), instruction(1));
    tcb.unset_breakpoint(0)?;
    tcb.step(0, 1)?;
    go_on(&watched);
    // It waits, is stopped, and waits again: it has not executed the instruction yet.
    tcb.suspend()?;
    tcb.resume()?;
    check_eq!(watched.endpoint.nb_recv(watched.reply).is_none(), true);
    notification.signal();
    let message = watched.message();
    check_eq!(
        [message.word(0), message.word(1)],
        [instruction(2), SINGLE_STEP]
    );
    watched.reply.send(userlib::Message::new(0, &[0]));
    check_eq!(noted(), "x");
    Ok(())
}
