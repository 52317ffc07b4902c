//! Threads that could run now: one first-come-first-served queue per domain and priority.
//!
//! Each thread keeps the moment since which it is ready, so that those who are due in the release
//! queues take their turn among those who stand here. Who is put in front has precedence over all of
//! them.

use core::mem::offset_of;

use abi::PRIORITIES;
use abi::config::DOMAINS;

use crate::arch::Arch;
use crate::collections::{Linked, PriorityBitmap, Ring};
use crate::object::Thread;
use crate::time::Ticks;
use crate::token::{Objects, Ptr};

/// The ready queues of a core. All operations take constant time.
pub struct ReadyQueues<A: Arch> {
    domains: [DomainQueues<A>; DOMAINS],
}

#[repr(C)]
struct DomainQueues<A: Arch> {
    occupied: PriorityBitmap,
    queues: [Ring<Thread<A>>; PRIORITIES],
}

impl<A: Arch> ReadyQueues<A> {
    /// Offset of the set of priorities at which somebody of the first domain is ready.
    pub const OCCUPIED: usize = offset_of!(Self, domains) + offset_of!(DomainQueues<A>, occupied);

    pub const fn new() -> Self {
        Self {
            domains: [const {
                DomainQueues {
                    occupied: PriorityBitmap::EMPTY,
                    queues: [Ring::EMPTY; PRIORITIES],
                }
            }; DOMAINS],
        }
    }

    pub fn push_front(&mut self, objects: &mut Objects, thread: Ptr<Thread<A>>) {
        let (domain, priority) = place(objects, thread);
        let queues = &mut self.domains[domain];
        objects[thread].links_mut().set_key(Ticks::ZERO.0);
        queues.queues[priority as usize].push_front(objects, thread);
        queues.occupied.insert(priority);
    }

    pub fn push_back(&mut self, objects: &mut Objects, thread: Ptr<Thread<A>>, now: Ticks) {
        let (domain, priority) = place(objects, thread);
        let queues = &mut self.domains[domain];
        objects[thread].links_mut().set_key(now.0);
        queues.queues[priority as usize].push_back(objects, thread);
        queues.occupied.insert(priority);
    }

    pub fn remove(&mut self, objects: &mut Objects, thread: Ptr<Thread<A>>) {
        let (domain, priority) = place(objects, thread);
        let queues = &mut self.domains[domain];
        let queue = &mut queues.queues[priority as usize];
        queue.remove(objects, thread);
        if queue.is_empty() {
            queues.occupied.remove(priority);
        }
    }

    /// The most urgent priority at which somebody of a domain is ready.
    pub fn highest_priority(&self, domain: u8) -> Option<u8> {
        self.domains[domain as usize].occupied.highest()
    }

    /// The threads of one domain and priority.
    #[cfg(any(test, feature = "invariants"))]
    pub fn ring(&self, domain: u8, priority: u8) -> Ring<Thread<A>> {
        self.domains[domain as usize].queues[priority as usize]
    }

    /// Whether somebody of a domain is ready at a priority, as the bitmap says.
    #[cfg(any(test, feature = "invariants"))]
    pub fn is_occupied(&self, domain: u8, priority: u8) -> bool {
        self.domains[domain as usize].occupied.contains(priority)
    }

    /// The thread that is next of those of one domain and priority.
    pub fn first(&self, domain: u8, priority: u8) -> Option<Ptr<Thread<A>>> {
        self.domains[domain as usize].queues[priority as usize].first()
    }
}

#[inline(always)]
fn place<A: Arch>(objects: &Objects, thread: Ptr<Thread<A>>) -> (usize, u8) {
    let domain = if DOMAINS == 1 {
        0
    } else {
        usize::from(objects[thread].domain)
    };
    (domain, objects[thread].priority)
}
