//! CNodes: tables of capability slots.

use super::{CPtr, Capability, capability};
use crate::Result;
use crate::invoke::{label, perform};
use crate::time::Microseconds;
use abi::{GuardData, Rights, WORD_BITS};

capability! {
    /// A table of capability slots. Its size argument is log2 of the number of slots.
    CNode = (CNode, slots -> slots + abi::sizes::SLOT_BITS)
}

/// A slot in any CNode: the low `depth` bits of `index`, resolved from `root`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The CNode in which the lookup starts.
    pub root: CNode,
    /// The address of the slot, relative to `root`.
    pub index: usize,
    /// How many bits of the address are used.
    pub depth: usize,
}

impl CNode {
    /// The slot at `address` if this CNode is the root of a CSpace, as the caller's own root CNode is.
    pub const fn slot(self, address: CPtr) -> Slot {
        Slot {
            root: self,
            index: address.0,
            depth: WORD_BITS,
        }
    }

    /// Slot `index` of this CNode if its capability has no guard and `radix` is log2 of the number of slots,
    /// as after its creation.
    pub const fn slot_of_table(self, index: usize, radix: usize) -> Slot {
        Slot {
            root: self,
            index,
            depth: radix,
        }
    }

    /// The guard that makes a CNode of 2^`radix` slots the only level of a CSpace: addresses are then slot
    /// numbers.
    pub const fn root_guard(radix: usize) -> GuardData {
        GuardData {
            guard: 0,
            size: WORD_BITS - radix,
        }
    }
}

impl Slot {
    fn words(self) -> [usize; 2] {
        [self.index, self.depth]
    }

    /// Copies the capability in `source` to this slot, with its rights reduced to `rights`.
    pub fn copy_from(self, source: Slot, rights: Rights) -> Result {
        let [index, depth] = self.words();
        perform(
            self.root.cptr(),
            label!(CNodeCopy),
            &[index, depth, source.index, source.depth, rights.word()],
            &[source.root.cptr()],
        )
    }

    /// Copies the capability in `source` to this slot, with its rights reduced to `rights` and with `data`: a
    /// badge, or a guard ([`GuardData::word`]).
    pub fn mint_from(self, source: Slot, rights: Rights, data: usize) -> Result {
        let [index, depth] = self.words();
        perform(
            self.root.cptr(),
            label!(CNodeMint),
            &[
                index,
                depth,
                source.index,
                source.depth,
                rights.word(),
                data,
            ],
            &[source.root.cptr()],
        )
    }

    /// Moves the capability in `source` to this slot.
    pub fn move_from(self, source: Slot) -> Result {
        let [index, depth] = self.words();
        perform(
            self.root.cptr(),
            label!(CNodeMove),
            &[index, depth, source.index, source.depth],
            &[source.root.cptr()],
        )
    }

    /// Moves the capability in `source` to this slot and changes its guard to `data`.
    pub fn mutate_from(self, source: Slot, data: usize) -> Result {
        let [index, depth] = self.words();
        perform(
            self.root.cptr(),
            label!(CNodeMutate),
            &[index, depth, source.index, source.depth, data],
            &[source.root.cptr()],
        )
    }

    /// Moves the capability in `pivot` to this slot with `data`, and the one in `source` to `pivot` with
    /// `pivot_data`. If `source` is this slot, the two are swapped.
    pub fn rotate(self, data: usize, pivot: Slot, pivot_data: usize, source: Slot) -> Result {
        let [index, depth] = self.words();
        perform(
            self.root.cptr(),
            label!(CNodeRotate),
            &[
                index,
                depth,
                data,
                pivot.index,
                pivot.depth,
                pivot_data,
                source.index,
                source.depth,
            ],
            &[pivot.root.cptr(), source.root.cptr()],
        )
    }

    /// Deletes the capability in this slot; with its last capability, the object is deleted.
    pub fn delete(self) -> Result {
        perform(self.root.cptr(), label!(CNodeDelete), &self.words(), &[])
    }

    /// Deletes all capabilities derived from the one in this slot.
    pub fn revoke(self) -> Result {
        perform(self.root.cptr(), label!(CNodeRevoke), &self.words(), &[])
    }

    /// Cancels the sends of all threads that wait to send with the badge of the endpoint capability in this
    /// slot.
    pub fn cancel_badged_sends(self) -> Result {
        perform(
            self.root.cptr(),
            label!(CNodeCancelBadgedSends),
            &self.words(),
            &[],
        )
    }

    /// Sets the threshold of the endpoint in this slot: senders must have a budget of at least `threshold`.
    /// `flags` are those of [`abi::endpoint_flags`]. Zero without flags removes the threshold.
    pub fn set_endpoint_threshold(self, threshold: Microseconds, flags: usize) -> Result {
        const TIME: usize = crate::time::WORDS;
        let mut words = [0; 2 + TIME + 1];
        words[..2].copy_from_slice(&self.words());
        words[2..2 + TIME].copy_from_slice(&threshold.words());
        words[2 + TIME] = flags;
        perform(
            self.root.cptr(),
            label!(CNodeEndpointSetThreshold),
            &words,
            &[],
        )
    }
}
