//! The peer of a benchmark: a thread in the same address space, or the partner's first thread.
//!
//! Both perform a role, a function that receives the same objects under the same names; so a benchmark has
//! the same code for both. The partner reads its role from the shared page: it runs the same program at the
//! same addresses.

use crate::measure::{Counter, ROUNDS, Stamps};
use crate::protocol::names;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use userlib::cap::{Endpoint, Notification, Reply};
use userlib::{Result, Startup};

/// The address space of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// That of the benchmark.
    Same,
    /// That of the partner.
    Other,
}

impl Place {
    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Other => "other",
        }
    }
}

/// The objects of a peer.
#[derive(Clone, Copy)]
pub struct Peer {
    /// A shared endpoint.
    pub endpoint: Endpoint,
    /// A shared notification.
    pub notification: Notification,
    /// A second shared notification.
    pub back: Notification,
    /// A reply object.
    pub reply: Reply,
    /// A shared page.
    pub shared: Shared,
    /// The counter of instructions or cycles.
    pub counter: Counter,
}

impl Peer {
    pub(crate) fn new(startup: &'static Startup) -> Self {
        Self {
            endpoint: startup.capability(names::ENDPOINT),
            notification: startup.capability(names::NOTIFICATION),
            back: startup.capability(names::BACK),
            reply: startup.capability(names::REPLY),
            shared: Shared(startup.shared(names::SHARED)),
            counter: Counter::new(startup),
        }
    }
}

/// Performs the role that the benchmark chose.
pub(crate) fn stand_by(startup: &'static Startup) -> Result {
    let peer = Peer::new(startup);
    (peer.shared.role())(&peer);
    Ok(())
}

/// The shared page: the partner's role, its arguments, and two stamps for each round.
#[derive(Clone, Copy)]
pub struct Shared(&'static [AtomicUsize]);

impl Shared {
    const ROLE: usize = 0;
    const ARGUMENTS: usize = 1;
    const LOG: usize = 16;

    pub(crate) fn set_role(self, role: fn(&Peer)) {
        self.0[Self::ROLE].store(role as *const () as usize, Relaxed);
    }

    fn role(self) -> fn(&Peer) {
        let address = self.0[Self::ROLE].load(Relaxed);
        // SAFETY: `set_role` stored it, and both components are the same program at the same addresses.
        unsafe { core::mem::transmute::<usize, fn(&Peer)>(address) }
    }

    /// Sets an argument of the role.
    pub fn set_argument(self, index: usize, value: usize) {
        self.0[Self::ARGUMENTS + index].store(value, Relaxed);
    }

    /// An argument of the role.
    pub fn argument(self, index: usize) -> usize {
        self.0[Self::ARGUMENTS + index].load(Relaxed)
    }

    /// The location of an argument.
    pub fn argument_place(self, index: usize) -> &'static AtomicUsize {
        &self.0[Self::ARGUMENTS + index]
    }

    /// Records the stamps of a round, if there is space left.
    pub fn log(self, round: usize, stamps: Stamps) {
        if round <= ROUNDS {
            let place = Self::LOG + 2 * round;
            self.0[place].store(stamps.before, Relaxed);
            self.0[place + 1].store(stamps.after, Relaxed);
        }
    }

    /// The stamps of a round.
    pub fn stamps(self, round: usize) -> Stamps {
        let place = Self::LOG + 2 * round;
        Stamps {
            before: self.0[place].load(Relaxed),
            after: self.0[place + 1].load(Relaxed),
        }
    }
}
