//! Methods of CNodes: to copy, move, revoke and delete capabilities, and to change endpoints.

use abi::endpoint_flags::{LIMIT, MASK};
use abi::{LookupFailure, Method, Rights, WORD_BITS};

use super::{Answer, Done, Error, Invocation, Outcome, allow, ensure};
use crate::arch::Arch;
use crate::cap::{CNode, Cap, EndpointCap};
use crate::object::{EndpointThreshold, ThresholdFlags};
use crate::sched::work;
use crate::slot::Slot;
use crate::time::{MIN_BUDGET, Microseconds};
use crate::token::Ptr;
use crate::{ExclusiveKernel, Kernel};

impl<A: Arch> Invocation<A> {
    pub(super) fn invoke_cnode(&self, kernel: &mut ExclusiveKernel<A>, cnode: CNode<A>) -> Outcome {
        use Method::*;
        match self.method {
            CNodeRevoke | CNodeDelete | CNodeCancelBadgedSends | CNodeRotate => {}
            CNodeCopy | CNodeMint | CNodeMove | CNodeMutate => {}
            CNodeEndpointSetThreshold if cfg!(feature = "thresholds") => {}
            _ => return Err(Error::IllegalOperation.into()),
        }
        self.require(2, 0)?;
        let index = self.word(kernel, 0);
        let depth = self.word(kernel, 1);
        let slot = kernel.find_slot(Cap::CNode(cnode), index, depth, false)?;
        match self.method {
            CNodeRevoke => kernel.revoke(slot)?,
            CNodeDelete => kernel.delete(slot)?,
            CNodeCancelBadgedSends => self.cancel_badged_sends(kernel, slot)?,
            CNodeRotate => self.rotate_caps(kernel, slot)?,
            CNodeEndpointSetThreshold => self.set_threshold(kernel, slot)?,
            _ => self.transfer_cap(kernel, slot)?,
        }
        Ok(Answer::Nothing)
    }

    /// Copy, Mint, Move and Mutate.
    fn transfer_cap(&self, kernel: &mut ExclusiveKernel<A>, target: Ptr<Slot<A>>) -> Done {
        self.require(4, 1)?;
        ensure(kernel[target].is_empty(), Error::DeleteFirst)?;
        let root = self.extra_cap(kernel, 0);
        let depth = self.word(kernel, 3);
        let index = self.word(kernel, 2);
        let source = kernel.find_slot(root, index, depth, true)?;
        let cap = kernel.occupied(source, true, depth)?;
        kernel.preempt_after(work::CHECKS)?;

        match self.method {
            Method::CNodeCopy => {
                self.require(5, 1)?;
                let rights = Rights::from_word(self.word(kernel, 4));
                kernel.copy_cap(source, target, cap.mask_rights(rights))
            }
            Method::CNodeMint => {
                self.require(6, 1)?;
                let rights = Rights::from_word(self.word(kernel, 4));
                let data = self.word(kernel, 5);
                let cap = cap.mask_rights(rights).update_data(false, data)?;
                kernel.copy_cap(source, target, cap)
            }
            Method::CNodeMove => {
                kernel.move_cap(source, target, cap);
                Ok(())
            }
            _ => {
                self.require(5, 1)?;
                let cap = cap.update_data(true, self.word(kernel, 4))?;
                kernel.move_cap(source, target, cap);
                Ok(())
            }
        }
    }

    /// Moves the pivot to the target and the source to the pivot. Both may get new guards.
    fn rotate_caps(&self, kernel: &mut ExclusiveKernel<A>, target: Ptr<Slot<A>>) -> Done {
        self.require(8, 2)?;
        let word = |index| self.word(kernel, index);
        let (target_data, pivot_data) = (word(2), word(5));
        let (pivot_depth, source_depth) = (word(4), word(7));
        let source_root = self.extra_cap(kernel, 1);
        let (pivot_index, source_index) = (word(3), word(6));
        let source = kernel.find_slot(source_root, source_index, source_depth, true)?;
        let pivot_root = self.extra_cap(kernel, 0);
        let pivot = kernel.find_slot(pivot_root, pivot_index, pivot_depth, true)?;

        allow(pivot != source && pivot != target)?;
        ensure(
            source == target || kernel[target].is_empty(),
            Error::DeleteFirst,
        )?;
        let source_cap = kernel.occupied(source, true, source_depth)?;
        let pivot_cap = kernel.occupied(pivot, false, pivot_depth)?;
        let source_cap = source_cap.update_data(true, pivot_data)?;
        let pivot_cap = pivot_cap.update_data(true, target_data)?;
        kernel.preempt_after(work::CHECKS)?;

        if source == target {
            kernel.swap_slots((source, source_cap), (pivot, pivot_cap));
        } else {
            kernel.move_cap(pivot, target, pivot_cap);
            kernel.move_cap(source, pivot, source_cap);
        }
        Ok(())
    }

    #[cfg_attr(target_os = "none", optimize(size))]
    fn cancel_badged_sends(&self, kernel: &mut ExclusiveKernel<A>, slot: Ptr<Slot<A>>) -> Done {
        match kernel[slot].unpack() {
            Cap::Endpoint(cap) if cap.rights == Rights::ALL => match cap.badge {
                0 => Ok(()),
                badge => Ok(kernel.cancel_badged_sends(self.caller, cap.object, badge)?),
            },
            _ => Err(Error::IllegalOperation.into()),
        }
    }

    /// `CNode_EndpointSetThreshold`, an extension of Escapement: sets the threshold of the endpoint in `slot`. Threads
    /// that already wait there remain in the wait queue.
    ///
    /// Words 0 and 1 name the slot, as in all methods of CNodes; the threshold and the flags follow.
    pub(super) fn set_threshold(
        &self,
        kernel: &mut ExclusiveKernel<A>,
        slot: Ptr<Slot<A>>,
    ) -> Done {
        self.require(if WORD_BITS == 64 { 4 } else { 5 }, 0)?;
        let (threshold, next) = self.time(kernel, 2);
        let flags = self.word(kernel, next);

        // Only a holder of the original capability, which can mint badges, may set the threshold.
        let endpoint = match kernel[slot].unpack() {
            Cap::Endpoint(EndpointCap {
                object,
                badge: 0,
                rights: Rights::ALL,
            }) if kernel[slot].is_original() => object,
            _ => return Err(Error::IllegalOperation.into()),
        };
        ensure(flags & !MASK == 0, Error::InvalidArgument(next))?;
        let clock = kernel.arch.clock();
        let most = Microseconds(clock.max_period().0 - MIN_BUDGET.0);
        let least = Microseconds((flags & LIMIT != 0) as u64);
        let is_in_range = (least..=most).contains(&threshold);
        ensure(is_in_range, Error::range(least.word(), most.word()))?;
        let is_set = threshold.0 > 0 || flags != 0;
        let needed = clock.ticks(Microseconds(threshold.0 + MIN_BUDGET.0));
        let time = needed.saturating_sub(clock.min_budget());
        let flags = ThresholdFlags::from_bits_truncate(flags);
        kernel[endpoint].set_threshold(is_set.then_some(EndpointThreshold { time, flags }));
        Ok(())
    }
}

impl<A: Arch> Kernel<A> {
    fn copy_cap(&mut self, source: Ptr<Slot<A>>, target: Ptr<Slot<A>>, cap: Cap<A>) -> Done {
        let cap = self.derive_cap(source, cap)?;
        allow(!cap.is_null())?;
        self.insert_copy(source, target, cap);
        Ok(())
    }

    /// The capability in a slot that must not be empty.
    fn occupied(&self, slot: Ptr<Slot<A>>, source: bool, depth: usize) -> Result<Cap<A>, Error> {
        let failure = LookupFailure::MissingCapability { bits_left: depth };
        ensure(!self[slot].is_empty(), Error::Lookup { source, failure })?;
        Ok(self[slot].unpack())
    }
}
