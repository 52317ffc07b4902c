//! The kernel's locks under loom, which runs a test again and again until it has tried all orders in
//! which cores can act and see each other's writes.
//!
//! The sources are the kernel's own, `kernel/src/sync/`, compiled once more with loom's atomics in the
//! place of `atomic.rs`. And four times more with atomics that do too little ([`broken`]): tests must
//! find those out.
#![allow(
    clippy::duplicate_mod,
    reason = "the same locks on sound atomics and on broken ones"
)]

/// The locks of the kernel on other atomics: `$atomics` is a module with what `atomic.rs` has.
macro_rules! locks {
    ($atomics:path) => {
        mod atomic {
            pub use $atomics::*;
        }
        #[path = "clh.rs"]
        mod clh;
        #[path = "guarded.rs"]
        mod guarded;
        #[path = "lock.rs"]
        mod lock;
        #[path = "mailbox.rs"]
        mod mailbox;
        #[path = "mcs.rs"]
        mod mcs;
        #[path = "ticket.rs"]
        mod ticket;
        #[path = "world.rs"]
        mod world;

        pub use clh::Clh;
        pub use guarded::{CoreToken, Guarded};
        pub use lock::Lock;
        pub use mailbox::Mailbox;
        pub use mcs::Mcs;
        pub use ticket::Ticket;
        pub use world::World;

        /// The lock of the world.
        pub type KernelLock<const CORES: usize> = Ticket<CORES>;
    };
}

pub mod atomics;

/// The locks.
#[path = "../../../kernel/src/sync"]
pub mod sync {
    locks!(crate::atomics);
}

/// Locks that are broken, as their atomics do too little.
#[path = "."]
pub mod broken {
    /// Whoever lets go of a lock does not tell what it has done under it.
    #[path = "../../../kernel/src/sync"]
    pub mod without_release {
        locks!(crate::atomics::without_release);
    }
    /// Whoever gets a lock does not look at what was done under it.
    #[path = "../../../kernel/src/sync"]
    pub mod without_acquire {
        locks!(crate::atomics::without_acquire);
    }
    /// What is written can come after what is read behind it.
    #[path = "../../../kernel/src/sync"]
    pub mod without_fence {
        locks!(crate::atomics::without_fence);
    }
    /// Two who come at the same time can both be told that they were first.
    #[path = "../../../kernel/src/sync"]
    pub mod torn {
        locks!(crate::atomics::torn);
    }
    /// Nobody is told that the lock is free, or taken.
    #[path = "../../../kernel/src/sync"]
    pub mod mute {
        locks!(crate::atomics::mute);
    }
}

/// Runs `test` in all orders, with at most so many switches between cores that none forced.
pub fn explore(test: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = std::env::var("LOOM_MAX_PREEMPTIONS")
        .ok()
        .and_then(|bound| bound.parse().ok())
        .or(Some(3));
    model.max_branches = 10_000;
    model.check(test);
}
