//! Threads that wait for their next replenishment, or have it already but have not been picked yet.
//!
//! No thread is moved at the time of its release. It stays here until the scheduler picks its rank, and is
//! then taken directly. So any number of replenishments that are due at the same time cost higher-priority
//! threads nothing: each is handled when it is used. Each domain, criticality and priority has a queue
//! ordered by time. For each criticality, a tournament tree over the priorities gives the next release that
//! would preempt and the highest-priority thread that is due.

use core::cmp::Reverse;

use abi::config::DOMAINS;
use abi::{CRITICALITIES, PRIORITIES};

use super::criticality::{band, queue_position};
use crate::arch::Arch;
use crate::collections::{Heap, Linked, Tournament};
use crate::object::Thread;
use crate::time::Ticks;
use crate::token::{Objects, Ptr};

/// The release queues of a core. An operation takes as many steps as the logarithm of the number of threads
/// of the same priority, plus the number of bits of a priority; and that for each criticality, if any thread
/// has one.
pub struct ReleaseQueues<A: Arch> {
    domains: [DomainQueues<A>; DOMAINS],
    /// Counter that orders threads with the same release time by insertion.
    arrival: u32,
}

struct DomainQueues<A: Arch> {
    /// The earliest release in this domain.
    earliest: Ticks,
    /// Whether a thread of a criticality above 0 is here.
    has_critical: bool,
    criticalities: [Queues<A>; CRITICALITIES],
}

/// The queues of one domain and criticality.
struct Queues<A: Arch> {
    queues: [Heap<Thread<A>>; PRIORITIES],
    first: Tournament,
}

/// The due threads of one rank.
pub struct Due<A: Arch> {
    /// Their rank.
    pub rank: u16,
    /// The earliest release time among them.
    pub instant: Ticks,
    /// The thread with that time.
    pub thread: Option<Ptr<Thread<A>>>,
}

impl<A: Arch> Queues<A> {
    /// The due threads of the highest rank; `band` is added to priorities.
    #[inline(always)]
    fn highest_priority_due(&self, now: Ticks, band: u16) -> Option<Due<A>> {
        let (priority, instant) = self.first.highest_priority_due(now)?;
        Some(Due {
            rank: band + u16::from(priority),
            instant,
            thread: self.queues[usize::from(priority)].first(),
        })
    }

    /// The earliest release at rank `lowest` or above.
    #[inline(always)]
    fn earliest_from(&self, lowest: u16, band: u16) -> Option<(u16, Ticks)> {
        let found = self.first.earliest_from(lowest.saturating_sub(band));
        found.map(|(priority, instant)| (band + u16::from(priority), instant))
    }
}

impl<A: Arch> DomainQueues<A> {
    /// The first thread of a queue has changed.
    #[inline(always)]
    fn update(&mut self, objects: &Objects, criticality: usize, priority: u8) {
        let queues = &mut self.criticalities[criticality];
        let first = queues.queues[usize::from(priority)].first();
        let time = first.map_or(Ticks::NEVER, |first| Ticks(objects[first].links().key()));
        queues.first.set(priority, time);
        self.earliest = self.criticalities[0].first.earliest();
        if criticality > 0 || self.has_critical {
            self.update_critical();
        }
    }

    #[cold]
    fn update_critical(&mut self) {
        let critical = self.criticalities[1..].iter();
        let first = critical.map(|queues| queues.first.earliest()).min();
        let first = first.unwrap_or(Ticks::NEVER);
        self.has_critical = first < Ticks::NEVER;
        self.earliest = self.earliest.min(first);
    }

    #[cold]
    fn earliest_of_all_from(&self, lowest: u16, level: u8) -> Option<(u16, Ticks)> {
        let all = self.criticalities.iter().zip(0..);
        all.filter_map(|(queues, criticality)| {
            queues.earliest_from(lowest, band(criticality, level))
        })
        .min_by_key(|(rank, instant)| (*instant, Reverse(*rank)))
    }

    /// Of several with one rank and time, the one with the highest criticality.
    #[cold]
    fn highest_priority_due_in_all_bands(&self, now: Ticks, level: u8) -> Option<Due<A>> {
        let all = self.criticalities.iter().zip(0..);
        all.filter_map(|(queues, criticality)| {
            queues.highest_priority_due(now, band(criticality, level))
        })
        .max_by_key(|due| (due.rank, Reverse(due.instant)))
    }
}

impl<A: Arch> ReleaseQueues<A> {
    /// Makes empty queues, one criticality after the other.
    ///
    /// # Safety
    /// `place` can be written to.
    pub unsafe fn make_at(place: *mut Self) {
        // SAFETY: the caller's promise, for each part.
        unsafe {
            (&raw mut (*place).arrival).write(0);
            for domain in 0..DOMAINS {
                let domain = &raw mut (*place).domains[domain];
                (&raw mut (*domain).earliest).write(Ticks::NEVER);
                (&raw mut (*domain).has_critical).write(false);
                for criticality in 0..CRITICALITIES {
                    (&raw mut (*domain).criticalities[criticality]).write(Queues {
                        queues: [Heap::EMPTY; PRIORITIES],
                        first: Tournament::new(),
                    });
                }
            }
        }
    }

    pub fn insert(&mut self, objects: &mut Objects, thread: Ptr<Thread<A>>, time: Ticks) {
        let (domain, criticality, priority) = queue_position(objects, thread);
        let domain = &mut self.domains[domain];
        let queue = &mut domain.criticalities[criticality].queues[usize::from(priority)];
        queue.insert(objects, thread, time.0, self.arrival);
        self.arrival = self.arrival.wrapping_add(1);
        if queue.first() == Some(thread) {
            domain.update(objects, criticality, priority);
        }
    }

    #[inline(always)]
    pub fn remove(&mut self, objects: &mut Objects, thread: Ptr<Thread<A>>) {
        let (domain, criticality, priority) = queue_position(objects, thread);
        let domain = &mut self.domains[domain];
        let queue = &mut domain.criticalities[criticality].queues[usize::from(priority)];
        let was_first = queue.first() == Some(thread);
        queue.remove(objects, thread);
        if was_first {
            domain.update(objects, criticality, priority);
        }
    }

    /// Whether any thread of any domain waits for a release.
    pub fn is_awaited(&self) -> bool {
        let mut domains = self.domains.iter();
        domains.any(|domain| domain.earliest < Ticks::NEVER)
    }

    /// The earliest release in a domain.
    #[inline(always)]
    pub fn earliest(&self, domain: u8) -> Ticks {
        self.domains[usize::from(domain)].earliest
    }

    /// The earliest release in a domain at rank `lowest` or above, with its rank, at a criticality level.
    #[inline(always)]
    pub fn earliest_from(&self, domain: u8, lowest: u16, level: u8) -> Option<(u16, Ticks)> {
        let queues = &self.domains[usize::from(domain)];
        if queues.has_critical {
            return queues.earliest_of_all_from(lowest, level);
        }
        queues.criticalities[0].earliest_from(lowest, 0)
    }

    /// The due threads of the highest rank in a domain, at a criticality level.
    #[inline(always)]
    pub fn highest_priority_due(&self, domain: u8, now: Ticks, level: u8) -> Option<Due<A>> {
        let queues = &self.domains[usize::from(domain)];
        if queues.earliest > now {
            return None;
        }
        if queues.has_critical {
            return queues.highest_priority_due_in_all_bands(now, level);
        }
        queues.criticalities[0].highest_priority_due(now, 0)
    }

    /// The threads of one domain, criticality and priority.
    #[cfg(any(test, feature = "invariants"))]
    #[inline(always)]
    pub const fn queue(&self, domain: u8, criticality: u8, priority: u8) -> Heap<Thread<A>> {
        let queues = &self.domains[domain as usize].criticalities[criticality as usize];
        queues.queues[priority as usize]
    }
}
