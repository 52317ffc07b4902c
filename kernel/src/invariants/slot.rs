//! Slots: their links in the derivation tree, and the memory of their objects.

use super::{Check, require};
use crate::Kernel;
use crate::arch::Arch;
use crate::cap::Cap;
use crate::slot::Slot;
use crate::token::Ptr;

/// Checks that the neighbours of a slot in the derivation tree link back to it, and that the objects of
/// neighbours do not share memory.
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
    rules! { require;
        "neighbours in the derivation tree know each other":
            agrees(previous, Slot::next) && agrees(next, Slot::previous);
    }
    let cap = kernel[slot].cap();
    for (before, after) in [
        (previous.map(|other| kernel[other].cap()), Some(cap)),
        (Some(cap), next.map(|other| kernel[other].cap())),
    ] {
        if let (Some(before), Some(after)) = (before, after) {
            rules! { require;
                "memory has one type at a time, and objects made from untyped memory are below its watermark":
                    may_follow(&before, &after);
            }
        }
    }
    Ok(())
}

/// Whether the memory of two neighbours in the derivation tree is consistent: disjoint, or of one object, or
/// the second was created in the first.
fn may_follow<A: Arch>(before: &Cap<A>, after: &Cap<A>) -> bool {
    let (Some((start, bits)), Some((other, other_bits))) = (before.memory(), after.memory()) else {
        return true;
    };
    let last = start.0 + ((1 << bits) - 1);
    let other_last = other.0 + ((1 << other_bits) - 1);
    if last < other.0 || other_last < start.0 || before.same_object(after) {
        return true;
    }
    match before {
        // A region may end at the highest address, so its exclusive end may not be representable.
        Cap::Untyped(untyped) => start <= other && other_last - start.0 < untyped.watermark,
        _ => false,
    }
}
