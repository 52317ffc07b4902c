//! Threads that can run now: one first-come-first-served queue per domain, criticality and priority.
//!
//! Each thread keeps the time since which it is ready. It gives the order among threads of one priority and
//! different criticalities, and the order between these and due threads in the release queues. A thread that
//! is put at the front of its queue comes before all of them.
//!
//! Threads without criticality are found as fast as if there were no others: the bitmap of their priorities
//! has a mark above all priorities for each other criticality at which a thread is ready. Only if there is a
//! mark are other queues searched.

use core::cmp::Reverse;
use core::mem::offset_of;

use abi::config::DOMAINS;
use abi::{CRITICALITIES, PRIORITIES};

use super::criticality::{band, queue_position};
use crate::arch::Arch;
use crate::collections::{Linked, PriorityBitmap, Ring};
use crate::object::Thread;
use crate::time::Ticks;
use crate::token::{Objects, Ptr};

/// The ready queues of a core. All operations take constant time.
pub struct ReadyQueues<A: Arch> {
    domains: [[Queues<A>; CRITICALITIES]; DOMAINS],
}

/// The queues of one domain and criticality.
#[repr(C)]
struct Queues<A: Arch> {
    /// The priorities with ready threads. At criticality 0 also a mark for each other criticality with some.
    occupied: PriorityBitmap,
    queues: [Ring<Thread<A>>; PRIORITIES],
}

impl<A: Arch> ReadyQueues<A> {
    /// Offset of the bitmap of priorities at which a thread of the first domain is ready, with the marks for
    /// other criticalities.
    pub const OCCUPIED: usize = offset_of!(Self, domains) + offset_of!(Queues<A>, occupied);

    /// Makes empty queues, one criticality after the other.
    ///
    /// # Safety
    /// `place` can be written to.
    pub unsafe fn make_at(place: *mut Self) {
        for domain in 0..DOMAINS {
            for criticality in 0..CRITICALITIES {
                // SAFETY: the caller's promise, for a part of it.
                unsafe {
                    (&raw mut (*place).domains[domain][criticality]).write(Queues {
                        occupied: PriorityBitmap::EMPTY,
                        queues: [Ring::EMPTY; PRIORITIES],
                    });
                }
            }
        }
    }

    /// Puts a thread before all others, by time 0 as its key: no thread joins the end of a queue then, as boot
    /// takes longer.
    pub fn push_front(&mut self, objects: &mut Objects, thread: Ptr<Thread<A>>) {
        objects[thread].links_mut().set_key(Ticks::ZERO.0);
        self.queue_for(objects, thread).push_front(objects, thread);
    }

    pub fn push_back(&mut self, objects: &mut Objects, thread: Ptr<Thread<A>>, now: Ticks) {
        objects[thread].links_mut().set_key(now.0);
        self.queue_for(objects, thread).push_back(objects, thread);
    }

    /// The queue that a thread is about to join.
    #[inline(always)]
    fn queue_for(&mut self, objects: &Objects, thread: Ptr<Thread<A>>) -> &mut Ring<Thread<A>> {
        let (domain, criticality, priority) = queue_position(objects, thread);
        let queues = &mut self.domains[domain];
        if criticality > 0 {
            return critical_queue_for(queues, criticality, priority);
        }
        queues[0].occupied.insert(priority);
        &mut queues[0].queues[priority as usize]
    }

    /// A thread of the given priority without criticality joins the end of its queue, the first of which leaves.
    #[inline(always)]
    pub fn rotate_in(
        &mut self,
        objects: &mut Objects,
        (domain, priority): (u8, u8),
        thread: Ptr<Thread<A>>,
        now: Ticks,
    ) {
        objects[thread].links_mut().set_key(now.0);
        let queue = &mut self.domains[domain as usize][0].queues[priority as usize];
        queue.rotate_in(objects, thread);
    }

    pub fn remove(&mut self, objects: &mut Objects, thread: Ptr<Thread<A>>) {
        let (domain, criticality, priority) = queue_position(objects, thread);
        let queues = &mut self.domains[domain];
        if criticality > 0 {
            return remove_critical(queues, objects, thread);
        }
        let queue = &mut queues[0].queues[priority as usize];
        queue.remove(objects, thread);
        if queue.is_empty() {
            queues[0].occupied.remove(priority);
        }
    }

    /// The highest rank that is ready in a domain, if no thread with a criticality is ready; otherwise more
    /// than any priority.
    #[inline(always)]
    pub fn hint(&self, domain: u8) -> Option<u16> {
        self.domains[domain as usize][0].occupied.highest()
    }

    /// The highest rank that is ready in a domain, at a criticality level.
    #[inline(always)]
    pub fn highest_rank(&self, domain: u8, level: u8) -> Option<u16> {
        let hint = self.hint(domain)?;
        if usize::from(hint) < PRIORITIES {
            return Some(hint);
        }
        self.highest_of_all(domain, level)
    }

    #[cold]
    fn highest_of_all(&self, domain: u8, level: u8) -> Option<u16> {
        let ranks = self.domains[domain as usize].iter().zip(0..);
        ranks
            .filter_map(|(queues, criticality)| {
                let priority = queues.occupied.highest_priority()?;
                Some(band(criticality, level) + u16::from(priority))
            })
            .max()
    }

    /// The threads of one domain, criticality and priority.
    #[cfg(any(test, feature = "invariants"))]
    #[inline(always)]
    pub fn ring(&self, domain: u8, criticality: u8, priority: u8) -> Ring<Thread<A>> {
        self.domains[domain as usize][criticality as usize].queues[priority as usize]
    }

    /// Whether the bitmap and the marks show that a thread is ready there.
    #[cfg(any(test, feature = "invariants"))]
    #[inline(always)]
    pub fn is_occupied(&self, domain: u8, criticality: u8, priority: u8) -> bool {
        let queues = &self.domains[domain as usize];
        let marked = criticality == 0 || queues[0].occupied.is_marked(criticality.into());
        queues[criticality as usize].occupied.contains(priority) && marked
    }

    /// The first thread of one domain and rank, at a criticality level.
    #[inline(always)]
    pub fn first(
        &self,
        objects: &Objects,
        domain: u8,
        rank: u16,
        level: u8,
    ) -> Option<Ptr<Thread<A>>> {
        let normal = &self.domains[domain as usize][0];
        if normal.occupied.has_marks() {
            return self.first_of_all(objects, domain, rank, level);
        }
        normal.queues[usize::from(rank) % PRIORITIES].first()
    }

    /// The first thread of one domain and priority, or the inner `None`. The outer `None` means that a thread
    /// with a criticality may come first.
    #[inline(always)]
    pub fn first_normal(&self, domain: u8, priority: u8) -> Option<Option<Ptr<Thread<A>>>> {
        let normal = &self.domains[domain as usize][0];
        (!normal.occupied.has_marks()).then(|| normal.queues[priority as usize].first())
    }

    #[cold]
    fn first_of_all(
        &self,
        objects: &Objects,
        domain: u8,
        rank: u16,
        level: u8,
    ) -> Option<Ptr<Thread<A>>> {
        let priority = usize::from(rank) % PRIORITIES;
        let here = usize::from(rank) - priority;
        let all = self.domains[domain as usize].iter().zip(0..);
        // Among threads that are ready since the same time, or were put in front, the one with the highest
        // criticality.
        all.filter(|(_, criticality)| usize::from(band(*criticality, level)) == here)
            .filter_map(|(queues, criticality)| {
                let first = queues.queues[priority].first()?;
                Some((objects[first].links().key(), Reverse(criticality), first))
            })
            .min_by_key(|(since, criticality, _)| (*since, *criticality))
            .map(|(_, _, first)| first)
    }
}

/// The queue that a thread with a criticality is about to join.
#[cold]
fn critical_queue_for<A: Arch>(
    queues: &mut [Queues<A>; CRITICALITIES],
    criticality: usize,
    priority: u8,
) -> &mut Ring<Thread<A>> {
    queues[criticality].occupied.insert(priority);
    queues[0].occupied.mark(criticality);
    &mut queues[criticality].queues[priority as usize]
}

#[cold]
fn remove_critical<A: Arch>(
    queues: &mut [Queues<A>; CRITICALITIES],
    objects: &mut Objects,
    thread: Ptr<Thread<A>>,
) {
    let (_, criticality, priority) = queue_position(objects, thread);
    let here = &mut queues[criticality];
    let queue = &mut here.queues[priority as usize];
    queue.remove(objects, thread);
    if queue.is_empty() {
        here.occupied.remove(priority);
        if here.occupied.highest().is_none() {
            queues[0].occupied.unmark(criticality);
        }
    }
}
