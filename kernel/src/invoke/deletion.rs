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

use super::{Done, Failure};
use crate::Kernel;
use crate::arch::Arch;
use crate::cap::{Cap, Zombie};
use crate::object::{IrqState, NotificationState, SchedContext, Thread};
use crate::sched::work;
use crate::slot::Slot;
use crate::token::Ptr;

impl<A: Arch> Kernel<A> {
    /// Deletes the children of a capability.
    ///
    /// # Errors
    /// [`Failure::Preempted`]: the caller must repeat the operation.
    pub(crate) fn revoke(&mut self, slot: Ptr<Slot<A>>) -> Done {
        while let Some(child) = self.child_of(slot) {
            self.delete(child)?;
            if self.should_preempt(work::CAPABILITY) {
                return Err(Failure::Preempted);
            }
        }
        Ok(())
    }

    /// Deletes the capability in a slot.
    ///
    /// # Errors
    /// [`Failure::Preempted`]: the caller must repeat the operation.
    pub(crate) fn delete(&mut self, slot: Ptr<Slot<A>>) -> Done {
        self.finalise(slot)?;
        let mut root = slot;
        while let Cap::Zombie(zombie) = self[root].cap() {
            root = self.delete_step(root, zombie)?;
            if self.should_preempt(work::CAPABILITY) {
                return Err(Failure::Preempted);
            }
        }
        Ok(())
    }

    /// Finalises the object of a capability if it is the last one, and empties its slot. For CNodes, threads, and
    /// endpoints and notifications with blocked threads it leaves a zombie in the slot.
    fn finalise(&mut self, slot: Ptr<Slot<A>>) -> Done {
        let cap = self[slot].cap();
        let last = self.is_last_cap(slot);
        match cap {
            Cap::Null | Cap::Zombie(_) => return Ok(()),
            Cap::CNode(cnode) if last => {
                self.note_deletion(&cnode);
                self[slot].set_cap(Cap::Zombie(Zombie::of_cnode(cnode)));
                return Ok(());
            }
            Cap::Thread(thread) if last => {
                self.finalise_thread(thread);
                let slots = crate::object::thread_slot(thread, crate::object::ThreadSlot::CSpace);
                self[slot].set_cap(Cap::Zombie(Zombie::of_thread(slots)));
                return Ok(());
            }
            Cap::Endpoint(cap) if last && !self[cap.object].queue().is_empty() => {
                self[slot].set_cap(Cap::Zombie(Zombie::of_endpoint(cap.object)));
                return Ok(());
            }
            Cap::Notification(cap) if last => {
                let notification = cap.object;
                if let Some(thread) = self[notification].bound_thread.take() {
                    self[thread].bound_notification = None;
                }
                if let Some(context) = self[notification].sched_context.take() {
                    self[context].notification = None;
                }
                if let NotificationState::Waiting(_) = self[notification].state {
                    self[slot].set_cap(Cap::Zombie(Zombie::of_notification(notification)));
                    return Ok(());
                }
            }
            Cap::Reply { object, .. } if last => self.clear_reply(object),
            Cap::SchedContext { object, .. } if last => self.finalise_context(object),
            Cap::IrqHandler(irq) if last => {
                self.arch.mask_interrupt(irq, true);
                let stored = self.irqs.slot(irq);
                self.delete(stored)?;
                // Only after the deletion above, which can be preempted.
                self.irqs[irq.0].state = IrqState::Free;
            }
            Cap::Arch(cap) => {
                self.drop_log(cap);
                A::finalise(self, cap, last);
            }
            _ => {}
        }
        self.remove_cap(slot);
        Ok(())
    }

    fn finalise_thread(&mut self, thread: Ptr<Thread<A>>) {
        if let Some(notification) = self[thread].bound_notification.take() {
            self[notification].bound_thread = None;
        }
        self.exclusive().stall_remote_thread(thread);
        self.suspend(thread);
        if let Some(context) = self[thread].own_context {
            self.disown(context);
        }
        if let Some(context) = self[thread].sched_context {
            self.finish_pending_yield(context);
            self.unbind_thread(context);
        }
        self.exclusive().detach_thread(thread);
        self.unlist_thread(thread);
        self.trace_thread_deleted(thread);
    }

    fn finalise_context(&mut self, context: Ptr<SchedContext<A>>) {
        self.finish_pending_yield(context);
        self.unbind_all(context);
        self.owning_core_of_context(context)
            .detach_current_context(context);
        self[context].unconfigure();
        self.trace_context_deleted(context);
    }

    /// One step of the traversal (see the module). Returns the new root.
    fn delete_step(
        &mut self,
        root: Ptr<Slot<A>>,
        zombie: Zombie<A>,
    ) -> Result<Ptr<Slot<A>>, Failure> {
        if self.wake_one(zombie) {
            return Ok(root);
        }
        let last = match zombie.remaining.checked_sub(1) {
            Some(last) if zombie.has_slots() => last,
            _ => {
                self.remove_cap(root);
                return Ok(root);
            }
        };
        let slot = zombie.slot(last);
        if slot == root {
            return Ok(self.step_at_root(root, zombie));
        }
        self.finalise(slot)?;
        match self[slot].cap() {
            Cap::Zombie(child) if !child.has_slots() => {
                if !self.wake_one(child) {
                    self.remove_cap(slot);
                }
                Ok(root)
            }
            Cap::Zombie(child) if last == 0 => {
                self.remove_cap(root);
                self.move_cap(slot, root, Cap::Zombie(child));
                Ok(root)
            }
            Cap::Zombie(child) => Ok(self.descend(root, zombie, slot, child)),
            _ => {
                self[root].set_cap(Cap::Zombie(Zombie {
                    remaining: last,
                    ..zombie
                }));
                Ok(root)
            }
        }
    }

    /// Wakes one thread that is blocked at the former endpoint or notification; returns whether there was one.
    fn wake_one(&mut self, zombie: Zombie<A>) -> bool {
        match (zombie.endpoint(), zombie.notification()) {
            (Some(endpoint), _) => self.wake_one_at_endpoint(endpoint),
            (_, Some(notification)) => self.wake_one_at_notification(notification),
            _ => false,
        }
    }

    /// The slot to be emptied is the root itself, which must be emptied last.
    fn step_at_root(&mut self, root: Ptr<Slot<A>>, zombie: Zombie<A>) -> Ptr<Slot<A>> {
        let first = zombie.slot(0);
        if first == root {
            self.remove_cap(root);
        } else {
            let moved_up = self[first].cap();
            self.swap_slots((root, Cap::Zombie(zombie)), (first, moved_up));
        }
        first
    }

    /// Moves the zombie in `slot`, the last slot of `zombie`, to the root.
    fn descend(
        &mut self,
        root: Ptr<Slot<A>>,
        zombie: Zombie<A>,
        slot: Ptr<Slot<A>>,
        child: Zombie<A>,
    ) -> Ptr<Slot<A>> {
        if child.remaining == 0 {
            self.remove_cap(slot);
            return root;
        }
        self.swap_slots((root, Cap::Zombie(zombie)), (slot, Cap::Zombie(child)));
        // The root may itself be the child's first slot; ours is kept in the next slot then.
        let park = usize::from(child.slot(0) == root);
        if child.remaining <= park {
            // Nothing else is left of the child, which is removed with the root; our own slot becomes the root.
            self.remove_cap(root);
            return slot;
        }
        let park = child.slot(park);
        let moved_up = self[park].cap();
        self.swap_slots((slot, Cap::Zombie(zombie)), (park, moved_up));
        root
    }
}
