//! Deletion and revocation of capabilities.
//!
//! When the last capability to an object is deleted, the object is finalised. CNodes and threads hold
//! capabilities themselves, which are deleted with them. Those may be the last to further CNodes and threads,
//! at any depth and even in cycles. The kernel has a small stack and must stay preemptible, so such a
//! deletion is a graph traversal in single steps. After each step the state is consistent, and any thread can
//! continue the deletion:
//!
//! * The capability becomes a *zombie*: it counts the slots that may still be occupied and empties
//!   them from the last to the first.
//! * If the last slot holds another zombie (the child), the traversal descends: the child's zombie takes the
//!   place of ours, ours is kept in the child's first slot, and the former content of that slot moves to our
//!   last slot. So each step works on the zombie in the slot where the deletion began, the *root*, and every
//!   other zombie is reachable from it.
//! * If only one slot of a zombie remains and it holds a zombie, the traversal ascends: that zombie becomes
//!   the root, and ours is removed.
//!
//! This is the pointer reversal of Schorr and Waite (Communications of the ACM 10(8), 1967): the path back is
//! stored in slots that the traversal no longer needs.
//!
//! Endpoints and notifications with blocked threads become zombies, too, which have no slots: each step wakes
//! one thread. No further thread can block there, because a zombie cannot be invoked.
//!
//! Slots that a zombie no longer counts are empty, so when it counts none, its memory is free. The difficult
//! case is a root slot inside the object that it deletes. It occurs in a revocation where CNodes hold their
//! own last capabilities. Such a zombie must not be removed before the root slot is empty: the root moves to
//! the zombie's first slot, and the zombie is removed with it when only that slot is left.

use super::Failure;
use crate::Kernel;
use crate::arch::Arch;
use crate::cap::{Cap, Zombie, child_of, is_last, move_cap, remove_cap, swap_slots};
use crate::object::{IrqState, SchedContext, Thread};
use crate::sched::work;
use crate::slot::Slot;
use crate::token::Ptr;

/// Deletes the children of a capability.
///
/// # Errors
/// [`Failure::Preempted`]: the caller must repeat the operation.
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
/// [`Failure::Preempted`]: the caller must repeat the operation.
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

/// Finalises the object of a capability if it is the last one, and empties its slot. For CNodes, threads, and
/// endpoints and notifications with blocked threads it leaves a zombie in the slot.
fn finalise<A: Arch>(kernel: &mut Kernel<A>, slot: Ptr<Slot<A>>) -> Result<(), Failure> {
    let cap = kernel[slot].cap();
    let last = is_last(kernel, slot);
    match cap {
        Cap::Null | Cap::Zombie(_) => return Ok(()),
        Cap::CNode(cnode) if last => {
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
        Cap::Endpoint(cap) if last && kernel.has_waiters_at(cap.object) => {
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
            if kernel.has_waiters_for(notification) {
                kernel[slot].set_cap(Cap::Zombie(Zombie::of_notification(notification)));
                return Ok(());
            }
        }
        Cap::Reply { object, .. } if last => kernel.clear_reply(object),
        Cap::SchedContext { object, .. } if last => finalise_context(kernel, object),
        Cap::IrqHandler(irq) if last => {
            kernel.arch.mask_interrupt(irq, true);
            let stored = kernel.irqs.slot(irq);
            delete(kernel, stored)?;
            // Only after the deletion above, which can be preempted.
            kernel.irqs[irq.0].state = IrqState::Free;
        }
        Cap::Arch(cap) => {
            kernel.drop_log(cap);
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
    kernel.exclusive().stall_remote_thread(thread);
    kernel.suspend(thread);
    if let Some(context) = kernel[thread].own_context {
        kernel.disown(context);
    }
    if let Some(context) = kernel[thread].sched_context {
        kernel.finish_pending_yield(context);
        kernel.unbind_thread(context);
    }
    kernel.exclusive().detach_thread(thread);
    kernel.unlist_thread(thread);
}

fn finalise_context<A: Arch>(kernel: &mut Kernel<A>, context: Ptr<SchedContext<A>>) {
    kernel.finish_pending_yield(context);
    kernel.unbind_all(context);
    kernel
        .owning_core_of_context(context)
        .detach_current_context(context);
    kernel[context].unconfigure();
}

/// One step of the traversal (see the module). Returns the new root.
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

/// Wakes one thread that is blocked at the former endpoint or notification; returns whether there was one.
fn wake_one<A: Arch>(kernel: &mut Kernel<A>, zombie: Zombie<A>) -> bool {
    match (zombie.endpoint(), zombie.notification()) {
        (Some(endpoint), _) => kernel.wake_one_at_endpoint(endpoint),
        (_, Some(notification)) => kernel.wake_one_at_notification(notification),
        _ => false,
    }
}

/// The slot to be emptied is the root itself, which must be emptied last.
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

/// Moves the zombie in `slot`, the last slot of `zombie`, to the root.
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
    // The root may itself be the child's first slot; ours is kept in the next slot then.
    let park = usize::from(child.slot(0) == root);
    if child.remaining <= park {
        // Nothing else is left of the child, which is removed with the root; our own slot becomes the root.
        remove_cap(kernel, root);
        return slot;
    }
    let park = child.slot(park);
    let moved_up = kernel[park].cap();
    swap_slots(kernel, (slot, Cap::Zombie(zombie)), (park, moved_up));
    root
}
