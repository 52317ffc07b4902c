//! Finds all objects by following capabilities, and checks them.
//!
//! [`kernel::invariants`] has the rules for single objects. This module checks the global rules:
//! every capability lies in an existing container, capabilities to one object are neighbours in the
//! derivation tree, and descendants of untyped memory follow it there.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use abi::sizes::SLOT_BITS;
use foldhash::fast::RandomState;
use kernel::Kernel;
use kernel::cap::{Cap, RawCap, Slot, Zombie};
use kernel::invariants::{Reach, Violation, check_cap, check_core, check_slot};
use kernel::object::{THREAD_SLOTS, ThreadSlot, thread_slot};
use kernel::token::Ptr;

use crate::arch::Host;

type Place = Ptr<Slot<Host>>;

/// The slots and containers found so far.
#[derive(Default)]
struct Census {
    /// Address ranges in which slots may lie, by start address.
    containers: HashMap<usize, Range<usize>, RandomState>,
    /// Every slot that is not empty.
    slots: HashSet<usize, RandomState>,
    waiting: Vec<Place>,
}

/// Checks everything that is reachable from the capabilities in `roots`, from interrupt lines and
/// from the scheduler.
///
/// # Errors
/// The first violation found.
pub fn check(kernel: &Kernel<Host>, roots: &[Cap<Host>]) -> Result<(), Violation> {
    check_core(kernel)?;
    let mut census = Census::default();
    for root in roots {
        census.enter(kernel, root);
    }
    for line in kernel.irqs.iter() {
        census.note(kernel, position_of(&line.notification));
    }
    while let Some(place) = census.waiting.pop() {
        let slot = &kernel[place];
        check_slot(kernel, place)?;
        check_cap(kernel, &slot.cap(), Reach::WHOLE)?;
        census.enter(kernel, &slot.cap());
        for neighbour in [slot.previous(), slot.next()].into_iter().flatten() {
            census.note(kernel, neighbour);
        }
    }
    census.check_containers(kernel)?;
    census.check_memory(kernel)?;
    census.check_families(kernel)
}

/// Every capability that is reachable from those in `roots`, sorted by the address of its slot.
pub fn capabilities(kernel: &Kernel<Host>, roots: &[Cap<Host>]) -> Vec<(usize, RawCap)> {
    let mut census = Census::default();
    for root in roots {
        census.enter(kernel, root);
    }
    let mut found = Vec::new();
    while let Some(place) = census.waiting.pop() {
        let slot = &kernel[place];
        found.push((place.address(), slot.raw()));
        census.enter(kernel, &slot.cap());
        for neighbour in [slot.previous(), slot.next()].into_iter().flatten() {
            census.note(kernel, neighbour);
        }
    }
    found.sort_unstable_by_key(|(place, _)| *place);
    found
}

fn position_of(slot: &Slot<Host>) -> Place {
    // SAFETY: a slot of a kernel that is not freed; the pointer is only used to read through the
    // kernel.
    unsafe { Ptr::new(std::ptr::NonNull::from(slot)) }
}

fn require(holds: bool, object: usize, rule: &'static str) -> Result<(), Violation> {
    if holds {
        Ok(())
    } else {
        Err(Violation { rule, object })
    }
}

impl Census {
    /// Records a slot, unless it is empty.
    fn note(&mut self, kernel: &Kernel<Host>, place: Place) {
        if !kernel[place].is_empty() && self.slots.insert(place.address()) {
            self.waiting.push(place);
        }
    }

    /// Records the slots of the object to which a capability refers.
    fn enter(&mut self, kernel: &Kernel<Host>, cap: &Cap<Host>) {
        let (first, count) = match cap {
            Cap::CNode(cnode) => (cnode.slots, cnode.slot_count()),
            Cap::Thread(thread) => (thread_slot(*thread, ThreadSlot::CSpace), THREAD_SLOTS),
            // The other slots are empty.
            Cap::Zombie(Zombie::Slots(slots)) => (slots.first, slots.remaining),
            _ => return,
        };
        let range = first.address()..first.address() + (count << SLOT_BITS);
        if self.containers.insert(range.start, range.clone()).is_some() {
            return;
        }
        for address in range.step_by(1 << SLOT_BITS) {
            // SAFETY: the slots of a container that a capability refers to.
            if let Some(place) = unsafe { Ptr::from_address(address) } {
                self.note(kernel, place);
            }
        }
    }

    /// Every capability lies in an existing container, or at an interrupt line.
    fn check_containers(&self, kernel: &Kernel<Host>) -> Result<(), Violation> {
        let lines = kernel.irqs.as_ptr_range();
        let lines = lines.start as usize..lines.end as usize;
        let mut ranges: Vec<_> = self.containers.values().collect();
        ranges.sort_unstable_by_key(|range| range.start);
        for slot in &self.slots {
            let before = ranges.partition_point(|range| range.start <= *slot);
            let inside = before > 0 && ranges[before - 1].contains(slot);
            require(
                inside || lines.contains(slot),
                *slot,
                "a capability lies in a CNode or thread that exists",
            )?;
        }
        Ok(())
    }

    /// Memory has one type at a time: two capabilities to the same memory refer to the same object,
    /// or one of them refers to the untyped memory from which the other object was made.
    fn check_memory(&self, kernel: &Kernel<Host>) -> Result<(), Violation> {
        // SAFETY: the addresses of slots.
        let places = self
            .slots
            .iter()
            .filter_map(|slot| unsafe { Ptr::<Slot<Host>>::from_address(*slot) });
        let mut extents: Vec<(Range<usize>, Cap<Host>)> = places
            .filter_map(|place| {
                let cap = kernel[place].cap();
                Some((extent(&cap)?, cap))
            })
            .collect();
        // Outer ranges first; of equal ranges, untyped memory first.
        extents.sort_by_key(|(range, cap)| {
            (
                range.start,
                usize::MAX - range.end,
                !matches!(cap, Cap::Untyped(_)),
            )
        });
        let mut around: Vec<(Range<usize>, Cap<Host>)> = Vec::new();
        for (range, cap) in extents {
            while around
                .last()
                .is_some_and(|(outer, _)| outer.end <= range.start)
            {
                around.pop();
            }
            let fits = around.last().is_none_or(|(outer, owner)| {
                let contains = range.end <= outer.end;
                owner.same_object(&cap) || contains && matches!(owner, Cap::Untyped(_))
            });
            require(fits, range.start, "memory has one type at a time")?;
            around.push((range, cap));
        }
        Ok(())
    }

    /// Checks each derivation list from its first entry: related entries must be adjacent.
    fn check_families(&self, kernel: &Kernel<Host>) -> Result<(), Violation> {
        let mut entries = 0;
        let mut ended = HashSet::default();
        for first in &self.slots {
            // SAFETY: the address of a slot.
            let Some(first) = (unsafe { Ptr::<Slot<Host>>::from_address(*first) }) else {
                continue;
            };
            if kernel[first].previous().is_some() {
                continue;
            }
            entries += check_family(kernel, first, &mut ended)?;
        }
        require(
            entries == self.slots.len(),
            0,
            "every entry of the derivation tree is reached from a first one",
        )
    }
}

/// Walks one list and returns its length. `ended` has the objects that already had a finished run of
/// entries in some list.
fn check_family(
    kernel: &Kernel<Host>,
    first: Place,
    ended: &mut HashSet<(u8, usize)>,
) -> Result<usize, Violation> {
    let (mut count, mut next) = (0, Some(first));
    let mut object = None;
    // Untyped regions around the current entry, the innermost last, and those already left behind.
    let (mut around, mut behind): (Vec<Range<usize>>, Vec<Range<usize>>) = (Vec::new(), Vec::new());
    while let Some(place) = next {
        let slot = &kernel[place];
        let cap = slot.cap();
        let here = identity(&cap);
        if object != here {
            ended.extend(object);
            object = here;
        }
        require(
            here.is_none_or(|here| !ended.contains(&here)),
            place.address(),
            "capabilities to one object are neighbours in the derivation tree",
        )?;
        if let Some(memory) = extent(&cap) {
            while let Some(outer) = around.last()
                && !(outer.start <= memory.start && memory.end <= outer.end)
            {
                behind.extend(around.pop());
            }
            require(
                !behind
                    .iter()
                    .any(|outer| outer.start <= memory.start && memory.end <= outer.end),
                place.address(),
                "what was made from untyped memory follows it in the derivation tree",
            )?;
            if matches!(cap, Cap::Untyped(_)) {
                around.push(memory);
            }
        }
        count += 1;
        next = slot.next();
    }
    ended.extend(object);
    Ok(count)
}

/// The object of a capability, as its kind and address, if there is one.
fn identity(cap: &Cap<Host>) -> Option<(u8, usize)> {
    let kind = cap.encode().tag();
    let address = match cap {
        Cap::Endpoint(cap) => cap.object.address(),
        Cap::Notification(cap) => cap.object.address(),
        Cap::Reply { object, .. } => object.address(),
        Cap::CNode(cnode) => cnode.slots.address(),
        Cap::Thread(thread) => thread.address(),
        Cap::SchedContext { object, .. } => object.address(),
        Cap::Zombie(Zombie::Slots(slots)) => slots.first.address(),
        Cap::Zombie(Zombie::Endpoint(endpoint)) => endpoint.address(),
        Cap::Zombie(Zombie::Notification(notification)) => notification.address(),
        Cap::IrqHandler(irq) => irq.0,
        _ => return None,
    };
    Some((kind, address))
}

/// The memory of the object to which a capability refers.
fn extent(cap: &Cap<Host>) -> Option<Range<usize>> {
    let (start, bits) = cap.memory()?;
    Some(start.0..start.0 + (1 << bits))
}
