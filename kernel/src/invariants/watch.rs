//! What a kernel that checks itself remembers for it: the slots that this entry has changed, and how
//! far its round through all objects has come.
//!
//! The round goes through the slots of a CNode in order, beginning with that of some thread that runs,
//! and into CNodes that it finds there. It needs no memory of its own but a few places, which are
//! given up when their CNode is deleted. So whatever somebody can reach gets its turn.

use crate::Kernel;
use crate::arch::Arch;
use crate::cap::{CNode, Cap, Slot};
use crate::object::ThreadSlot;
use crate::token::Ptr;

/// How many changed slots are remembered: as many as the last steps of any operation change.
const CHANGES: usize = 6;
/// How deep the round goes into CNodes within CNodes.
const LEVELS: usize = 4;
/// How many empty slots the round passes at once.
const STEPS: usize = 16;

/// What a kernel that checks itself remembers.
pub struct Watch<A: Arch> {
    changed: [Option<Ptr<Slot<A>>>; CHANGES],
    next_change: usize,
    places: [Option<Place<A>>; LEVELS],
    /// Counts kernel entries.
    pub(super) round: usize,
    /// Counts the fast paths that were taken.
    pub fast_paths: usize,
}

/// A CNode that the round is in, and the index of the next slot.
struct Place<A: Arch> {
    cnode: CNode<A>,
    next: usize,
}

impl<A: Arch> Watch<A> {
    /// Nothing has happened yet.
    pub const fn new() -> Self {
        Self {
            changed: [None; CHANGES],
            next_change: 0,
            places: [const { None }; LEVELS],
            round: 0,
            fast_paths: 0,
        }
    }

    /// The slots that changed last, which are forgotten.
    pub(super) fn take_changes(&mut self) -> impl Iterator<Item = Ptr<Slot<A>>> + use<A> {
        core::mem::replace(&mut self.changed, [None; CHANGES])
            .into_iter()
            .flatten()
    }
}

impl<A: Arch> Default for Watch<A> {
    fn default() -> Self {
        Self::new()
    }
}

impl<A: Arch> Kernel<A> {
    /// A slot changes. Should its CNode be deleted in the same entry, it is empty by the end.
    pub(crate) fn note_change(&mut self, slot: Ptr<Slot<A>>) {
        let watch = &mut self.watch;
        if !watch.changed.contains(&Some(slot)) {
            watch.changed[watch.next_change] = Some(slot);
            watch.next_change = (watch.next_change + 1) % CHANGES;
        }
    }

    /// A CNode is being deleted: the rounds of all cores leave it, and what they found inside.
    pub(crate) fn note_deletion(&mut self, cnode: &CNode<A>) {
        let is_here =
            |place: &Option<Place<A>>| place.as_ref().is_some_and(|place| place.is_in(cnode));
        self.each_core(|kernel| {
            let places = &mut kernel.watch.places;
            if let Some(level) = places.iter().position(is_here) {
                places[level..].iter_mut().for_each(|place| *place = None);
            }
        });
    }

    /// The next slot of the round that is not empty, unless that is far.
    pub(super) fn next_of_round(&mut self) -> Option<Ptr<Slot<A>>> {
        for _ in 0..STEPS {
            let level = self.watch.places.iter().rposition(Option::is_some);
            let Some(place) = level.and_then(|level| self.watch.places[level].as_mut()) else {
                self.begin_round();
                return None;
            };
            if place.next == place.cnode.len() {
                self.watch.places[level?] = None;
                continue;
            }
            let slot = place.cnode.slot(place.next);
            place.next += 1;
            if !self[slot].is_empty() {
                if let Cap::CNode(cnode) = self[slot].cap() {
                    self.enter_cnode(cnode);
                }
                return Some(slot);
            }
        }
        None
    }

    fn begin_round(&mut self) {
        let space = (self.core.current).map(|thread| self[thread].cap(ThreadSlot::CSpace));
        if let Some(Cap::CNode(cnode)) = space {
            self.enter_cnode(cnode);
        }
    }

    /// The round goes into a CNode, if it is not there already.
    fn enter_cnode(&mut self, cnode: CNode<A>) {
        let places = &mut self.watch.places;
        let is_there = places.iter().flatten().any(|place| place.is_in(&cnode));
        if !is_there && let Some(free) = places.iter_mut().find(|place| place.is_none()) {
            *free = Some(Place { cnode, next: 0 });
        }
    }
}

impl<A: Arch> Place<A> {
    fn is_in(&self, cnode: &CNode<A>) -> bool {
        self.cnode.slots == cnode.slots
    }
}
