//! Capability lookups of system calls, with preemption points: each level takes some forty instructions, and there may
//! be as many levels as an address has bits.

use abi::{LookupFailure, WORD_BITS};

use super::{Scheduler, work};
use crate::arch::Arch;
use crate::cap::{Cap, Found, Path};
use crate::error::{Error, Preempted, ensure};
use crate::object::Thread;
use crate::slot::{RawCap, Slot};
use crate::token::Ptr;

/// The maximum number of levels between two preemption points, in addition to earlier work that was too little
/// for one, as that of the previous lookup.
const PIECE: usize = 16;

impl<A: Arch> Scheduler<A> {
    /// Resolves the low `bits` bits of `address`, starting at `root`, before any change. The inner error is
    /// the lookup error if there is no such slot.
    ///
    /// # Errors
    /// [`Preempted`] if an interrupt is pending, so that the system call should restart after it.
    #[inline(never)]
    fn resolve(
        &mut self,
        root: RawCap,
        address: usize,
        bits: usize,
    ) -> Result<Found<A>, Preempted> {
        let mut path = match Path::begin(root, address, bits) {
            Ok(path) => path,
            Err(failure) => return Ok(Err(failure)),
        };
        let mut levels = 0;
        let slot = loop {
            levels += 1;
            match self.descend(&mut path) {
                Ok(None) => {}
                Ok(Some(slot)) => break slot,
                Err(failure) => return self.fail(failure, levels),
            }
            if levels == PIECE {
                self.preempt_after(PIECE * work::LEVEL)?;
                levels = 0;
            }
        };
        self.preempt_after(levels * work::LEVEL)?;
        Ok(Ok((slot, path.bits_left)))
    }

    /// The end of a lookup that has failed, which has taken the same time.
    #[cold]
    fn fail(&mut self, failure: LookupFailure, levels: usize) -> Result<Found<A>, Preempted> {
        self.preempt_after(levels * work::LEVEL)?;
        Ok(Err(failure))
    }

    /// The slot at a capability address of a thread, as [`Capabilities::lookup_cap`](crate::cap::Capabilities::lookup_cap)
    /// finds it. Optimised for frequent lookups in capability spaces of one level.
    ///
    /// # Errors
    /// As for `resolve`.
    #[inline(always)]
    pub(crate) fn lookup_quickly(
        &mut self,
        thread: Ptr<Thread<A>>,
        address: usize,
    ) -> Result<Result<Ptr<Slot<A>>, LookupFailure>, Preempted> {
        let root = self[thread].root();
        if let Some(slot) = Cap::slot_of_only_level(root, address) {
            self.preempt_after_one_level()?;
            return Ok(Ok(slot));
        }
        let found = self.resolve(root, address, WORD_BITS)?;
        Ok(found.map(|(slot, _)| slot))
    }

    /// The slot that an argument (root, index, depth) names; it may be empty. `source` is reported in the error
    /// and shows which of two such arguments failed. The inner error is [`Error::Range`] for an impossible
    /// depth, or [`Error::Lookup`] if the lookup does not end exactly at a slot.
    ///
    /// # Errors
    /// As for `resolve`.
    #[inline(always)]
    pub(crate) fn lookup_slot(
        &mut self,
        root: Cap<A>,
        index: usize,
        depth: usize,
        source: bool,
    ) -> Result<Result<Ptr<Slot<A>>, Error>, Preempted> {
        let failed = |failure| Err(Error::Lookup { source, failure });
        let Cap::CNode(cnode) = root else {
            return Ok(failed(LookupFailure::InvalidRoot));
        };
        if let Err(error) = ensure((1..=WORD_BITS).contains(&depth), Error::range(1, WORD_BITS)) {
            return Ok(Err(error));
        }
        // Most arguments name a slot of this CNode.
        if let Some(slot) = cnode.slot_of_only_level(index, depth) {
            self.preempt_after_one_level()?;
            return Ok(Ok(slot));
        }
        Ok(match self.resolve(root.encode(), index, depth)? {
            Ok((slot, 0)) => Ok(slot),
            Ok((_, bits_left)) => failed(LookupFailure::DepthMismatch {
                bits_left,
                bits_found: 0,
            }),
            Err(failure) => failed(failure),
        })
    }
}
