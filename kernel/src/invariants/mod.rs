//! The invariants that hold between kernel entries, for tests on the host, the simulator and debug kernels.
//!
//! Each check reads one object and the objects that it points to; it allocates no memory and changes nothing.
//! Nearly all of the kernel's data structures are linked in both directions, so a structure as a whole is
//! consistent if each object agrees with its neighbours. [`check_core`] starts from the state of a core,
//! [`check_cap`] from a capability. Tests on the host can enumerate all capabilities and check every object.
//! The kernel itself, if built with these checks, checks after each entry the objects that the entry
//! concerned, and one more (module `entry`).

/// Requires rules in their order: `$require` takes whether a rule holds, and the rule.
macro_rules! rules {
    ($require:ident; $($rule:literal: $holds:expr;)+) => {
        $($require($holds, $rule)?;)+
    };
}

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

/// A violated invariant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The invariant.
    pub rule: &'static str,
    /// The kernel address of the object that violates it; for queues and cores their number.
    pub object: usize,
}

impl fmt::Display for Violation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, object } = self;
        write!(out, "invariant violated by {object:#x}: {rule}")
    }
}

/// Result of a check.
pub type Check = Result<(), Violation>;

/// How far a check follows lists; entries beyond that are not checked.
#[derive(Clone, Copy, Debug)]
pub struct Reach {
    /// Members of a queue, or calls of a call chain.
    pub members: usize,
    /// Replenishments of a scheduling context.
    pub refills: usize,
}

impl Reach {
    /// Without a limit.
    pub const WHOLE: Self = Self {
        members: usize::MAX,
        refills: usize::MAX,
    };
    /// Short enough for a check at each kernel entry.
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

/// Checks the object of a capability.
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
