//! Threads that wait for their next replenishment, or whose replenishment is due and whose turn it is
//! not yet.
//!
//! Nobody is moved when a moment comes. A thread stays here until the processor turns to its priority,
//! and is then taken directly; so any number of replenishments that are due at one moment cost those
//! who are more urgent nothing, and each is paid for when it is used. For each domain and priority
//! there is a queue ordered by time, and a tournament among the priorities tells the two things that
//! matter: the next release that would preempt, and the most urgent thread that is due.

use abi::PRIORITIES;
use abi::config::DOMAINS;

use crate::arch::Arch;
use crate::collections::{Heap, Linked, Tournament};
use crate::object::Thread;
use crate::time::Ticks;
use crate::token::{Objects, Ptr};

/// The release queues of a core. An operation takes as many steps as the logarithm of the number of
/// threads of the same priority and as a priority has bits.
pub struct ReleaseQueues<A: Arch> {
    domains: [DomainQueues<A>; DOMAINS],
    /// Who comes next comes behind those of the same moment.
    turn: u32,
}

struct DomainQueues<A: Arch> {
    queues: [Heap<Thread<A>>; PRIORITIES],
    first: Tournament,
}

impl<A: Arch> ReleaseQueues<A> {
    pub const fn new() -> Self {
        Self {
            domains: [const {
                DomainQueues {
                    queues: [Heap::EMPTY; PRIORITIES],
                    first: Tournament::new(),
                }
            }; DOMAINS],
            turn: 0,
        }
    }

    pub fn insert(&mut self, objects: &mut Objects, thread: Ptr<Thread<A>>, time: Ticks) {
        let (domain, priority) = place(objects, thread);
        let domain = &mut self.domains[domain];
        let queue = &mut domain.queues[usize::from(priority)];
        queue.insert(objects, thread, time.0, self.turn);
        self.turn = self.turn.wrapping_add(1);
        if queue.first() == Some(thread) {
            domain.first.set(priority, time);
        }
    }

    pub fn remove(&mut self, objects: &mut Objects, thread: Ptr<Thread<A>>) {
        let (domain, priority) = place(objects, thread);
        let domain = &mut self.domains[domain];
        let queue = &mut domain.queues[usize::from(priority)];
        let was_first = queue.first() == Some(thread);
        queue.remove(objects, thread);
        if was_first {
            let next = queue.first();
            let time = next.map_or(Ticks::NEVER, |next| Ticks(objects[next].links().key()));
            domain.first.set(priority, time);
        }
    }

    /// Whether anybody, of any domain, waits for a moment that comes.
    pub fn is_awaited(&self) -> bool {
        let first = |domain: &DomainQueues<A>| domain.first.earliest();
        self.domains
            .iter()
            .any(|domain| first(domain) < Ticks::NEVER)
    }

    /// The first release in a domain.
    pub fn earliest(&self, domain: u8) -> Ticks {
        self.domains[usize::from(domain)].first.earliest()
    }

    /// The first release in a domain at priority `lowest` or above, and at which priority.
    pub fn earliest_from(&self, domain: u8, lowest: u16) -> Option<(u8, Ticks)> {
        self.domains[usize::from(domain)]
            .first
            .earliest_from(lowest)
    }

    /// The most urgent priority of a domain at which somebody's moment has come, and that moment.
    pub fn most_urgent_due(&self, domain: u8, now: Ticks) -> Option<(u8, Ticks)> {
        self.domains[usize::from(domain)].first.most_urgent_due(now)
    }

    /// The thread that is released first of those of one domain and priority.
    pub fn first(&self, domain: u8, priority: u8) -> Option<Ptr<Thread<A>>> {
        self.queue(domain, priority).first()
    }

    /// The threads of one domain and priority.
    pub const fn queue(&self, domain: u8, priority: u8) -> Heap<Thread<A>> {
        self.domains[domain as usize].queues[priority as usize]
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
