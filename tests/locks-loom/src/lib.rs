//! The kernel's locks under loom, which repeats a test until it has explored all orders in which
//! cores can run and observe each other's writes.
//!
//! The sources are the kernel's own, `kernel/src/sync/`, and the locks that the benchmarks compare with them,
//! compiled with loom's atomics in place of `atomic.rs`. They are also compiled five times with atomics that are too
//! weak ([`broken`]): these are the negative controls.
#![allow(
    clippy::duplicate_mod,
    reason = "the same locks on sound atomics and on broken ones"
)]

/// The locks of the kernel on other atomics: `$atomics` is a module with the interface of
/// `atomic.rs`.
macro_rules! locks {
    ($atomics:path) => {
        mod atomic {
            pub use $atomics::*;
        }
        #[path = "big_reader.rs"]
        mod big_reader;
        #[path = "../../../benches/component/src/locks/clh.rs"]
        mod clh;
        #[path = "../../../benches/component/src/locks/guarded.rs"]
        mod guarded;
        #[path = "../../../benches/component/src/locks/lock.rs"]
        mod lock;
        #[path = "mailbox.rs"]
        mod mailbox;
        #[path = "../../../benches/component/src/locks/mcs.rs"]
        mod mcs;
        #[path = "ticket.rs"]
        mod ticket;

        pub use big_reader::{BigReaderLock, SHARED, UNLOCKED};
        pub use clh::Clh;
        pub use guarded::{CoreToken, Guarded};
        pub use lock::Lock;
        pub use mailbox::Mailbox;
        pub use mcs::Mcs;

        /// Like the other locks, for a number of cores.
        pub type Ticket<const CORES: usize> = ticket::Ticket;
    };
}

pub mod atomics;

/// The locks.
#[path = "../../../kernel/src/sync"]
pub mod sync {
    locks!(crate::atomics);
}

/// Negative controls: locks on atomics that are too weak.
#[path = "."]
pub mod broken {
    /// The release of a lock does not publish the writes of the critical section.
    #[path = "../../../kernel/src/sync"]
    pub mod without_release {
        locks!(crate::atomics::without_release);
    }
    /// The acquisition of a lock does not make the writes of the last critical section visible.
    #[path = "../../../kernel/src/sync"]
    pub mod without_acquire {
        locks!(crate::atomics::without_acquire);
    }
    /// A store can become visible after later loads.
    #[path = "../../../kernel/src/sync"]
    pub mod without_fence {
        locks!(crate::atomics::without_fence);
    }
    /// Two cores that arrive at the same time can both be first.
    #[path = "../../../kernel/src/sync"]
    pub mod torn {
        locks!(crate::atomics::torn);
    }
    /// No core observes that the lock is free or taken.
    #[path = "../../../kernel/src/sync"]
    pub mod mute {
        locks!(crate::atomics::mute);
    }
}

/// Runs `test` in all orders, with a bounded number of involuntary switches between cores.
pub fn explore(test: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = std::env::var("LOOM_MAX_PREEMPTIONS")
        .ok()
        .and_then(|bound| bound.parse().ok())
        .or(Some(3));
    model.max_branches = 10_000;
    model.check(test);
}
