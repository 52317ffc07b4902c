//! State of the kernel's own invariant checks: the slots that this entry has changed, and the progress of a
//! scan through all objects.
//!
//! The scan goes through the slots of a CNode in order, beginning with the CSpace root of some current
//! thread, and descends into the CNodes that it finds. It needs no memory except a few positions, which are
//! dropped when their CNode is deleted. So over time the scan covers the objects in the CSpaces of running
//! threads.

use crate::arch::Arch;
use crate::cap::{CNode, Cap, Capabilities};
use crate::object::ThreadSlot;
use crate::slot::Slot;
use crate::token::Ptr;
use crate::{ExclusiveKernel, Kernel};

/// How many changed slots are recorded: as many as the last steps of any operation change.
const CHANGES: usize = 6;
/// How deep the scan descends into nested CNodes.
const LEVELS: usize = 4;
/// How many empty slots one step of the scan skips.
const STEPS: usize = 16;

/// State of the kernel's own invariant checks.
pub struct Watch<A: Arch> {
    changed: [Option<Ptr<Slot<A>>>; CHANGES],
    next_change: usize,
    cursors: [Option<Cursor<A>>; LEVELS],
    /// Counts kernel entries.
    pub(super) round: usize,
    /// Counts executed fast paths.
    pub fast_paths: usize,
    /// Whether the kernel continues after a violation, as one without checks does: for negative controls of other checks.
    pub is_ignored: bool,
}

/// A CNode in which the scan is, and the index of the next slot.
struct Cursor<A: Arch> {
    cnode: CNode<A>,
    next: usize,
}

impl<A: Arch> Watch<A> {
    /// The state before the first kernel entry.
    pub const fn new() -> Self {
        Self {
            changed: [None; CHANGES],
            next_change: 0,
            cursors: [const { None }; LEVELS],
            round: 0,
            fast_paths: 0,
            is_ignored: false,
        }
    }

    /// Returns the slots that changed last and clears the record.
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

impl<A: Arch> Capabilities<A> {
    /// Counts a fast path.
    pub(crate) fn note_fast_path(&mut self) {
        self.instruments.watch.fast_paths += 1;
    }

    /// Records that a slot changes. If its CNode is deleted in the same entry, the slot is empty by the end.
    pub(crate) fn note_change(&mut self, slot: Ptr<Slot<A>>) {
        let watch = &mut self.instruments.watch;
        if !watch.changed.contains(&Some(slot)) {
            watch.changed[watch.next_change] = Some(slot);
            watch.next_change = (watch.next_change + 1) % CHANGES;
        }
    }
}

impl<A: Arch> ExclusiveKernel<A> {
    /// Makes the scans of all cores leave a CNode that is being deleted, and those that they found in it.
    pub(crate) fn note_deletion(&mut self, cnode: &CNode<A>) {
        let is_here =
            |cursor: &Option<Cursor<A>>| cursor.as_ref().is_some_and(|cursor| cursor.is_in(cnode));
        self.exclusive().each_core(|kernel| {
            let cursors = &mut kernel.instruments.watch.cursors;
            if let Some(level) = cursors.iter().position(is_here) {
                cursors[level..]
                    .iter_mut()
                    .for_each(|cursor| *cursor = None);
            }
        });
    }
}

impl<A: Arch> Kernel<A> {
    /// The next slot of the scan that is not empty; `None` if there is none among the next few.
    pub(super) fn next_of_round(&mut self) -> Option<Ptr<Slot<A>>> {
        for _ in 0..STEPS {
            let level = self
                .instruments
                .watch
                .cursors
                .iter()
                .rposition(Option::is_some);
            let Some(cursor) =
                level.and_then(|level| self.instruments.watch.cursors[level].as_mut())
            else {
                self.begin_round();
                return None;
            };
            if cursor.next == cursor.cnode.slot_count() {
                self.instruments.watch.cursors[level?] = None;
                continue;
            }
            let slot = cursor.cnode.slot(cursor.next);
            cursor.next += 1;
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

    /// Makes the scan descend into a CNode, unless it is there already.
    fn enter_cnode(&mut self, cnode: CNode<A>) {
        let cursors = &mut self.instruments.watch.cursors;
        let is_there = cursors.iter().flatten().any(|cursor| cursor.is_in(&cnode));
        if !is_there && let Some(free) = cursors.iter_mut().find(|cursor| cursor.is_none()) {
            *free = Some(Cursor { cnode, next: 0 });
        }
    }
}

impl<A: Arch> Cursor<A> {
    fn is_in(&self, cnode: &CNode<A>) -> bool {
        self.cnode.slots == cnode.slots
    }
}
