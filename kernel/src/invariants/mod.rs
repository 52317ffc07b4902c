//! What holds between kernel entries, written once: for tests on the host, for the simulator and for
//! debug kernels.
//!
//! Each check looks at one object and at what it points to; it needs no memory and changes nothing.
//! Nearly every structure of the kernel is held together from both ends, so that it is right as a
//! whole where every object agrees with its neighbours. [`check_core`] starts from what a core knows,
//! [`check_cap`] from a capability. Whoever can enumerate all capabilities, as tests on the host can,
//! checks everything that exists.

mod context;
mod reply;
mod scheduler;
mod slot;
mod thread;
mod waiting;

pub use self::context::check_context;
pub use self::reply::check_reply;
pub use self::scheduler::check_core;
pub use self::slot::check_slot;
pub use self::thread::check_thread;
pub use self::waiting::{check_endpoint, check_notification};

use crate::Kernel;
use crate::arch::Arch;
use crate::cap::Cap;

/// Something that should always hold does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Violation {
    /// What should hold.
    pub rule: &'static str,
    /// The kernel's address of the object that it does not hold for.
    pub object: usize,
}

/// What comes of a check.
pub type Check = Result<(), Violation>;

fn require(holds: bool, object: usize, rule: &'static str) -> Check {
    if holds {
        Ok(())
    } else {
        Err(Violation { rule, object })
    }
}

/// Checks the object behind a capability.
///
/// # Errors
/// The first violation found.
pub fn check_cap<A: Arch>(kernel: &Kernel<A>, cap: &Cap<A>) -> Check {
    match *cap {
        Cap::Thread(thread) => check_thread(kernel, thread),
        Cap::SchedContext { object, bits } => check_context(kernel, object, Some(bits)),
        Cap::Reply { object, .. } => check_reply(kernel, object),
        Cap::Endpoint(cap) => check_endpoint(kernel, cap.object),
        Cap::Notification(cap) => check_notification(kernel, cap.object),
        Cap::Untyped(cap) => require(
            cap.watermark <= cap.size(),
            cap.address.0,
            "the watermark of untyped memory lies within it",
        ),
        _ => Ok(()),
    }
}
