//! Places in the derivation tree.

use super::{Check, require};
use crate::Kernel;
use crate::arch::Arch;
use crate::cap::Slot;
use crate::token::Ptr;

/// Checks that the neighbours of a slot in the derivation tree know it.
///
/// # Errors
/// The first violation found.
pub fn check_slot<A: Arch>(kernel: &Kernel<A>, slot: Ptr<Slot<A>>) -> Check {
    let require = |holds, rule| require(holds, slot.address(), rule);
    let (previous, next) = (kernel[slot].previous(), kernel[slot].next());
    if kernel[slot].is_empty() {
        return require(
            previous.is_none() && next.is_none(),
            "an empty slot is in no derivation tree",
        );
    }
    let agrees = |neighbour: Option<Ptr<Slot<A>>>, back: fn(&Slot<A>) -> Option<Ptr<Slot<A>>>| {
        neighbour.is_none_or(|neighbour| {
            !kernel[neighbour].is_empty() && back(&kernel[neighbour]) == Some(slot)
        })
    };
    require(
        agrees(previous, Slot::next) && agrees(next, Slot::previous),
        "neighbours in the derivation tree know each other",
    )
}
