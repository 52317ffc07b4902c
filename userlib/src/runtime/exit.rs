//! Exit of a program.

use crate::{arch, fault, syscall};
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

static IS_ROOT: AtomicBool = AtomicBool::new(false);

/// Records that this is the root task. It ends the run; any other component exits with a fault.
pub(super) fn this_is_the_root_task() {
    IS_ROOT.store(true, Relaxed);
}

/// Exits this component: its fault handler receives the code ([`crate::Outcome`]). In the root task, ends the
/// run. 0 is success.
pub fn exit(code: usize) -> ! {
    if IS_ROOT.load(Relaxed) {
        syscall::debug_exit((code != 0) as usize);
    }
    exit_thread(code)
}

/// Exits this thread: its fault handler receives the code ([`crate::Outcome`]).
pub fn exit_thread(code: usize) -> ! {
    loop {
        // Returns only if the fault handler replies.
        arch::unknown_syscall(fault::EXIT, code);
    }
}
