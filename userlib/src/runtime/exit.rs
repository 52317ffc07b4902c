//! How a program ends.

use crate::{arch, fault, syscall};
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

static IS_ROOT: AtomicBool = AtomicBool::new(false);

/// The root task ends the run; any other component tells its fault handler.
pub(super) fn this_is_the_root_task() {
    IS_ROOT.store(true, Relaxed);
}

/// Ends this component: its fault handler gets the code ([`crate::Outcome`]). When it is the root
/// task, the run ends. 0 is success.
pub fn exit(code: usize) -> ! {
    if IS_ROOT.load(Relaxed) {
        syscall::debug_exit((code != 0) as usize);
    }
    exit_thread(code)
}

/// Ends this thread: its fault handler gets the code ([`crate::Outcome`]).
pub fn exit_thread(code: usize) -> ! {
    loop {
        // Returns only if a handler insists on it.
        arch::unknown_syscall(fault::EXIT, code);
    }
}
