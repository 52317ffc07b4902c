//! Taking capabilities away: delete and revoke.
//!
//! When the last capability to an object goes, the object is finalised. CNodes and threads hold
//! capabilities themselves, which go with them, and those may be the last to further CNodes and
//! threads, in any depth and even in cycles. The kernel has neither a deep stack nor the right to take
//! long, so such a deletion is a walk in single steps, each of which leaves a state from which anybody
//! can go on:
//!
//! * The capability becomes a *zombie*: it counts the slots that may still hold something and empties
//!   them from the last to the first.
//! * Where the last slot holds a further zombie (the child), the walk descends: the child's zombie
//!   takes the place of ours, ours is parked in the child's first slot, and what was there moves to
//!   our last slot. So the zombie in the slot where the deletion began, the *root*, is always the one
//!   at work, and every other is reached from it.
//! * Where all that remains of a zombie is one slot with a zombie in it, the walk ascends: that one
//!   becomes the root, and ours is gone.
//!
//! It is the pointer reversal of Schorr and Waite (Communications of the ACM 10(8), 1967): the way
//! back is kept in the places that the walk has no more use for.
//!
//! Endpoints and notifications on which threads wait become zombies, too, which have no slots: each step
//! wakes one thread. Nobody can begin to wait meanwhile, because a zombie is no way to the object.
//!
//! Slots that a zombie no longer counts are empty, so when it counts none its memory is free. The one
//! difficulty is a root that lies in what it deletes, as a revocation meets it where CNodes hold their
//! own last capabilities. Such a zombie must not go before the root is empty: the root moves to its
//! first slot, and only when that alone is left the zombie goes, and the root with it.

use super::Failure;
use crate::Kernel;
use crate::arch::Arch;
use crate::cap::{Cap, Slot, Zombie, child_of, is_last, move_cap, remove_cap, swap_slots};
use crate::object::{IrqState, SchedContext, Thread};
use crate::sched::work;
use crate::token::Ptr;

/// Deletes the children of a capability.
///
/// # Errors
/// [`Failure::Preempted`]: do it again.
pub(crate) fn revoke<A: Arch>(kernel: &mut Kernel<A>, slot: Ptr<Slot<A>>) -> Result<(), Failure> {
    while let Some(child) = child_of(kernel, slot) {
        delete(kernel, child)?;
        if kernel.should_preempt(work::CAPABILITY) {
            return Err(Failure::Preempted);
        }
    }
    Ok(())
}

/// Deletes the capability in a slot.
///
/// # Errors
/// [`Failure::Preempted`]: do it again.
pub(crate) fn delete<A: Arch>(kernel: &mut Kernel<A>, slot: Ptr<Slot<A>>) -> Result<(), Failure> {
    finalise(kernel, slot)?;
    let mut root = slot;
    while let Cap::Zombie(zombie) = kernel[root].cap() {
        root = step(kernel, root, zombie)?;
        if kernel.should_preempt(work::CAPABILITY) {
            return Err(Failure::Preempted);
        }
    }
    Ok(())
}

/// Finalises the object of a capability if it is the last one, and empties its slot; CNodes, threads
/// and objects that threads wait for leave a zombie there.
fn finalise<A: Arch>(kernel: &mut Kernel<A>, slot: Ptr<Slot<A>>) -> Result<(), Failure> {
    let cap = kernel[slot].cap();
    let last = is_last(kernel, slot);
    match cap {
        Cap::Null | Cap::Zombie(_) => return Ok(()),
        Cap::CNode(cnode) if last => {
            #[cfg(any(test, feature = "invariants"))]
            kernel.note_deletion(&cnode);
            kernel[slot].set_cap(Cap::Zombie(Zombie::of_cnode(cnode)));
            return Ok(());
        }
        Cap::Thread(thread) if last => {
            finalise_thread(kernel, thread);
            let slots = crate::object::thread_slot(thread, crate::object::ThreadSlot::CSpace);
            kernel[slot].set_cap(Cap::Zombie(Zombie::of_thread(slots)));
            return Ok(());
        }
        Cap::Endpoint(cap) if last && kernel.anybody_waits_at(cap.object) => {
            kernel[slot].set_cap(Cap::Zombie(Zombie::of_endpoint(cap.object)));
            return Ok(());
        }
        Cap::Notification(cap) if last => {
            let notification = cap.object;
            if let Some(thread) = kernel[notification].bound_thread.take() {
                kernel[thread].bound_notification = None;
            }
            if let Some(context) = kernel[notification].sched_context.take() {
                kernel[context].notification = None;
            }
            if kernel.anybody_waits_for(notification) {
                kernel[slot].set_cap(Cap::Zombie(Zombie::of_notification(notification)));
                return Ok(());
            }
        }
        Cap::Reply { object, .. } if last => kernel.clear_reply(object),
        Cap::SchedContext { object, .. } if last => finalise_context(kernel, object),
        Cap::IrqHandler(irq) if last => {
            kernel.arch.mask_interrupt(irq, true);
            let stored = super::irq::notification_slot(kernel, irq);
            delete(kernel, stored)?;
            // Only now, because the step before can be interrupted.
            kernel.irqs[irq.0].state = IrqState::Free;
        }
        Cap::Arch(cap) => {
            #[cfg(feature = "bench")]
            kernel.forget_log(cap);
            A::finalise(kernel, cap, last);
        }
        _ => {}
    }
    remove_cap(kernel, slot);
    Ok(())
}

fn finalise_thread<A: Arch>(kernel: &mut Kernel<A>, thread: Ptr<Thread<A>>) {
    if let Some(notification) = kernel[thread].bound_notification.take() {
        kernel[notification].bound_thread = None;
    }
    kernel.seize(thread);
    kernel.suspend(thread);
    if let Some(context) = kernel[thread].own_context {
        kernel.disown(context);
    }
    if let Some(context) = kernel[thread].sched_context {
        kernel.finish_pending_yield(context);
        kernel.unbind_thread(context);
    }
    kernel.forget(thread);
    kernel.unlist_thread(thread);
}

fn finalise_context<A: Arch>(kernel: &mut Kernel<A>, context: Ptr<SchedContext<A>>) {
    kernel.finish_pending_yield(context);
    kernel.unbind_all(context);
    kernel.home_of(context).stop_paying(context);
    kernel[context].unconfigure();
}

/// One step of the walk: see the module. Returns where the root is now.
fn step<A: Arch>(
    kernel: &mut Kernel<A>,
    root: Ptr<Slot<A>>,
    zombie: Zombie<A>,
) -> Result<Ptr<Slot<A>>, Failure> {
    if wake_one(kernel, zombie) {
        return Ok(root);
    }
    let last = match zombie.remaining.checked_sub(1) {
        Some(last) if zombie.has_slots() => last,
        _ => {
            remove_cap(kernel, root);
            return Ok(root);
        }
    };
    let slot = zombie.slot(last);
    if slot == root {
        return Ok(step_at_root(kernel, root, zombie));
    }
    finalise(kernel, slot)?;
    match kernel[slot].cap() {
        Cap::Zombie(child) if !child.has_slots() => {
            if !wake_one(kernel, child) {
                remove_cap(kernel, slot);
            }
            Ok(root)
        }
        Cap::Zombie(child) if last == 0 => {
            remove_cap(kernel, root);
            move_cap(kernel, slot, root, Cap::Zombie(child));
            Ok(root)
        }
        Cap::Zombie(child) => Ok(descend(kernel, root, zombie, slot, child)),
        _ => {
            kernel[root].set_cap(Cap::Zombie(Zombie {
                remaining: last,
                ..zombie
            }));
            Ok(root)
        }
    }
}

/// Wakes one of those who wait for what a zombie was; returns whether there was one.
fn wake_one<A: Arch>(kernel: &mut Kernel<A>, zombie: Zombie<A>) -> bool {
    match (zombie.endpoint(), zombie.notification()) {
        (Some(endpoint), _) => kernel.wake_one_at_endpoint(endpoint),
        (_, Some(notification)) => kernel.wake_one_at_notification(notification),
        _ => false,
    }
}

/// The slot to be emptied is the root itself: it comes last.
fn step_at_root<A: Arch>(
    kernel: &mut Kernel<A>,
    root: Ptr<Slot<A>>,
    zombie: Zombie<A>,
) -> Ptr<Slot<A>> {
    let first = zombie.slot(0);
    if first == root {
        remove_cap(kernel, root);
    } else {
        let moved_up = kernel[first].cap();
        swap_slots(kernel, (root, Cap::Zombie(zombie)), (first, moved_up));
    }
    first
}

/// Lets the zombie in `slot`, the last slot of `zombie`, take the root's place.
fn descend<A: Arch>(
    kernel: &mut Kernel<A>,
    root: Ptr<Slot<A>>,
    zombie: Zombie<A>,
    slot: Ptr<Slot<A>>,
    child: Zombie<A>,
) -> Ptr<Slot<A>> {
    if child.remaining == 0 {
        remove_cap(kernel, slot);
        return root;
    }
    swap_slots(
        kernel,
        (root, Cap::Zombie(zombie)),
        (slot, Cap::Zombie(child)),
    );
    // The root may itself lie in the child; the parking place is the next slot then.
    let park = usize::from(child.slot(0) == root);
    if child.remaining <= park {
        // Nothing else is left of the child, which goes with the root; we go on from our own slot.
        remove_cap(kernel, root);
        return slot;
    }
    let park = child.slot(park);
    let moved_up = kernel[park].cap();
    swap_slots(kernel, (slot, Cap::Zombie(zombie)), (park, moved_up));
    root
}
