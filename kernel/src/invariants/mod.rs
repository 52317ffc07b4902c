//! What holds between kernel entries, written once: for tests on the host, for the simulator and for
//! debug kernels.
//!
//! Each check looks at one object and at what it points to; it needs no memory and changes nothing.
//! Nearly every structure of the kernel is held together from both ends, so that it is right as a
//! whole where every object agrees with its neighbours. [`check_core`] starts from what a core knows,
//! [`check_cap`] from a capability. Whoever can enumerate all capabilities, as tests on the host can,
//! checks everything that exists. The kernel itself, where it is built with these checks, looks after
//! every entry at what the entry had to do with, and at one thing more (the module `entry`).

mod context;
mod entry;
mod reply;
mod scheduler;
mod slot;
mod thread;
mod waiting;
mod watch;

pub use self::context::check_context;
pub use self::entry::check_entry;
pub use self::reply::check_reply;
pub use self::scheduler::check_core;
pub use self::slot::check_slot;
pub use self::thread::{check_preempted, check_thread};
pub use self::waiting::{check_endpoint, check_notification};
pub use self::watch::Watch;

use core::fmt;

use crate::Kernel;
use crate::arch::Arch;
use crate::cap::Cap;

/// Something that should always hold does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Violation {
    /// What should hold.
    pub rule: &'static str,
    /// The kernel's address of the object that it does not hold for; for queues and cores their number.
    pub object: usize,
}

impl fmt::Display for Violation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, object } = self;
        write!(
            out,
            "it should always hold that {rule}, but not for {object:#x}"
        )
    }
}

/// What comes of a check.
pub type Check = Result<(), Violation>;

/// How far a check looks along lists; what lies further is taken to be in order.
#[derive(Clone, Copy, Debug)]
pub struct Reach {
    /// Members of a queue, or calls of a call stack.
    pub members: usize,
    /// Replenishments of a scheduling context.
    pub refills: usize,
}

impl Reach {
    /// To the end.
    pub const WHOLE: Self = Self {
        members: usize::MAX,
        refills: usize::MAX,
    };
    /// As far as a kernel can afford at each entry.
    pub const NEAR: Self = Self {
        members: 3,
        refills: 12,
    };
}

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
pub fn check_cap<A: Arch>(kernel: &Kernel<A>, cap: &Cap<A>, reach: Reach) -> Check {
    match *cap {
        Cap::Thread(thread) => check_thread(kernel, thread, reach),
        Cap::SchedContext { object, bits } => check_context(kernel, object, Some(bits), reach),
        Cap::Reply { object, .. } => check_reply(kernel, object, reach),
        Cap::Endpoint(cap) => check_endpoint(kernel, cap.object, reach),
        Cap::Notification(cap) => check_notification(kernel, cap.object, reach),
        Cap::Untyped(cap) => require(
            cap.watermark <= cap.size(),
            cap.address.0,
            "the watermark of untyped memory lies within it",
        ),
        _ => Ok(()),
    }
}
